"""Public features: frozen transforms of the inputs, in front of the trained network. Each kind has its own file.

`nfa train --features random:512` trains the network on features of the inputs instead of the inputs. The features of an
example are a function of this example and of public random numbers. They depend on no other example, because we compute
no mean, no deviation and no whitening over the data. So one record changes only its own features, and each rule keeps
its guarantee.

`nfa.features.kind.KINDS` finds the kinds. A module of this package declares a kind by a subclass of `Kind`. The
attribute ``kind`` of the class is the name that a user types. The attribute ``form`` shows the form of the setting.
"""

import re
from importlib.resources import files

# The form of each kind in the setting `features`, for help texts. We read the forms from the source of the modules,
# without importing them.
FORMS = tuple(
    found[1]
    for module in sorted(files(__name__).iterdir(), key=lambda module: module.name)
    if module.name.endswith(".py")
    for found in re.finditer(r'^    form: ClassVar\[str\] = "(.+)"$', module.read_text(encoding="utf-8"), re.MULTILINE)
)
