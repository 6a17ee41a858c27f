"""`RuleSpec`: the description of an update rule, computed once from its function and its module.

The contract is in `nfa.rules`. All code that needs facts about a rule uses its `RuleSpec`. For example, runs, `nfa
rules`, the audits and the tests use it. No other code inspects a rule's signature or compares a rule's name with a
text.
"""

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NoReturn, get_args

from nfa import require
from nfa.docstrings import first_paragraph, meanings_of
from nfa.mechanism import ADJACENCIES, OF_LABELS, Classic, Mechanism, NoGuarantee, Release
from nfa.network.own import from_outside, imported
from nfa.sensitivity.dfa import OLD_TOPS

# Arguments that a run provides if a rule has a keyword with this name, see `nfa.rules`.
FUNCTIONS = ("project", "clip_l2", "clip_offset", "add_normal", "add_normal_each", "weigh")
# The functions above that can draw random values for single examples, such as a camera's noise.
DRAW_BY_EXAMPLE = ("project", "weigh", "add_normal_each")
GIVEN = ("B", "V", "at", *FUNCTIONS, "rng", "state")
# Settings that a run provides if the user does not set them, with the provided values.
GIVEN_IF_UNSET = {"m": "the batch size", "N_B": "--n-b"}
# Former names of rules, which some records of runs contain. pdfa_label is pdfa, whose guarantee is for labels.
ALIASES = {"pdfa_label": "pdfa"}
# New names of old values of settings, by rule and setting. Records of runs contain the old values.
OLD_VALUES = {("dp_dfa", "top"): OLD_TOPS}
UNSET = inspect.Parameter.empty
ID = re.compile(r"\[(\w+:[\w.+-]+)\]")  # id of a statement in a docstring


@dataclass(frozen=True, kw_only=True)
class OwnSetting:
    """A setting of a rule.

    Parameters
    ----------
    name : name of the keyword argument
    type : its annotation; None if it has none
    required : whether the signature has no default
    default : default in the signature; None if it is required
    meaning : its text in the docstring, under "Parameters"; "" if there is none
    """

    name: str
    type: Any
    required: bool
    default: Any
    meaning: str

    @property
    def given_if_unset(self) -> str:
        """The value that a run provides if the user does not set it, as text; "" if the run provides no value."""
        return GIVEN_IF_UNSET.get(self.name, "") if self.required else ""

    @property
    def needed(self) -> bool:
        """Whether the user must give a value, because neither the rule nor the run provides one."""
        return self.required and not self.given_if_unset


