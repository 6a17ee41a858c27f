"""Numba twins of NumPy functions; each says in its docstring whose twin it is."""

if __name__ != "nfa.kernels":
    raise ImportError("import nfa.kernels, not kernels")
