"""The kernels as Python functions: slow, but you can change each line and run it without compiling."""

import inspect
import sys
import types


def in_python(module, **changes):
    """A kernel module in which Python functions replace the compiled functions.

    ``changes`` replaces constants or imports. Python functions also replace its imports from other modules of
    nfa.kernels.
    """
    space = dict(vars(module)) | changes

    def source(thing):
        function = getattr(thing, "py_func", thing)
        if function.__module__ != module.__name__:
            return getattr(in_python(sys.modules[function.__module__]), function.__name__)
        if function.__name__ in changes:
            return changes[function.__name__]
        found = types.FunctionType(
            function.__code__, space, function.__name__, function.__defaults__, function.__closure__
        )
        found.__kwdefaults__ = function.__kwdefaults__
        return found

    for name, thing in vars(module).items():
        if name in changes:
            continue
        if of_kernels(thing):
            space[name] = source(thing)
        elif isinstance(thing, dict) and thing and all(map(of_kernels, thing.values())):
            space[name] = {key: source(function) for key, function in thing.items()}
    return types.SimpleNamespace(**space)


def of_kernels(thing):
    """Whether an object is a function that a module of nfa.kernels defines, compiled or not."""
    function = getattr(thing, "py_func", thing)
    return inspect.isfunction(function) and function.__module__.startswith("nfa.kernels.")
