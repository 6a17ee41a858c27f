"""Public features, one file a kind: frozen transforms of the inputs, in front of the network that is trained.

`nfa train --features random:512` trains the network on features of the inputs instead of the inputs. The features of an
example are a function of this example and of public draws. They depend on no other example: no mean, no deviation and
no whitening over the data. So one record changes its own features alone, and each rule keeps its guarantee.

`nfa.features.kind.KINDS` finds the kinds. A module of this package declares a kind by a class that is a `Kind`, with
the name ``kind`` that a user types, and the form ``form`` of the setting.
"""

import re
from importlib.resources import files

# How the setting `features` names each kind, for help texts: read from the modules, which need not be loaded for it.
FORMS = tuple(
    found[1]
    for module in sorted(files(__name__).iterdir(), key=lambda module: module.name)
    if module.name.endswith(".py")
    for found in re.finditer(r'^    form: ClassVar\[str\] = "(.+)"$', module.read_text(encoding="utf-8"), re.MULTILINE)
)
