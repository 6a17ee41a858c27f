"""The command `nfa`.

Most subcommands have a module of their own. The module `main` has the other subcommands (`eq`, `errata`) and makes the
command `nfa` from all of them.
"""
