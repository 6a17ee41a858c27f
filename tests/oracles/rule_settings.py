"""Values for the settings of any rule, by their names or, for unknown names, by the rule's description.

With these values, every test over all rules also tests a rule that you add, without a change to the test.
"""

import re

from nfa.rules.spec import RuleSpec

# The form of a setting, by its description: a clipping bound, another positive number, a number that may be 0, a count.
FORMS = {
    r"float > 0, (?:l2 )?bound": "bound",
    r"float > 0": "positive",
    r"float >= 0": "noise",
    r"int >= 1|int > 0": "count",
}


def values(rule: RuleSpec, known: dict, **forms) -> dict:
    """The arguments of a rule: those in `known` that the rule accepts, and a value for each other needed setting.

    Values that a run gives by default, such as m, must be in `known`.

    Parameters
    ----------
    rule : RuleSpec
    known : {name: value}
    forms : values for a needed setting that is not in `known`, by the form of its meaning: bound, positive, noise,
        count

    Raises
    ------
    KeyError : for a needed setting whose meaning has none of these forms. Then `known` must contain it
    """
    takes = {*rule.given, *(one.name for one in rule.settings)}
    found = {name: value for name, value in known.items() if name in takes}
    for one in rule.settings:
        if one.needed and one.name not in found:
            form = next((form for words, form in FORMS.items() if re.match(words, one.meaning)), None)
            if form not in forms:
                raise KeyError(f"{rule.name} needs {one.name} ({one.meaning}): tell the test a value for it")
            found[one.name] = forms[form]
    return found
