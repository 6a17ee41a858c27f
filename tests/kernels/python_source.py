"""The kernels as Python: slow, but each line is there to be run, changed and seen to fail, with nothing to compile."""

import inspect
import types


def in_python(module, **changes):
    """A kernel module with every compiled function replaced by its source, and some of its constants or imports."""
    space = dict(vars(module)) | changes
    for name, thing in vars(module).items():
        function = getattr(thing, "py_func", thing)
        if inspect.isfunction(function) and function.__module__ == module.__name__ and name not in changes:
            space[name] = types.FunctionType(
                function.__code__, space, name, function.__defaults__, function.__closure__
            )
            space[name].__kwdefaults__ = function.__kwdefaults__
    for name, table in vars(module).items():
        if isinstance(table, dict) and not name.startswith("__") and all(map(callable, table.values())):
            space[name] = {key: space[function.__name__] for key, function in table.items()}
    return types.SimpleNamespace(**space)
