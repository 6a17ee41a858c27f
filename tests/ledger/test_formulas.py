"""Tests of LaTeX formulas as text for a terminal."""

import re

import pytest

from nfa import ledger
from nfa.ledger.breaking import broken, columns
from nfa.ledger.formulas import DISPLAY, INLINE, in_text, spelled
from tutorials.site.terms import marked, typeset, where

FIELDS = ("claims", "right", "use", "number", "reason")
DISPLAYS = [
    (f"{item.id}, {field}", found[2])
    for item in ledger.items()
    for field in FIELDS
    for found in DISPLAY.finditer(getattr(item, field))
]
TERMS = [(item.id, formula[1:-1]) for item in ledger.items() for formula, _ in item.terms if formula[0] == "$"]


# The expected texts are written by hand, as a user would type these formulas.
@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\delta z^l = (B^{l+1} e) \odot \phi'_l(z^l)", "δzˡ = (Bˡ⁺¹ e) ⊙ φ'_l(zˡ)"),
        (r"h^L[k] = \frac{\exp(z^L[k])}{\sum_j \exp(z^L[j])}", "h^L[k] = exp(z^L[k])/(Σ_j exp(z^L[j]))"),
        (r"\frac{a + b}{2(\alpha-1)}", "(a + b)/(2(α−1))"),
        (r"\frac{1}{m} \sum_{i \in S} x_i", "(1/m) Σ_{i∈S} x_i"),
        (r"\frac{1}{m}, \frac{a}{b}\| x", "1/m, a/b‖ x"),
        (r"\frac{v}{\|v\|_2}", "v/‖v‖₂"),
        (r"\frac{2}{m} \|B e\|", "(2/m) ‖B e‖"),
        (r"\frac{C}{\|u_i\|} \cdot \frac{1 - C^{-2}}{(x)^2}", "(C/‖u_i‖) · (1 − C⁻²)/(x)²"),
        (r"\frac{\partial z_i^{\ell+1}}{\partial W^l}", "∂z_i^{ℓ+1}/∂Wˡ"),
        (r"\sqrt{m} \sqrt{\frac{m}{n_l}}", "√m √(m/n_l)"),
        (r"\gamma^{\max} \tau_h^{\min} \sigma_0^2 \theta_0", "γ^max τ_h^min σ₀² θ₀"),
        (r"\min\{2, (e^{\varepsilon(\infty)} - 1)^j\}", "min{2, (e^{ε(∞)} − 1)ʲ}"),
        (r"\hat{g}^l(d) = \mathcal{L}_0 (D_\theta v)^\top \cdot z", "ĝˡ(d) = ℒ₀ (D_θ v)ᵀ · z"),
        (r"\mathbb{D}_\alpha(P \| Q) \ge \binom{\alpha}{2}", "𝔻_α(P ‖ Q) ≥ C(α,2)"),
        (r"\operatorname{clip}_{\tau_h}(h) \text{ for well-known } h", "clip_{τ_h}(h) for well-known h"),
        (r"a = b, \quad W \in \mathbb{R}^{n \times m}", "a = b,    W ∈ ℝ^{n×m}"),
        (r"\begin{aligned} a ={} & b \\ & \quad + c \\ d &\le e \end{aligned}", "a = b\n    + c\nd ≤ e"),
        (r"\begin{aligned} a &\le b \\ &\le c \end{aligned}", "a ≤ b\n    ≤ c"),
        (
            r"a = \begin{cases} b & \text{if } c \\ \frac{1}{b} & \text{if } d, \end{cases} \tag{2}",
            "a = { b      if c\n    { 1/b    if d,    (2)",
        ),
        (r"\begin{cases} a = 0; & b = 0 \\ c_{t+1} = c_t + 1 \end{cases}", "{ a = 0;    b = 0\n{ c_{t+1} = c_t + 1"),
        (r"A \begin{pmatrix} a & -b \\ 0 & \frac{1}{c} \end{pmatrix} + B", "A (a, −b; 0, 1/c) + B"),
        (r"\underbrace{(B e + g)}_{\text{a learning signal}} \odot h", "(B e + g)⏟{a learning signal} ⊙ h"),
        (r"c_\ell \doteq \frac{\tau_h^{max}}{\sqrt{n_\ell}} \quad s \doteq \tau_B", "c_ℓ ≐ τ_h^max/√n_ℓ    s ≐ τ_B"),
        (
            r"\inf_{\mu' \text{ s.t. } W \leq z} D(\mu' \| \nu), \quad 2\gamma\sup_x x",
            "inf_{μ' s.t. W≤z} D(μ' ‖ ν),    2γ sup_x x",
        ),
        (
            r"\underset{\theta}{\operatorname{argmin}} \; \ell, \operatorname*{argmin}_\theta \ell",
            "argmin_θ ℓ, argmin_θ ℓ",
        ),
        (r"z \stackrel{\text{iid}}{\sim} N, \mathbb{E}_{\substack{i \sim U \\ j \sim V}} x", "z ∼ⁱⁱᵈ N, 𝔼_{i∼U,j∼V} x"),
        (
            r"\left\lVert \mathbf{v} \right\rVert_2 \geq \left. \bar{N} \middle| \tilde{\phi}_l^{\prime} \right.",
            "‖v‖₂ ≥ N̄ | φ̃_l'",
        ),
        (r"M := \mathsf{clip}_c(\hat{\mathbf{y}}-\bm{\mathrm{y}}), x \mapsto e^{-x}", "M := clip_c(ŷ−y), x ↦ e⁻ˣ"),
        (r"\frac{\|a - b\|_2}{2}", "‖a − b‖₂/2"),
        (r"\frac{|f(x) - z|}{b}, (\frac{-|a - b|}{2})", "|f(x) − z|/b, (−|a − b|/2)"),
        (r"\frac{\log 1/\delta}{\alpha - 1}", "(log 1/δ)/(α − 1)"),
        (r"Q \cdot \Lambda \cdot Q", "Q · Λ · Q"),
        (r"(1 - q)^T, A^\top", "(1 − q)^T, Aᵀ"),
    ],
)
def test_a_formula_reads_as_one_would_type_it(latex, text):
    assert in_text(latex) == text


