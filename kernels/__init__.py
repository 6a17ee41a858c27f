"""Kernels: compiled versions of NumPy functions. "Twin of f" in a docstring means that f is the NumPy version."""

if __name__ != "nfa.kernels":
    raise ImportError("import nfa.kernels, not kernels")
