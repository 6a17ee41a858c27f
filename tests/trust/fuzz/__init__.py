"""Coverage-guided fuzzing of everything that reads a file: ``make fuzz``, or ``python -m tests.trust.fuzz --help``."""
