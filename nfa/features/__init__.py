"""Public features, one file for each kind: frozen transforms of the inputs, in front of the trained network.

`nfa train --features random:512` trains the network on features of the inputs instead of the inputs. The features of an
example are a function of this example and of public random numbers. They depend on no other example, because we compute
no mean, no deviation and no whitening over the data. So one record changes only its own features, and each rule keeps
its guarantee.

`nfa.features.kind.KINDS` finds the kinds. A module of this package declares a kind by a subclass of `Kind`. The class
has the name ``kind`` that a user types, and the form ``form`` of the setting.
"""

import re
from importlib.resources import files

# The form of each kind in the setting `features`, for help texts. The forms are read from the source of the modules.
# The modules are not imported.
FORMS = tuple(
    found[1]
    for module in sorted(files(__name__).iterdir(), key=lambda module: module.name)
    if module.name.endswith(".py")
    for found in re.finditer(r'^    form: ClassVar\[str\] = "(.+)"$', module.read_text(encoding="utf-8"), re.MULTILINE)
)