@dataclass(frozen=True, kw_only=True)
class RuleSpec:
    """All facts about a rule that nfa can find without running it.

    Parameters
    ----------
    name : "dp_sgd", or "module:function" for a rule from outside
    function : the rule itself
    about : description of the rule: the first paragraph of its module's docstring or, for a rule from outside, of the
        function's docstring
    settings : the settings of the rule itself, in the order of the signature
    given : the names of `GIVEN` among its arguments
    defaults : {name: default} of the rule's keywords with a default
    mechanism : the function ``mechanism`` of its module; None if there is none
    mechanism_defaults : the keywords of the mechanism, with their defaults or `UNSET`
    returns : the annotation of the mechanism's result; `UNSET` if there is none
    refusal : the error, for a mechanism that always raises NoGuarantee; None for any other mechanism
    noise : the setting to which the mechanism's noise is proportional
    sum_over_examples : whether the module declares that the direction is a sum over examples
    ids : ids of the statements that the docstrings of the rule cite
    """

    name: str
    function: Callable
    about: str
    settings: tuple[OwnSetting, ...]
    given: frozenset[str]
    defaults: Mapping[str, Any]
    mechanism: Callable | None
    mechanism_defaults: Mapping[str, Any]
    returns: Any
    refusal: NoGuarantee | None
    noise: str
    sum_over_examples: bool
    ids: tuple[str, ...]

    @property
    def from_outside(self) -> bool:
        """Whether the rule is from outside nfa. nfa has checked nothing about such a rule."""
        return from_outside(self.name)

    @property
    def uses_feedback(self) -> bool:
        """Whether the rule takes random feedback, B or V."""
        return not self.given.isdisjoint({"B", "V"})

    @property
    def noise_on_sum(self) -> bool:
        """Whether the rule adds noise once to the sum over examples, through ``add_normal``."""
        return "add_normal" in self.given

    @property
    def draws_by_example(self) -> bool:
        """Whether the rule may draw random values for single examples. For a rule from outside, the result is True."""
        return self.from_outside or not self.given.isdisjoint(DRAW_BY_EXAMPLE)

    @property
    def states(self) -> bool:
        """Whether the rule's mechanism can state a guarantee.

        A mechanism that always raises NoGuarantee is annotated ``-> NoReturn``.
        """
        return self.mechanism is not None and self.returns not in (NoReturn, "NoReturn")

    def refuse_insecure(self) -> None:
        """Raise NoGuarantee or ValueError if the rule's declarations show that a secure run cannot use the rule.

        A secure run adds its exact noise only to a sum over examples. Our bound on the effect of rounding is proved
        only for such sums in rules of nfa. For a rule from outside, the guarantee does not include the effect of
        rounding. Such a rule must also take its noise from the run.
        """
        if self.refusal and not self.from_outside:
            raise NoGuarantee(self.refusal.id, self.refusal.why)
        if not self.noise_on_sum:
            raise ValueError(
                f"a secure run needs a rule that adds noise through the parameter add_normal, but rule {self.name}"
                " has no such parameter"
            )
        if not self.from_outside and not self.sum_over_examples:
            raise ValueError(
                f"a secure run needs a rule that returns a sum over examples, but rule {self.name} returns no such sum"
            )

    @property
    def needs_adjacency(self) -> bool:
        """Whether the rule's mechanism needs an adjacency."""
        return self.mechanism_defaults.get("adjacency", None) is not None

    @property
    def adjacencies(self) -> tuple[str, ...]:
        """The adjacencies in the annotation of the rule's mechanism; all adjacencies if the annotation names none."""
        annotated = inspect.get_annotations(self.mechanism).get("adjacency") if self.mechanism else None
        literals = [value for one in (annotated, *get_args(annotated)) for value in get_args(one)]
        return tuple(one for one in ADJACENCIES if one in literals) or ADJACENCIES

    @property
    def protects(self) -> str:
        """ "records" or "labels only", which the rule's mechanism can protect; "" if it states no guarantee."""
        if not self.states:
            return ""
        return "labels only" if set(self.adjacencies) <= set(OF_LABELS) else "records"

    @property
    def guarantee(self) -> str:
        """The first sentence of the mechanism's docstring, or the reason why the rule has no guarantee."""
        if self.mechanism is None:
            return "none: the rule states no mechanism"
        said = first_paragraph(inspect.getdoc(self.mechanism) or "")
        if self.states:
            return said or "its docstring does not describe its mechanism"
        return f"none: {said.partition(': raises')[0].rstrip('.')}{f' ({self.refusal.id})' if self.refusal else ''}"

    def setting(self, name: str) -> OwnSetting | None:
        """The rule's setting with this name; None if there is none."""
        return next((one for one in self.settings if one.name == name), None)

    def release(self, adjacency: str | None, known: Mapping[str, Any]) -> Release:
        """The release of one step of the rule, as the rule's own mechanism states it.

        Parameters
        ----------
        adjacency : one of `nfa.mechanism.ADJACENCIES`; None for the default of the mechanism
        known : the bound settings of the rule, its net, and the scheme and the rate of its batches. The mechanism
            receives the values for which it has an argument, the adjacency, and defaults of the rule

        Raises
        ------
        NoGuarantee : if nothing is proved
        ValueError : if the rule has no mechanism, if the mechanism rejects the settings, or if it returns another
            adjacency
        """
        if self.mechanism is None:
            raise ValueError(f"rule {self.name} has no mechanism, so its noise cannot be computed")
        given = {**self.defaults, **known, "adjacency": adjacency}
        try:
            found = self.mechanism(**{key: value for key, value in given.items() if key in self.mechanism_defaults})
        except (NoGuarantee, ValueError, OSError):
            raise
        except Exception as failure:
            raise ValueError(
                f"the mechanism of rule {self.name} failed: {type(failure).__name__}: {failure}"
            ) from failure
        # A `Classic` contains a Renyi curve, which is code. nfa accepts such code only from its own rules.
        if type(found) is not Mechanism and (self.from_outside or type(found) is not Classic):
            raise ValueError(f"the mechanism of rule {self.name} must return a Mechanism, got {type(found).__name__}")
        if adjacency not in (None, found.adjacency):
            raise ValueError(f"adjacency must be {found.adjacency} for rule {self.name}, got {adjacency}")
        return found


def names() -> list[str]:
    """The names of the rules in nfa, including aliases."""
    files = pkgutil.iter_modules(importlib.import_module("nfa.rules").__path__)
    return sorted([*(file.name for file in files if file.name != "spec"), *ALIASES])


