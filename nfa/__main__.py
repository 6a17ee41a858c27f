"""`python -m nfa` is the command `nfa`."""

import sys

from nfa.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
