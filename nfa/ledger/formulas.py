r"""The ledger's display formulas.

Each formula is written once, as LaTeX for the site. This module computes the text for a terminal from the LaTeX.

In a text of the ledger, a display formula is between ``$$`` and ``$$``, on lines that begin with spaces. A formula
within a line is between ``$`` and ``$``.

The library pylatexenc gives the symbols and accents. This module arranges them:

- An exponent is raised if all its characters have a raised form.
- ``\frac{a}{b}`` becomes a/b, with brackets where they are necessary.
- ``\\`` ends a line, and each case is on a line below the previous case.
- A matrix becomes its rows in brackets, (a, b; c, d).
- The text of a brace below a term follows the term in braces.
- A space of the LaTeX stays a space, unless it ends the name of a Greek letter.

Bold and upright letters become plain letters. Commands for the size of brackets have no effect on the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latex2text import get_default_latex_context_db as default_symbols
from pylatexenc.latexwalker import (
    LatexCharsNode,
    LatexEnvironmentNode,
    LatexGroupNode,
    LatexMacroNode,
    LatexNode,
    LatexSpecialsNode,
    LatexWalker,
    LatexWalkerParseError,
    get_default_latex_context_db,
)
from pylatexenc.macrospec import std_macro

from nfa.ledger.breaking import columns

DISPLAY = re.compile(r"(?m)^( +)\$\$((?s:.+?))\$\$(.*)$")
INLINE = re.compile(r"(?<![$\\])\$([^$]+)\$(?!\$)")
RAISED = dict(zip("0123456789+-−*abcdefghijklmnoprstuvwxyzᵀ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻*ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ", strict=True))
LOWERED = dict(zip("0123456789", "₀₁₂₃₄₅₆₇₈₉", strict=True))
FUNCTIONS = frozenset("min max log ln exp det sup inf arg Pr".split())  # functions that appear as their names
SYMBOLS = {
    "top": "ᵀ", "intercal": "ᵀ", "mid": "|", "|": "‖", "parallel": "‖", "{": "{", "}": "}", ",": " ", ";": " ",
    ":": " ", "!": "", "quad": "\t", "qquad": "\t", "\\": "\n", "varepsilon": "ε", "phi": "φ", "ell": "ℓ", "sum": "Σ",
    "infty": "∞",
    "sharp": "♯", "cdot": "·", "odot": "⊙", "gets": "←", "ldots": "…", "dots": "…", "cdots": "⋯", "lceil": "⌈",
    "rceil": "⌉", "ll": "≪", "doteq": "≐",
} | {name: name for name in FUNCTIONS}  # fmt: skip
SIZES = re.compile(
    r"\\(?:left|right|middle)(?![A-Za-z])\.?|\\(?:[bB]igg?[lrm]?|displaystyle)(?![A-Za-z])|(?<=\\operatorname)\*"
)
FONTS = frozenset("operatorname mathbf mathrm mathsf mathit boldsymbol bm text mbox".split())
NO_FACTOR = ")]},.;:=<>≤≥≈←∈+−|‖\n"  # a fraction before one of these characters needs no brackets
SOFT = "\v"  # marks the space after a letter's name; it becomes a space before a sign, and nothing before a letter
NAME = "\x04"  # marks the start of a function's name; after a letter or bracket, it becomes a space
KEPT = "\xa0"  # a space between words, which stays a space also in a subscript or superscript
RELATIONS = frozenset("≤≥≈∈←⊙×−+=≐∼≡≠∝⊆⊂≪")  # relations have spaces around them
# Marks before the first case, between two cases, and between the parts of a case.
BRACE, ROW, CELL = "\x01", "\x02", "\x03"
UNDER = "⏟"  # marks a brace below a term
ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "dot": "\u0307"}
_COMMANDS = get_default_latex_context_db()
_ARGUMENTS = {"binom": 2, "stackrel": 2, "underset": 2, "underbrace": 1, "substack": 1, "tag": 1, "mbox": 1}
_COMMANDS.add_context_category("ledger", [std_macro(name, None, n) for name, n in _ARGUMENTS.items()], prepend=True)
_SYMBOLS, _TEXT = default_symbols(), LatexNodes2Text()

# A number, or a letter with its superscripts, subscripts and accents.
INDEX = rf"(?:['{''.join(RAISED.values())}{''.join(LOWERED.values())}]|[_^](?:min|max|\w|{{[^}}]*}}))"
ONE = re.compile(rf"\d+|[√∂]?[^\W\d_][\u0302-\u0307]?{INDEX}*")


class _Fraction(str):
    """A fraction as text. It gets brackets if it is a factor."""


def spelled(text: str) -> str:
    r"""A text of the ledger, in which formulas become text for a terminal.

    Raises
    ------
    ValueError : if a formula has an unknown command, or if its brackets do not close

    Examples
    --------
    >>> print(spelled("Feedback:\n    $$\\delta z^l = (B^{l+1} e) \\odot \\phi'_l(z^l)$$."))
    Feedback:
        δzˡ = (Bˡ⁺¹ e) ⊙ φ'_l(zˡ).
    """
    return INLINE.sub(lambda found: in_text(found[1]), DISPLAY.sub(_lines, text))


def _lines(found: re.Match[str]) -> str:
    indent, latex, after = found.groups()
    return "\n".join(indent + line for line in f"{in_text(latex)}{after}".split("\n"))


def in_text(latex: str) -> str:
    r"""A formula, without its dollars, as text for a terminal. It has several lines if the source has ``\\``.

    Raises
    ------
    ValueError : if a command is unknown, or if a bracket does not close

    Examples
    --------
    >>> in_text(r"\Delta \le \frac{2 \gamma_l}{m} \sqrt{(1 + \tau_h^2) L}")
    'Δ ≤ (2 γ_l/m) √((1 + τ_h²) L)'
    """
    latex = SIZES.sub("", " ".join(latex.split()))
    # Spaces next to these bars, on their inner side, are removed, as for brackets.
    for name, bar in (("Vert", r"\\|"), ("vert", "|")):
        latex = re.sub(rf"\\l{name}(?![A-Za-z]) *| *\\r{name}(?![A-Za-z])", bar, latex)
    try:
        nodes = LatexWalker(latex, _COMMANDS, tolerant_parsing=False).get_latex_nodes()[0]
    except LatexWalkerParseError as error:
        raise ValueError(f"the formula cannot be read: {' '.join(str(error).split())}") from None
    text = re.sub(f"{SOFT}(?=[{''.join(RELATIONS)}<>]|[‖·] )", " ", _joined(_parts(nodes))).replace(SOFT, "")
    text = re.sub(rf"(?<=[\w)\]]){NAME}", " ", text).replace(NAME, "")
    text = re.sub(r"(?<=[(\[⌊⌈]) +| +(?=[)\]⌋⌉])", "", text)
    text = re.sub(f" *{KEPT} *", KEPT, re.sub(" +", " ", text))
    lines = [re.sub(" ?\t ?", "    ", line.strip(" ")) for line in text.split("\n")]
    goes_on = [(line[:1] in RELATIONS or line[:1] in "<>:") and at > 0 for at, line in enumerate(lines)]
    shown = "\n".join(_cases(f"    {line}" if more else line) for line, more in zip(lines, goes_on, strict=True))
    return shown.replace(KEPT, " ")


def _cases(line: str) -> str:
    """A line with its cases below each other. In all cases, the texts after the first & begin in the same column."""
    head, brace, text = line.partition(BRACE)
    if not brace:
        return line
    rows = [[cell.strip() for cell in row.split(CELL)] for row in text.split(ROW)]
    first = max((columns(row[0]) for row in rows if len(row) > 1), default=0)
    shown = ["    ".join([row[0] + " " * (first - columns(row[0])), *row[1:]] if row[1:] else row) for row in rows]
    return head + f"\n{' ' * columns(head)}".join(f"{{ {row}" for row in shown)


def _parts(nodes: Iterable[LatexNode]) -> Iterator[str]:
    """The parts of a formula as text. A "^" or "_" comes before the part that it raises or lowers."""
    for node in nodes:
        if isinstance(node, LatexCharsNode):
            yield from re.sub(":=|[=<>]", r" \g<0> ", node.chars.replace("-", "−"))
        elif isinstance(node, LatexEnvironmentNode) and node.environmentname == "cases":
            yield BRACE + ROW.join(CELL.join(cells) for cells in _rows(node))
        elif isinstance(node, LatexEnvironmentNode) and node.environmentname == "pmatrix":
            yield f"({'; '.join(', '.join(cells) for cells in _rows(node))})"
        elif isinstance(node, LatexGroupNode | LatexEnvironmentNode):
            yield _joined(_parts(node.nodelist))
        elif isinstance(node, LatexSpecialsNode):
            yield "" if node.specials_chars == "&" else node.specials_chars
        elif isinstance(node, LatexMacroNode):
            yield from _macro(node)


def _rows(node: LatexEnvironmentNode) -> Iterator[list[str]]:
    """The cells of each row of a matrix or of cases."""
    rows: list[list[list[LatexNode]]] = [[[]]]
    for one in node.nodelist:
        if isinstance(one, LatexMacroNode) and one.macroname == "\\":
            rows.append([[]])
        elif isinstance(one, LatexSpecialsNode) and one.specials_chars == "&":
            rows[-1].append([])
        else:
            rows[-1][-1].append(one)
    yield from ([_joined(_parts(cell)).strip() for cell in row] for row in rows)


def _macro(node: LatexMacroNode) -> Iterator[str]:
    name, space = node.macroname, node.macro_post_space
    arguments = [_joined(_parts([one])).strip() for one in (node.nodeargd.argnlist if node.nodeargd else []) if one]
    if name == "frac":
        over, under = arguments
        over = f"({over})" if _has(over, "+−/") and not _one(over) else over
        yield _Fraction(f"{over}/{under if _one(under) else f'({under})'}")
    elif name == "sqrt":
        yield "√" + (arguments[0] if _one(arguments[0]) else f"({arguments[0]})")
    elif name == "binom":
        yield f"C({arguments[0]},{arguments[1]})"
    elif name in ("stackrel", "underset"):
        yield from (" ", arguments[1], "^" if name == "stackrel" else "_", arguments[0], " ")
    elif name in ACCENTS:
        yield unicodedata.normalize("NFC", arguments[0] + ACCENTS[name])
    elif name == "underbrace":
        yield arguments[0] + UNDER
    elif name == "substack":
        yield arguments[0].replace("\n", ", ")
    elif name == "tag":
        yield f"\t({arguments[0]})"
    elif name in ("text", "mbox"):
        words = node.nodeargd.argnlist[0].latex_verbatim()
        said = arguments[0].replace("−", "-").replace(" ", KEPT)
        if words.startswith("{ "):
            said = KEPT + said
        yield said + KEPT if words.endswith(" }") else said
    elif name in FONTS:
        yield from arguments
    else:
        shown = SYMBOLS[name] if name in SYMBOLS else _symbol(node)
        if shown in RELATIONS:
            yield f" {shown} "
        else:
            yield NAME + shown if name in FUNCTIONS else shown
        if space and shown not in "⌈⌊⟨":
            yield SOFT if len(shown) == 1 and (shown.isalpha() or shown in "∂∇") else " "


def _symbol(node: LatexMacroNode) -> str:
    if _SYMBOLS.get_macro_spec(node.macroname) is None:
        raise ValueError(f"the formula cannot be read: the command \\{node.macroname} is not known")
    return _TEXT.nodelist_to_text([node]).strip()


def _joined(parts: Iterable[str]) -> str:
    text, moved, rest = "", "", list(parts)
    for at, part in enumerate(rest):
        if part in ("^", "_") and not moved:
            moved = part
        elif moved and text.endswith(UNDER):
            text += f"{{{part.strip()}}}"
            moved = ""
        elif moved:
            text += _moved(moved, re.sub(rf"[ {SOFT}{NAME}]", "", part))
            moved = ""
            rest[at + 1 : at + 2] = [" " if one == SOFT else one for one in rest[at + 1 : at + 2]]
        elif isinstance(part, _Fraction):
            after = "".join(rest[at + 1 :])
            far = not after.strip() or after.lstrip(" ")[0] == "\t"
            factor = not far and (after.lstrip()[0] not in NO_FACTOR or after.startswith((" |", " ‖")))
            text += f"({part})" if factor else part
        else:
            text += part
    return text


def _moved(how: str, part: str) -> str:
    if part == "'":
        return part
    signs = RAISED if how == "^" else LOWERED
    if part not in FUNCTIONS and all(sign in signs for sign in part):
        return "".join(signs[sign] for sign in part)
    return how + (part if len(part) == 1 or part in FUNCTIONS else f"{{{part}}}")


def _one(text: str) -> bool:
    """Whether a text is one unit: a number, or a letter or bracket with its superscripts and subscripts."""
    text = text.replace(SOFT, "")
    bracket = re.sub(f"{INDEX}*$", "", text.removeprefix("√"))
    if ONE.fullmatch(text) or re.fullmatch(rf"(‖[^‖]*‖|\|[^|]*\|){INDEX}*", text):
        return True
    return bracket[:1] == "(" and bracket[-1:] == ")" and not _has(bracket[:-1], ")")


def _has(text: str, signs: str) -> bool:
    """Whether a text has one of the signs outside all brackets and bars, after its first character."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{⌈⟨") - (sign in ")]}⌉⟩")
        if at and not depth and not any(text[:at].count(bar) % 2 for bar in "‖|") and sign in signs:
            return True
    return False