def new_values(rule: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The new values of those settings of a rule that have an old value.

    Examples
    --------
    >>> new_values("dp_dfa", {"top": "slope", "tau_h": 1.0})
    {'top': 'derivative'}
    """
    found = {name: OLD_VALUES.get((rule, name), {}).get(str(value)) for name, value in own.items()}
    return {name: new for name, new in found.items() if new}


def spec(name: str) -> RuleSpec:
    """The description of the rule with this name: a rule of nfa, an alias, or your own rule as "module:function".

    The mechanism is that of the named module, even if this module imports the function from another module.

    Raises
    ------
    ValueError : if there is no such rule, or for a function that wraps another function or cannot be called as a rule.
        ValueError also for a ``mechanism`` that is not a function, or for a rule of nfa that other code in this process
        has replaced. nfa searches your own module also in the current folder

    Examples
    --------
    >>> dp_sgd = spec("dp_sgd")
    >>> [setting.name for setting in dp_sgd.settings], dp_sgd.noise, dp_sgd.sum_over_examples
    (['C', 'm', 'sigma', 'clip'], 'sigma', True)
    """
    if from_outside(name):
        module, function = imported(name, "rule")
    elif name in names():
        file = ALIASES.get(name, name)
        module = importlib.import_module(f"nfa.rules.{file}")
        function = getattr(module, file)
    else:
        meant = require.meant(name, names())
        raise ValueError(f"rule must be one of {', '.join(names())}, or module:function, got {name!r}{meant}")
    mechanism = getattr(module, "mechanism", None)
    if mechanism is not None and not callable(mechanism):
        raise ValueError(f"the mechanism of rule {name} must be a function, got {type(mechanism).__name__}")
    if not from_outside(name):
        for one in (function, mechanism):
            if getattr(one, "__globals__", None) is not vars(module):
                raise ValueError(
                    f"{module.__name__} was changed in this process, so nfa states no guarantee for rule {name}. "
                    "Put your own rule into a module of your own"
                )
    noise, is_sum = getattr(module, "NOISE", "sigma"), getattr(module, "SUM_OVER_EXAMPLES", False)
    if not isinstance(is_sum, bool):
        raise ValueError(f"SUM_OVER_EXAMPLES of rule {name} must be True or False, got {is_sum!r}")
    try:
        found = _spec(name, function, module, mechanism, noise, is_sum)
    except TypeError:  # the function or the mechanism cannot be hashed, so it cannot be cached
        found = _spec.__wrapped__(name, function, module, mechanism, noise, is_sum)
    if "NOISE" in vars(module) and not found.setting(noise):
        own = ", ".join(one.name for one in found.settings) or "none"
        raise ValueError(f"NOISE of rule {name} must name a setting of the rule ({own}), got {noise!r}")
    return found


def released(rule: Callable, net: Any, batches: Any, adjacency: str | None) -> Release:
    """The release of one step of a rule with bound settings, as the mechanism of the rule's module states it.

    A mechanism depends only on settings. We assume that bound functions, such as ``add_normal`` and ``clip_l2``, are
    equivalent to those of nfa.

    Parameters
    ----------
    rule : function, or `functools.partial` of one, or `nfa.parts.InParts`, with the rule's settings bound
    net : Net
    batches : a sampler of `nfa.sampling`, which has the scheme and the rate
    adjacency : one of `nfa.mechanism.ADJACENCIES`; None for the default of the mechanism

    Raises
    ------
    NoGuarantee : if nothing is proved
    ValueError : if the rule is not a function at the top level of a module, or as in `RuleSpec.release`

    Examples
    --------
    >>> from functools import partial
    >>> from types import SimpleNamespace
    >>> from nfa.rules.dp_sgd import dp_sgd
    >>> batches = SimpleNamespace(scheme="poisson", rate=0.01)
    >>> released(partial(dp_sgd, C=2.0, m=100, sigma=0.03), None, batches, "add-remove").sensitivity
    0.02
    """
    bound: dict[str, Any] = {}
    function: Any = rule
    while hasattr(function, "func"):
        bound, function = {**function.keywords, **bound}, function.func
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    known = name if module == f"{__package__}.{name}" else f"{module}:{name}"
    found = None
    with suppress(ValueError):
        found = spec(known)
    if found is None or found.function is not function:
        raise ValueError(
            f"nfa cannot find the rule {name or function!r} and the mechanism of the rule in a module: give a "
            "function of a module, with its settings bound by functools.partial"
        )
    return found.release(adjacency, {**bound, "net": net, "sampling": batches.scheme, "sampling_rate": batches.rate})


@cache
def _spec(
    name: str, function: Callable, module: ModuleType, mechanism: Callable | None, noise: str, is_sum: bool
) -> RuleSpec:
    if hasattr(function, "__wrapped__"):
        raise ValueError(
            f"rule {name!r} wraps another function (functools.wraps), so the guarantee could belong to the wrapped "
            "function: name a function that does not wrap another function"
        )
    taken = _parameters(function)
    if lacks := _lacks(taken):
        raise ValueError(
            f"rule {name!r} must take net, x and y by position and rng by name, as in def rule(net, x, y, *, rng), "
            f"but the function {lacks}"
        )
    docstring = inspect.getdoc(function) or ""
    about = docstring if from_outside(name) else module.__doc__ or ""
    cited, meanings = docstring, meanings_of(docstring, module)
    stating, returns, refusal = {}, UNSET, None
    if mechanism is not None:
        cited += inspect.getdoc(mechanism) or ""
        stating = _parameters(mechanism) or {}
        returns = _returns(mechanism)
        if returns in (NoReturn, "NoReturn"):
            refusal = _refusal(mechanism, stating)
    return RuleSpec(
        name=name,
        function=function,
        about=first_paragraph(about),
        settings=tuple(_setting(one, meanings) for one in _own(taken or {})),
        given=frozenset(GIVEN) & frozenset(taken or {}),
        defaults={key: one.default for key, one in (taken or {}).items() if one.default is not UNSET},
        mechanism=mechanism,
        mechanism_defaults={key: one.default for key, one in stating.items() if one.kind is not one.VAR_KEYWORD},
        returns=returns,
        refusal=refusal,
        noise=noise,
        sum_over_examples=is_sum,
        ids=tuple(dict.fromkeys([*ID.findall(cited), *([refusal.id] if refusal else [])])),
    )


def _parameters(function: Callable) -> dict[str, inspect.Parameter] | None:
    """The parameters of a function, with evaluated annotations if possible; None if its signature cannot be read."""
    for evaluated in (True, False):
        try:
            return dict(inspect.signature(function, eval_str=evaluated).parameters)
        except ValueError:
            return None
        except Exception:  # an annotation in quotes may contain an unknown name
            continue
    return None


def _returns(function: Callable) -> Any:
    try:
        return inspect.signature(function).return_annotation
    except ValueError:
        return UNSET


def _lacks(taken: Mapping[str, inspect.Parameter] | None) -> str:
    """The reason why a function cannot be called as ``function(net, x, y, rng=rng)``; "" if it can."""
    if taken is None:
        return "has no signature that can be read"
    placed = [name for name, one in taken.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    kinds = {one.kind for one in taken.values()}
    lacks = []
    if len(placed) < 3 and inspect.Parameter.VAR_POSITIONAL not in kinds:
        lacks.append(f"takes {'only ' + ' and '.join(placed) if placed else 'nothing'} by position")
    if "rng" in placed[:3]:
        lacks.append("has rng among its first three parameters")
    elif inspect.Parameter.VAR_KEYWORD not in kinds and (
        "rng" not in taken or taken["rng"].kind is inspect.Parameter.POSITIONAL_ONLY
    ):
        lacks.append("does not take rng by name")
    return " and ".join(lacks)


def _own(taken: Mapping[str, inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters that are settings: all keywords except net, x, y and the arguments that a run provides."""
    placed = [name for name, one in taken.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    rest = [one for name, one in taken.items() if name not in (*placed[:3], *GIVEN)]
    return [one for one in rest if one.kind in named]


def _setting(one: inspect.Parameter, meanings: Mapping[str, str]) -> OwnSetting:
    return OwnSetting(
        name=one.name,
        type=None if one.annotation is UNSET else one.annotation,
        required=one.default is UNSET,
        default=None if one.default is UNSET else _in_json(one.default),
        meaning=meanings.get(one.name, ""),
    )


def _in_json(default: Any) -> Any:
    """A default as a JSON value, or as Python prints it if JSON has no such value."""
    try:
        json.dumps(default)
        return default
    except (TypeError, ValueError):
        return repr(default)


def _refusal(mechanism: Callable, stating: Mapping[str, inspect.Parameter]) -> NoGuarantee | None:
    """The error of a mechanism that raises NoGuarantee for all arguments; None for any other mechanism."""
    try:
        mechanism(**{one.name: None for one in stating.values() if one.kind is one.KEYWORD_ONLY})
    except NoGuarantee as refused:
        return refused
    except Exception:  # a mechanism from outside may be annotated wrongly and raise any other error
        pass
    return None
