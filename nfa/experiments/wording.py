"""The form of a setting in messages to the user: an option of the command line, or a keyword of Python."""

from typing import ClassVar


class Wording:
    """The settings as options of the command line."""

    called: ClassVar = {"architecture": "net"}  # settings with another name on the command line
    anyway = " (to train nevertheless, use --anyway)"

    def setting(self, name: str, value: str = "") -> str:
        """The setting, with its value if one is given, for example ``--delta`` or ``--sampling poisson``."""
        return f"--{self.called.get(name, name).replace('_', '-')} {value}".rstrip()

    def own(self, name: str, value: str = "") -> str:
        """A setting of the rule, for example ``--set C`` or ``--set C=...``."""
        return f"--set {name}={value}".rstrip("=")


class Keywords(Wording):
    """The settings as keywords of `nfa.fit`, for example ``delta=`` or ``rule_settings={'C': ...}``."""

    called: ClassVar = {"target_epsilon": "epsilon"}
    anyway = ""

    def setting(self, name: str, value: str = "") -> str:
        value = "True" if name == "secure" else value
        return f"{self.called.get(name, name)}={value}"

    def own(self, name: str, value: str = "") -> str:
        return f"rule_settings={{{name!r}: {value or '...'}}}"


OPTIONS, KEYWORDS = Wording(), Keywords()