def test_the_text_around_a_formula_stays():
    text = "So\n    $$ a^2\n    = b $$;\nand $\\alpha$ (1 $ each)."
    assert spelled(text) == "So\n    a² = b;\nand α (1 $ each)."


@pytest.mark.parametrize("latex", [r"\foo x", r"\frac{a}{b", r"\begin{aligned} a", r"{a"])
def test_what_is_no_formula_is_refused(latex):
    with pytest.raises(ValueError, match="the formula cannot be read: "):
        in_text(latex)


def test_every_formula_of_the_ledger_is_spelled_out_in_the_width_of_a_terminal():
    """Every displayed formula of the ledger needs at most 66 of the 80 columns of a terminal."""
    assert len(DISPLAYS) > 15
    for place, latex in DISPLAYS:
        text = in_text(latex)
        assert text
        assert not re.search(r"[\\$&\v\t]", text), f"{place}: {text}"
        assert max(map(columns, text.split("\n"))) <= 66, place


# Texts with an underscore that are not formulas: names of code, files and options.
NAMES = re.compile(r"`[^`]*`|[\w./]*(?:nfa|tests)[./][\w./:]*|(?<!\w)[A-Za-z]{2,}\d*(?:_\w+)+")


def test_indices_and_exponents_in_a_sentence_are_formulas():
    """Indices and exponents in the ledger's sentences are inside formulas, so that the site typesets them.

    Lines with an indent, such as a list or a table, are not tested, because they are shown unchanged.
    """
    for item in ledger.items():
        for field in FIELDS:
            text = INLINE.sub("x", DISPLAY.sub("", getattr(item, field)))
            prose = " ".join(line for line in text.split("\n") if not line.startswith(" "))
            rest = NAMES.sub("", prose)
            rule = "indices and exponents stand between dollars, as in '$s_n$'"
            assert not re.search(r"[_^$]", rest), f"{item.id}, {field}: {rule}, got {rest}"


def test_what_is_raised_beside_a_prime_stands_right_behind_it():
    """An exponent must follow directly after a prime, as in a_j'^2. In a'_j^2, the site finds two exponents."""
    twice = re.compile(r"'_(\w|\\[A-Za-z]+|{[^{}]*})\^")
    assert twice.search("a'_j^2")
    assert not twice.search("a_j'^2")
    shown = [*DISPLAYS, *((item.id, latex) for item in ledger.items() for latex in item.printed)]
    for item in ledger.items():
        shown += [(item.id, found[1]) for field in FIELDS for found in INLINE.finditer(getattr(item, field))]
    assert [place for place, latex in shown if twice.search(latex)] == []


def test_every_term_is_a_part_of_a_display_of_its_statement_and_has_a_mark_there():
    assert len(TERMS) > 150
    shown = {item.id: list(item.printed) for item in ledger.items()}
    for place, latex in DISPLAYS:
        shown[place.partition(",")[0]].append(" ".join(latex.split()))
    for id_, term in TERMS:
        assert any(where(term, latex) for latex in shown[id_]), f"{id_}: {term}"
        in_text(term)
    for item in ledger.items():  # all terms of a statement are marked in one call
        marks = " ".join(marked(latex, item.terms) for latex in shown[item.id])
        for at, (term, _) in enumerate(item.terms, 1):
            assert (rf"\class{{term-{at}}}{{" in marks) == (term[0] == "$"), f"{item.id}: {term}"


def test_a_mark_is_around_a_term_and_within_a_longer_one_but_not_within_a_name():
    terms = [("$m$", "m"), (r"$\gamma$", "g"), (r"$\frac{1}{m}$", "1 / m"), ("word", "w"), ("$t$", "t")]
    shown = r"\class{term-2}{\gamma}_l \class{term-5}{t}\tag{5}"
    assert marked(r"\gamma_l t\tag{5}", terms) == shown
    assert marked(r"\frac{1}{m} \mathbf{W}", terms) == r"\class{term-3}{\frac{1}{\class{term-1}{m}}} \mathbf{W}"
    assert typeset(r"\mathbf{W} = x \tag{5}") == r"\mathbf{W} = x\qquad\text{(5)}"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("f(a + b) = c + d + e", 14, ["f(a + b)", "    = c + d", "    + e"]),
        ("a = b", 1, ["a", "    = b"]),  # a term is never split over two lines
        ("f(x) log [x (y)]", 15, ["f(x)", "    log [x (y)]"]),  # a function and its argument stay on one line
        ("f = (a + b ⊙ c + d) e", 16, ["f", "    = (a + b ⊙ c", "        + d) e"]),
        ("a ≤ b\n    ≤ c + d", 10, ["a ≤ b", "    ≤ c", "        + d"]),
        ("φ̃ = b + c", 9, ["φ̃ = b + c"]),
        ("x + y = { a    if b\n        { c    if d", 19, ["x + y = { a    if b", "        { c    if d"]),
        ("x + y = { a    if b\n        { c    if d", 18, ["x + y", "    = { a    if b", "      { c    if d"]),
    ],
)
def test_a_long_formula_goes_on_where_it_reads_best(text, width, lines):
    assert broken(text, width) == lines
