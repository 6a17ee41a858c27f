"""The command `nfa`. Each subcommand has a module, and `main` puts the modules together."""
