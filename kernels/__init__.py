"""numba twins of NumPy functions; each says in its docstring whose twin it is."""

if __name__ != "nfa.kernels":
    raise ImportError(
        "this folder is the package nfa.kernels: write `import nfa.kernels`, not `import kernels`"
    )
