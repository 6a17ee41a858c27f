"""Kernels: compiled functions that compute what NumPy functions compute. A kernel's docstring names its NumPy twin."""

if __name__ != "nfa.kernels":
    raise ImportError("import nfa.kernels, not kernels")
