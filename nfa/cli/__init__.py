"""The command `nfa`, a module a command; `main` puts them together."""
