"""Kernels: compiled functions with the results of NumPy functions. The docstring of a kernel names its NumPy twin."""

if __name__ != "nfa.kernels":
    raise ImportError("import nfa.kernels, not kernels")
