"""Tests of the ledger: its files, the lookup of statements, and its consistency with code, tests and text."""

import json
import os
import re
import subprocess
import sys
from importlib.resources import files

import pytest

import nfa.ledger as ledger
from nfa.ledger import lookup, tests_json
from nfa.ledger.entries import check_names, parse
from nfa.ledger.lines import lines_of
from tests.ledger import ledger_rules as rules
from tests.project.tree import ROOT

DOCUMENTS = ["lee2020", "ohana2021", "dpulr2024", "berthier2019"]

# --- the files -------------------------------------------------------------------------------------------------


ELSEWHERE = (
    "wbk2019 mironov2017 canonne2020 mironov2019 zhuwang2019 balle2018 bretagnolle1979 zhu2022 doroshenko2022 "
    "higham2002"
).split()


def test_documents_come_first_then_what_is_ours_then_sources_from_elsewhere():
    """The ledger lists documents first, then our statements, and then other sources, in the order of the headers.

    More documents may be added.
    """
    folders = {path.parent.name for path in (ROOT / "nfa" / "papers").glob("*/statements.toml")}
    assert ledger.documents()[: len(DOCUMENTS)] == DOCUMENTS
    assert set(ledger.documents()) == folders - {"ours"}
    assert ledger.papers() == [*ledger.documents(), "ours", *ELSEWHERE]


def files_of(*texts):
    """The texts of the ledger's files: one for each document, with its header, then theorems from other sources."""
    folders = [re.search(r"\[paper.(.*)\]", text)[1] for text in texts]
    found = {f"nfa/papers/{name}/statements.toml": text for name, text in zip(folders, texts, strict=True)}
    return found | {"nfa/ledger/external.toml": HEAD}


def refusal(monkeypatch, texts):
    """The message with which the ledger refuses these files."""
    monkeypatch.setattr(lookup, "texts", lambda: texts)
    with pytest.raises(ValueError, match=r"\w") as refused:
        lookup._ledger.__wrapped__()
    return str(refused.value)


def test_a_file_that_cannot_be_read_is_named(monkeypatch):
    file = "nfa/papers/no2001/statements.toml"
    head = HEAD.replace("lee2020", "no2001")
    begin = f"{file} must begin with [paper.no2001]"
    assert refusal(monkeypatch, {file: head + "x ="}).startswith(f"{file}: Invalid value")
    assert refusal(monkeypatch, {file: ""}) == begin
    assert refusal(monkeypatch, {file: head.partition("\n")[2]}) == begin
    assert refusal(monkeypatch, {file: HEAD.replace("lee2020", "no2002")}) == begin
    assert refusal(monkeypatch, {file: head + "odrer = 1"}) == f"{file}: [paper.no2001]: there is no field 'odrer'"
    monkeypatch.setattr(lookup, "texts", lambda: {file: "# Of 2001.\n\n" + head, "nfa/ledger/external.toml": HEAD})
    assert list(lookup._ledger.__wrapped__()[0]) == ["no2001", "lee2020"]


def test_two_documents_do_not_have_one_order(monkeypatch):
    heads = [HEAD.replace("lee2020", name) + "order = 3\n" for name in ("no2001", "no2002")]
    sentence = "[paper.no2001] and [paper.no2002] have the same order, 3"
    assert refusal(monkeypatch, files_of(*heads)) == sentence


def test_documents_without_an_order_come_last_by_name(monkeypatch):
    heads = [HEAD.replace("[paper.lee2020]", f"[paper.{name}]") for name in ("no2002", "no2001", "ours", "no2003")]
    heads[0] += "order = 9\n"
    heads[3] += "order = 8\n"
    monkeypatch.setattr(lookup, "texts", lambda: files_of(*heads))
    assert list(lookup._ledger.__wrapped__()[0]) == ["no2003", "no2002", "no2001", "ours", "lee2020"]


def test_each_statement_stands_once_and_in_the_file_of_its_document():
    ids = [item.id for item in ledger.items()]
    assert len(set(ids)) == len(ids)
    # Other people cite these ids. You may add ids, or make an id an alias. No id may change, disappear or change its
    # place in the order.
    cited = (ROOT / "tests" / "ledger" / "ids.txt").read_text(encoding="utf-8").split()
    aliases = {alias for item in ledger.items() for alias in item.aliases}
    assert [id_ for id_ in ids if id_ in cited] == [name for name in cited if name not in aliases]
    for name in (*ledger.documents(), "ours"):
        headers, items = parse(files("nfa").joinpath("papers", name, "statements.toml").read_text(encoding="utf-8"))
        assert [h.paper for h in headers] == [name]
        assert {item.paper for item in items} == {name}


def test_headers_say_which_text_was_judged():
    for paper in ledger.documents():
        header = ledger.header(paper)
        assert header.title
        assert header.authors
        assert header.version
        assert header.caveats
        assert len(header.texts) == 2 if paper == "ohana2021" else header.texts


def test_coverage_counts_every_statement():
    table = ledger.coverage()
    assert list(table) == ledger.papers()
    assert sum(sum(row.values()) for row in table.values()) == len(ledger.items())
    assert table["wbk2019"]["pending"] == len([i for i in ledger.items("wbk2019") if i.verdict == "pending"])
    assert set(table["lee2020"]) == set(ledger.VERDICTS)


# Every number of an equation, lemma or theorem that the documents print. The equations of berthier2019 have no numbers.
PRINTED = {
    "lee2020": {"eq": range(1, 6), "def": range(1, 5), "lem": range(1, 4), "fig": range(1, 5), "fn": range(1, 4)}
    | {"alg1.": range(1, 20), "A": range(1, 14), "fig1": "abc", "fig2": "abc", "fig3": "abc", "fig4": "ab"},
    "ohana2021": {"eq": range(1, 19), "def2.": range(1, 5), "thm": range(1, 3), "prop": range(1, 4), "fig": range(1, 3)}
    | {"rem": ("2.1", "3.1"), "table": range(1, 2), "tab": range(1, 2), "alg1.": range(1, 19)},
    "dpulr2024": {"eq": range(1, 43), "def": range(1, 5), "thm": range(1, 5), "prop": range(1, 4), "asm": range(1, 2)}
    | {"fig": range(1, 5), "table": (1, "C1"), "tab": (1, "C1"), "alg1.L": range(191, 210)},
    "berthier2019": {"def": ("2.1", "2.2", "5.1"), "thm": ("2.1", "2.2", "3.2", "3.5", "3.6", "4.2"), "conj": (1, 2)}
    | {"prop2.": range(1, 8), "prop3.": range(1, 4), "lem": ("3.1", "3.3", "3.4", "4.1"), "fig": range(1, 14)}
    | {"table": (1,), "alg1.": range(1, 11), "A.": range(1, 8)},
}


@pytest.mark.parametrize("paper", PRINTED)
def test_every_printed_number_resolves(paper):
    for prefix, numbers in PRINTED[paper].items():
        for number in numbers:
            assert ledger.find(f"{paper}:{prefix}{number}").paper == paper


# --- lookup ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, id_",
    [
        ("lee2020:eq5", "lee2020:eq5"),
        ("lee2020:A1", "lee2020:A1-A2"),
        ("lee2020:a12", "lee2020:A12"),
        ("lee2020:fig1b", "lee2020:fig1"),
        ("lee2020:claim-10-20%", "lee2020:claim-gain"),
        ("LEE2020:Lemma 3", "lee2020:lem3"),
        ("lee2020:Eq. (5)", "lee2020:eq5"),
        ("lee2020:equations 5", "lee2020:eq5"),
        ("ohana2021:Theorem 2", "ohana2021:thm2"),
        ("ohana2021:eq18", "ohana2021:eq13"),
        ("ohana2021:tab1", "ohana2021:table1"),
        ("ohana2021:alg1.11", "ohana2021:alg1.6-12"),
        ("dpulr2024:Table C1", "dpulr2024:tableC1"),
        ("dpulr2024:Assumption 1", "dpulr2024:asm1"),
        ("berthier2019:Definition 2.1", "berthier2019:def2.1"),
        ("berthier2019:A.4", "berthier2019:thm3.6"),
    ],
)
def test_find(text, id_):
    assert ledger.find(text).id == id_


def test_every_id_and_alias_finds_its_own_statement():
    for item in ledger.items():
        for name in (item.id, *item.aliases):
            assert ledger.find(name) is item


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("lee2020:no-such-thing", r"the ledger has no statement 'lee2020:no-such-thing'"),
        ("lee2020:eq55", r"no statement 'lee2020:.*'; did you mean lee2020:eq5\?"),
        ("ohana2021:" + "Theorem 3", r"did you mean ohana2021:thm2 or ohana2021:thm1"),
        ("lee2021:" + "eq5", r"did you mean the document lee2020 or balle2018\?"),
        ("eq5", r"write the document before it, lee2020:eq5 or ohana2021:eq5"),
        ("Lemma 3", r"write document:name, the documents are lee2020, ohana2021"),
        ("lee2020", r"write the name of a statement after lee2020:"),
        ("", r"the ledger has no statement ''"),
    ],
)
def test_find_names_near_misses(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        ledger.find(text)


def test_select_takes_documents_algorithms_and_statements():
    assert ledger.select("lee2020") == ledger.items("lee2020")
    lines = [item.id for item in ledger.select("ohana2021:alg1")]
    assert lines == [f"ohana2021:alg1.{part}" for part in ("1-3", "4-5", "6-12", "13-15", "16")]
    assert ledger.select("lee2020:Algorithm 1")[0].id == "lee2020:A1-A2"
    assert ledger.select("lee2020:A11") == [ledger.find("lee2020:A11")]
    for text in ("lee2020:no-such-thing", "nobody", "alg1", "lee2020:" + "eq", "lee2020:" + "alg"):
        with pytest.raises(ValueError, match="the ledger has no statement"):
            ledger.select(text)


def test_unknown_document():
    with pytest.raises(ValueError, match="the ledger has no document 'qqqq': choose from lee2020, "):
        ledger.items("qqqq")


def test_source_of_functions_methods_and_instances():
    file, line, source = ledger.source_of("nfa.network.net:forward")
    assert file == "nfa/network/net.py"
    assert (ROOT / file).read_text(encoding="utf-8").splitlines()[line - 1] == source.splitlines()[0]
    assert source.startswith("def forward(")
    assert "return z, h" in source
    assert ledger.source_of("nfa.ledger.entries:Item.paper")[2].startswith("    @property\n    def paper(")
    assert ledger.source_of("nfa.ledger.entries:Item")[2].startswith("@dataclass(frozen=True)\nclass Item:")
    assert "tanh = Activation(" in ledger.source_of("nfa.network.ops:tanh")[2]


@pytest.mark.parametrize(
    "code", ["nfa.nothing:f", "nothing.at.all:f", "nfa.network.ops:nothing", "nfa.network.ops:", ""]
)
def test_source_of_what_is_not_there(code):
    with pytest.raises(ValueError, match=r"there is no (module|')"):
        ledger.source_of(code)


def test_importing_the_ledger_reads_no_file_and_needs_only_the_standard_library():
    probe = (
        "import sys, nfa.ledger as ledger; from nfa.ledger import lookup;"
        "assert lookup._ledger.cache_info().currsize == 0;"
        "assert len(ledger.items()) > 300;"
        "print(sorted({'numpy', 'scipy', 'numba', 'matplotlib', 'pytest'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# --- the fields of an entry ------------------------------------------------------------------------------------

HEAD = '[paper.lee2020]\ntitle = "t"\nauthors = ["a"]\nversion = "v"\ntexts = []\ncaveats = []\n'
GOOD = {
    "id": '"lee2020:eq1"',
    "kind": '"equation"',
    "where": '"section 3"',
    "verdict": '"false"',
    "claims": '"1 = 2"',
    "right": '"1 = 1"',
    "use": '"Take 1."',
    "number": '"0"',
    "check": '"look"',
    "code": '["nfa.network.net:forward"]',
}


def toml(**changes):
    """A file with one correct item. The arguments replace its fields; an argument of None removes the field."""
    fields = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return HEAD + "[[item]]\n" + "\n".join(f"{key} = {value}" for key, value in fields.items())


def read(text):
    """The headers and items of a file. Raises ValueError with the first fault if the file has a fault."""
    headers, items = parse(text)
    for fault in (*rules.faults_of_headers(headers), *rules.faults_of_entries(items)):
        raise ValueError(fault)
    return headers, items


def test_every_entry_follows_the_rules():
    assert rules.faults_of_headers(map(ledger.header, ledger.papers())) == []
    assert rules.faults_of_entries(ledger.items()) == []


PENDING = dict.fromkeys(("claims", "right", "use", "number", "check", "code")) | {"verdict": '"pending"'}


def test_a_good_entry_reads():
    (header,), (item,) = parse(toml(aliases='["lee2020:no-such-alias"]'))
    assert header.paper == item.paper == "lee2020"
    assert item.code == ("nfa.network.net:forward",)
    assert item.anchors == ()
    anchored = parse(toml(code='["nfa.x:f @ p = e @ B.T", "nfa.x:g", "nfa.x:f @ a ... b"]'))[1][0]
    assert anchored.code == ("nfa.x:f", "nfa.x:g")
    assert anchored.anchors_of("nfa.x:f") == ("p = e @ B.T", "a ... b")
    assert anchored.anchors_of("nfa.x:g") == ()
    assert item.certificate == ""
    assert read(toml(certificate='"certificates/eq1.py"'))[1][0].certificate == "certificates/eq1.py"
    assert read(toml(**PENDING))[1][0].verdict == "pending"
    not_executable = toml(
        verdict='"not-executable"', reason='"a comic"', right=None, use=None, number=None, check=None, code=None
    )
    assert read(not_executable)[1][0].reason == "a comic"
    assert read(toml(verdict='"holds"', right=None, use=None, number=None, check=None))[1][0].verdict == "holds"


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"id": '"eq1"'}, r"an id must be paper:name, .*, got 'eq1'"),
        ({"id": None}, r"an id must be paper:name, .*, got ''"),
        ({"id": '"no2001b:eq1"'}, r"a paper is lower-case letters and four digits, got 'no2001b:eq1'"),
        ({"id": '"ohana2021:eq1"'}, r"ohana2021:eq1: the file of this statement has no \[paper.ohana2021\] table"),
        ({"clams": '"x"'}, r"lee2020:eq1: there is no field 'clams'"),
        ({"tests": '["x"]'}, r"lee2020:eq1: there is no field 'tests'"),
        ({"claims": "3"}, r"lee2020:eq1: claims must be a string, got 3"),
        ({"code": '"nfa.network.net:forward"'}, r"lee2020:eq1: code must be a list of strings"),
        ({"terms": '[["x"]]'}, r"lee2020:eq1: terms must be pairs of strings, of the formula and of the code, got"),
        ({"terms": '[["no such", "x"]]'}, r"lee2020:eq1: the term 'no such' is neither in print nor in its claims"),
        (
            {"claims": "'$a \\\\\\\\ b$'", "terms": "[['$a \\\\\\\\ b$', 'x']]"},
            r"lee2020:eq1: the term .* must be one piece of a line, with both",
        ),
        ({"printed": '["x", " "]'}, r"lee2020:eq1: a formula of printed is empty"),
        ({"printed": '"x"'}, r"lee2020:eq1: printed must be a list of strings, got"),
        (PENDING | {"printed": '["x"]'}, r"but printed is filled"),
        ({"code": '["nfa.x:f @  "]'}, r"lee2020:eq1: after the @ of nfa.x:f stands a text of the line that is the"),
        ({"code": '["numpy:dot"]'}, r"lee2020:eq1: code must be module:object inside nfa, got 'numpy:dot'"),
        ({"kind": '"opinion"'}, r"lee2020:eq1: kind must be one of algorithm, .*, got 'opinion'"),
        ({"kind": None}, r"lee2020:eq1: kind must be one of .*, got ''"),
        ({"verdict": '"true"'}, r"lee2020:eq1: verdict must be one of holds, .*, got 'true'"),
        ({"verdict": None}, r"lee2020:eq1: verdict must be one of .*, got ''"),
        ({"where": None}, r"lee2020:eq1: where is missing"),
        ({"where": '" "'}, r"lee2020:eq1: where is missing"),
        ({"aliases": '["ohana2021:eq1"]'}, r"lee2020:eq1: an alias must begin with lee2020:, got 'ohana2021:eq1'"),
        ({"claims": None}, r"lee2020:eq1: claims is missing"),
        ({"code": None}, r"lee2020:eq1: code is missing"),
        ({"right": None}, r"lee2020:eq1: the verdict 'false' needs the field right"),
        ({"use": None}, r"lee2020:eq1: the verdicts .*false.*, and no others, need the field use"),
        ({"verdict": '"holds"'}, r"lee2020:eq1: the verdicts .*, and no others, need the field use"),
        ({"number": '""'}, r"lee2020:eq1: the verdict 'false' needs the field number"),
        ({"check": None}, r"lee2020:eq1: the verdict 'false' needs the field check"),
        ({"verdict": '"conjecture"', "number": None}, r"the verdict 'conjecture' needs the field number"),
        ({"reason": '"x"'}, r"lee2020:eq1: reason belongs to not-executable items"),
        (
            {"verdict": '"not-executable"', "code": None, "use": None},
            r"lee2020:eq1: a not-executable item must give its reason",
        ),
        (
            {"verdict": '"not-executable"', "reason": '"x"', "use": None},
            r"lee2020:eq1: a not-executable item has no code",
        ),
        (PENDING | {"claims": '"x"'}, r"lee2020:eq1: a pending item has only a kind and a place, but claims is filled"),
        (PENDING | {"code": '["nfa.network.ops:softmax"]'}, r"but code is filled"),
        (PENDING | {"tutorial": '"x"'}, r"but tutorial is filled"),
        ({"verdict": '"ours"'}, r"lee2020:eq1: the verdict of what is ours, and of that alone, is 'ours'"),
        ({"reviewed": "false"}, r"lee2020:eq1: what is ours, and nothing else, says whether it is reviewed"),
        ({"reviewed": '"no"'}, r"lee2020:eq1: reviewed must be true or false, got 'no'"),
        (PENDING | {"certificate": '"certificates/eq1.py"'}, r"but certificate is filled"),
        ({"certificate": '"certificates/eq1.py"', "uncertified": '"x"'}, r"has a certificate and says why it has none"),
        ({"code": '["nfa.x:f @ a"]', "no_line": '"x"'}, r"lee2020:eq1: it has an anchor and says why it has none"),
        ({"certificate": '"eq1.py"'}, r"eq1: certificate must be certificates/NAME.py in the folder .*'eq1.py'"),
        ({"certificate": '"certificates/../eq1.py"'}, r"lee2020:eq1: certificate must be certificates/NAME.py"),
        (
            {"certificate": '"certificates/eq1.py"', "verdict": '"holds"', "use": None},
            r"a certificate refutes, and this item holds",
        ),
        (
            {
                "certificate": '"certificates/eq1.py"',
                "verdict": '"not-executable"',
                "code": None,
                "reason": '"x"',
                "use": None,
            },
            r"a not-executable item has no certificate",
        ),
    ],
)
def test_a_bad_entry_is_named(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(toml(**changes))


def test_what_is_ours_says_so_whether_it_is_reviewed_and_its_number():
    text = files("nfa").joinpath("papers", "ours", "statements.toml").read_text(encoding="utf-8")
    assert all(item.verdict == "ours" and item.reviewed is False for item in ledger.items("ours"))
    for line, sentence in (
        ("reviewed = false\n", "what is ours, and nothing else, says whether it is reviewed"),
        ('verdict = "ours"\n', "verdict must be one of"),
        ('check = "pytest --eq ours:dfa-sensitivity"\n', "the verdict 'ours' needs the field check"),
    ):
        with pytest.raises(ValueError, match=f"ours:dfa-sensitivity: {sentence}"):
            read(text.replace(line, "", 1))


def test_what_is_ours_may_have_the_name_of_a_statement_of_a_document():
    """Our own statement may have the name of a document's statement.

    For example, an alias `ohana2021:...` finds our correction, but the correction is not listed under ohana2021.
    """
    for item in ledger.items("ours"):
        assert all(alias.partition(":")[0] in ("ours", *ledger.documents()) for alias in item.aliases)
    assert ledger.find("ohana2021:prop3-corrected").id == "ours:column-bound"
    assert ledger.find("ohana2021:prop3-corrected") not in ledger.items("ohana2021")


def test_a_bad_file_or_header_is_named():
    with pytest.raises(ValueError, match=r"only .* tables, got 'items'"):
        parse("[items]")
    with pytest.raises(ValueError, match=r"\[paper.lee2020\]: the field 'caveats' is missing"):
        parse(HEAD.replace("caveats = []\n", ""))
    with pytest.raises(ValueError, match="must be 64 hex digits, got 'abc'"):
        read(HEAD.replace("texts = []", 'texts = [{ name = "text", sha256 = "abc" }]'))
    for wrong in ("texts = 1", "texts = [1]", 'texts = [{ name = "text" }]', 'texts = [{ name = "text", sha256 = 1 }]'):
        with pytest.raises(ValueError, match=r"texts must be a list of \{name, sha256\} with strings, got"):
            parse(HEAD.replace("texts = []", wrong))
    with pytest.raises(ValueError, match="caveats must be a list of strings, got 'none'"):
        parse(HEAD.replace("caveats = []", 'caveats = "none"'))
    with pytest.raises(ValueError, match=r"order must be a whole number, got 1\.5"):
        read(HEAD + "order = 1.5")
    for wrong in ('rerun = "fig1"', "rerun.fig1 = 1", 'rerun.fig1 = "nfa.x"'):
        with pytest.raises(ValueError, match="rerun must be a table of statements, each with its module:object, got"):
            read(HEAD + wrong)
    with pytest.raises(ValueError, match=r"\[paper.lee2020\] fig2 is in repaired, and not in rerun"):
        read(HEAD + 'repaired.fig2 = "nfa.x:Y"')
    with pytest.raises(ValueError, match=r"an experiment or audit must be module:object inside nfa, got 'my\.x:X'"):
        read(HEAD + 'audits = ["my.x:X"]')
    with pytest.raises(ValueError, match="version must be a string, got 1"):
        parse(re.sub("version = .*", "version = 1", HEAD))


@pytest.mark.parametrize(
    "text", ["paper = 1", "paper = [1]", "[paper]\nlee2020 = 1", "item = 3", "item = [1]", "[item]"]
)
def test_what_is_no_table_is_named(text):
    with pytest.raises(ValueError, match=r"must be tables \["):
        parse(text)


def test_lists_within_lists_without_end_are_refused():
    with pytest.raises(ValueError, match="the lists in a ledger file are nested too deeply"):
        parse("paper = " + "[" * 20_000)


def test_a_name_used_twice_is_named():
    one = parse(toml(aliases='["lee2020:no-such-x"]'))[1]
    for other in (
        toml(),
        toml(id='"lee2020:no-such-x"'),
        toml(id='"lee2020:no-such-y"', aliases='["lee2020:no-such-x"]'),
    ):
        with pytest.raises(ValueError, match="names two statements: lee2020:eq1 and lee2020:"):
            check_names(one + parse(other)[1])


def test_a_name_used_twice_stops_the_ledger(monkeypatch):
    one = toml()
    sentence = refusal(monkeypatch, files_of(one) | {"nfa/ledger/external.toml": one})
    assert sentence.startswith("lee2020:eq1 names two statements")


# --- the ledger and the tree -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cited_and_stray():
    return rules.cited_in(ROOT)


@pytest.fixture(scope="module")
def cited(cited_and_stray):
    return cited_and_stray[0]


@pytest.fixture(scope="module")
def marked():
    return tests_json.scan(ROOT)


def test_citations_belong_to_objects(cited_and_stray):
    assert cited_and_stray[1] == []


def test_code_entries_import():
    assert rules.code_that_does_not_import(ledger.items()) == []


def test_code_entries_can_be_shown():
    for item in ledger.items():
        for entry in item.code:
            assert ledger.source_of(entry)[2]


@pytest.mark.parametrize("paper", ledger.documents())
def test_what_a_reader_must_know_is_little_and_rests_on_findings(paper):
    """Each document has one to ten texts that a reader must know.

    Each text names at least one statement, and every named statement is a finding. A finding is a statement with a
    verdict other than `holds`.
    """
    essentials = ledger.header(paper).essentials
    assert 1 <= len(essentials) <= 10
    for text in essentials:
        named = [ledger.find(name) for name in re.findall(rf"{paper}:[\w.-]*\w", text)]
        assert named, text
        assert set(named) <= set(ledger.findings(named)), text


def test_anchors_name_lines():
    """The anchors (pieces of code that mark a formula's line) of every statement are found in its code."""
    shown = {item.id: [lines_of(entry, item.anchors_of(entry))[0] for entry in item.code] for item in ledger.items()}
    for item in ledger.items():
        marked = sum(line.marked for lines in shown[item.id] for line in lines)
        assert marked >= len(item.anchors), item.id
    assert sum(bool(item.anchors) for item in ledger.items()) >= 160


def test_terms_stand_in_the_lines_that_are_the_equation():
    with_terms = [item for item in ledger.items() if item.terms]
    assert len(with_terms) >= 150
    for item in with_terms:
        lines = [line for entry in item.code for line in lines_of(entry, item.anchors_of(entry))[0]]
        code = "\n".join(line.text for line in lines if line.marked)
        assert [term for _, term in item.terms if term not in code] == [], item.id


def test_code_entries_cite_their_statement(cited):
    assert rules.code_without_source(ledger.items(), cited) == []


def test_citations_stand_in_the_ledger(cited):
    assert rules.sources_without_code(ledger.items(), cited) == []


def test_marks_name_statements(marked):
    assert rules.marks_of_unknown(ledger.items(), marked) == []


def test_judged_statements_have_tests(marked):
    assert rules.too_few_tests(ledger.items(), marked) == []


def test_tutorials_exist():
    assert rules.tutorials_that_miss(ledger.items(), ROOT) == []


def test_no_unknown_id_anywhere():
    assert rules.unknown_ids(ledger.items(), ROOT) == []


def test_items_know_their_tests(marked):
    """The tests of an item equal those that a scan of all marks finds. An item parses only files with its id."""
    for item in ledger.items():
        names = (item.id, *item.aliases)
        assert item.tests == tuple(sorted({test for name in names for test in marked.get(name, ())})), item.id


def test_an_installed_nfa_reads_what_was_built(tmp_path, monkeypatch):
    built = tmp_path / "tests.json"
    built.write_text('{"lee2020:A1": ["tests/b.py::test_b"], "lee2020:A1-A2": ["tests/a.py::test_a"], "x": []}')
    tests_json._built.cache_clear()
    monkeypatch.setattr(tests_json, "FILE", built)
    try:
        assert ledger.find("lee2020:A1").tests == ("tests/a.py::test_a", "tests/b.py::test_b")
        assert ledger.find("lee2020:eq5").tests == ()
    finally:
        tests_json._built.cache_clear()


# --- an example that breaks each rule -----------------------------------------------------------------------------


def entry(**changes):
    return parse(toml(**changes))[1]


def test_rule_code_without_source():
    items = entry(aliases='["lee2020:no-such-alias"]')
    assert rules.code_without_source(items, {"nfa.network.net:forward": ["lee2020:eq1"]}) == []
    assert rules.code_without_source(items, {"nfa.network.net:forward": ["lee2020:no-such-alias"]}) == []
    finding = "lee2020:eq1: nfa.network.net:forward has no line Source: with this id"
    assert rules.code_without_source(items, {"nfa.network.net:forward": ["lee2020:eq2"]}) == [finding]
    assert rules.code_without_source(items, {}) == [finding]


def test_rule_code_that_does_not_import():
    assert rules.code_that_does_not_import(entry(code='["nfa.ledger.entries:Item.paper"]')) == []
    missing = entry(code='["nfa.ledger.entries:Nothing", "nfa.no_such_module:f"]')
    assert [f.split(":")[0] for f in rules.code_that_does_not_import(missing)] == [
        "nfa.ledger.entries",
        "nfa.no_such_module",
    ]


def test_rule_sources_without_code():
    cited = {"nfa.network.net:forward": ["lee2020:eq1"]}
    assert rules.sources_without_code(entry(), cited) == []
    assert rules.sources_without_code(entry(**PENDING), cited) == []
    other = {"nfa.network.net:other": ["lee2020:eq1"]}
    assert rules.sources_without_code(entry(), other) == [
        "lee2020:eq1: nfa.network.net:other cites it, but is not in its code"
    ]
    assert rules.sources_without_code(entry(**PENDING), other) == []
    unknown = {"nfa.network.net:other": ["lee2020:no-such-id"]}
    assert rules.sources_without_code(entry(), unknown) == [
        "nfa.network.net:other: Source: [lee2020:no-such-id] is not in the ledger"
    ]


def test_rule_marks_and_tests():
    items = entry(aliases='["lee2020:no-such-alias"]')  # a false statement needs two tests
    two = {"lee2020:eq1": ["tests/test_x.py::test_a"], "lee2020:no-such-alias": ["tests/test_x.py::test_b"]}
    assert rules.marks_of_unknown(items, two) == []
    assert rules.too_few_tests(items, two) == []
    same = {name: ["tests/test_x.py::test_a"] for name in two}
    assert rules.too_few_tests(items, same) == ["lee2020:eq1 (false): 1 tests verify it, 2 needed"]
    holds = entry(verdict='"holds"', use=None)
    assert rules.too_few_tests(holds, {"lee2020:eq1": ["tests/test_x.py::test_a"]}) == []
    assert rules.too_few_tests(holds, {}) == ["lee2020:eq1 (holds): 0 tests verify it, 1 needed"]
    assert rules.too_few_tests(entry(**PENDING), {}) == []
    assert rules.marks_of_unknown(items, {"lee2020:no-such-id": ["tests/test_x.py::test_a"]}) == [
        "tests/test_x.py::test_a: verifies('lee2020:no-such-id') is not in the ledger"
    ]


def test_rule_tutorials(tmp_path):
    items = entry(tutorial='"tutorials/01_dfa.py"')
    assert rules.tutorials_that_miss(items, tmp_path) == ["lee2020:eq1: no file tutorials/01_dfa.py"]
    (tmp_path / "tutorials").mkdir()
    (tmp_path / "tutorials" / "01_dfa.py").touch()
    assert rules.tutorials_that_miss(items, tmp_path) == [
        "lee2020:eq1: no line # (shown-lee2020-eq1)= in tutorials/01_dfa.py"
    ]
    (tmp_path / "tutorials" / "01_dfa.py").write_text("#\n# (shown-lee2020-eq1)=\n\n# %%\n")
    assert rules.tutorials_that_miss(items, tmp_path) == []
    (tmp_path / "tutorials" / "01_dfa.py").write_text("")
    assert (
        rules.tutorials_that_miss(entry(verdict='"holds"', use=None, tutorial='"tutorials/01_dfa.py"'), tmp_path) == []
    )


def test_rule_unknown_ids(tmp_path):
    wrong = "lee2020:" + "eq99"
    (tmp_path / "a.md").write_text(f"See lee2020:eq1. And lee2020:Equation 1: right.\nBut {wrong}?\n")
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "b.py").write_text(f"# [{wrong}] lee2020:eq55\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_b.py").write_text(f"# lee2020:no-such-one, lee2020:eq55\n# {wrong}\n")
    (tmp_path / "c.toml").write_text("doi = 'other2020:eq5'\ncode = ['nfa.papers.lee2020.epsilons:some_function']")
    for folder in (".venv", "build", "x.egg-info", "runs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.md").write_text(wrong)
    assert rules.unknown_ids(entry(), tmp_path) == [
        f"a.md:2: {wrong} is not in the ledger",
        f"nested/b.py:1: {wrong} is not in the ledger",
        "nested/b.py:1: lee2020:eq55 is not in the ledger",
        f"tests/test_b.py:2: {wrong} is not in the ledger",
    ]


SOURCE = '''"""A module.

Source: [lee2020:eq1]
"""

# The one above, and more.
# Source: [lee2020:softmax] [lee2020:ce]
tanh = 1

x = 2
"""Source: [lee2020:fn1]"""


class Rule:
    """Source: [lee2020:eq2]
    [lee2020:eq3]
    """

    @property
    def method(self):
        """Words.

        Source: [lee2020:eq4]
        """
        # Source: nothing in brackets


if True:
    pass  # Source: [lee2020:eq5]
'''


def test_citations_are_read_where_they_stand(tmp_path):
    cited, stray = rules.citations(SOURCE)
    assert cited == {
        "": ["lee2020:eq1"],
        "tanh": ["lee2020:softmax", "lee2020:ce"],
        "x": ["lee2020:fn1"],
        "Rule": ["lee2020:eq2", "lee2020:eq3"],
        "Rule.method": ["lee2020:eq4"],
    }
    assert stray == ["lee2020:eq5"]
    assert rules.defined(SOURCE) == ["tanh", "x", "Rule", "Rule.method"]
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").write_text('"""Source: [lee2020:eq1]"""\n')
    (tmp_path / "kernels" / "conv.py").write_text(SOURCE)
    found, loose = rules.cited_in(tmp_path)
    assert found["nfa.kernels:"] == ["lee2020:eq1"]
    assert found["nfa.kernels.conv:Rule.method"] == ["lee2020:eq4"]
    assert loose == ["kernels/conv.py: [lee2020:eq5] stands in no object's docstring or comment"]


# --- the marks of tests ----------------------------------------------------------------------------------------

MARKED = """
import pytest
pytestmark = [pytest.mark.slow, pytest.mark.verifies("lee2020:eq1")]

@pytest.mark.verifies("lee2020:eq2", "lee2020:A1")
@pytest.mark.verifies("lee2020:A2")
@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.verifies("lee2020:eq3"))])
def test_function(k):
    def test_inside():
        pass

@pytest.mark.verifies("lee2020:eq4")
class TestClass:
    pytestmark = pytest.mark.verifies("lee2020:eq5")

    @pytest.mark.verifies("lee2020:softmax")
    def test_method(self):
        pass

    class TestNested:
        def test_deep(self):
            pass

    def helper(self):
        pass

def test_plain():
    pass
"""


def tree(folder, text):
    (folder / "tests").mkdir()
    (folder / "tests" / "test_some.py").write_text(text)
    return folder


def test_marks_are_read_from_functions_classes_modules_and_parameters(tmp_path):
    function, method, deep, plain = (
        f"tests/test_some.py::{name}"
        for name in ("test_function", "TestClass::test_method", "TestClass::TestNested::test_deep", "test_plain")
    )
    marked = tests_json.scan(tree(tmp_path, MARKED))
    assert marked == {
        "lee2020:eq1": [function, method, deep, plain],
        "lee2020:eq2": [function],
        "lee2020:A1": [function],
        "lee2020:A2": [function],
        "lee2020:eq3": [function],
        "lee2020:eq4": [method, deep],
        "lee2020:eq5": [method, deep],
        "lee2020:softmax": [method],
    }


def test_marks_agree_with_what_pytest_sees(tmp_path):
    """The marks that nfa reads from the files agree with the marks that pytest finds, apart from parameters."""
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    (tree(tmp_path, MARKED) / "tests" / "conftest.py").write_text(conftest)
    options = "[pytest]\nmarkers =\n    slow: x\n"
    (tmp_path / "pytest.ini").write_text(options)
    marked = tests_json.scan(tmp_path)
    names = ("lee2020:eq1", "lee2020:eq3", "lee2020:A2", "lee2020:eq5")
    for name, run in zip(
        names, pytest_runs(tmp_path, *(("--collect-only", "-q", "--eq", n) for n in names)), strict=True
    ):
        seen = {line.partition("[")[0] for line in run.stdout.splitlines() if "::" in line}
        assert seen == set(marked[name])


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("ID = 'x'\n@pytest.mark.verifies(ID)\ndef test_a(): pass", "test_a.*|must be ids as plain strings"),
        ("mark = pytest.mark.verifies('lee2020:eq1')\n@mark\ndef test_a(): pass", r"test_some.py:2: put verifies"),
        ("@pytest.mark.verifies('lee2020:eq1')\ndef helper(): pass", r"test_some.py:2: put verifies"),
    ],
)
def test_marks_that_cannot_be_read_are_named(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        tests_json.scan(tree(tmp_path, "import pytest\n" + text))


# --- pytest's own options --------------------------------------------------------------------------------------


PYTESTS = """
import contextlib, io, json, sys
import pytest

def run(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = pytest.main(arguments)
    return int(code), out.getvalue(), err.getvalue()

found = [run(arguments) for arguments in json.loads(sys.argv[1])]
print(json.dumps(found))
"""


def pytest_runs(folder, *commands):
    """Run pytest several times in one new process, and return the results. Each call is a tuple of arguments."""
    ours = ["-p", "no:cacheprovider", f"--rootdir={folder}"]
    calls = json.dumps([[*ours, *arguments, str(folder)] for arguments in commands])
    done = subprocess.run(
        [sys.executable, "-c", PYTESTS, calls],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [subprocess.CompletedProcess(a, *one) for a, one in zip(commands, json.loads(done.stdout), strict=True)]


VERIFIED = {
    ("lee2020:eq1",): ["test_eq1"],
    ("lee2020:A2",): ["test_line"],
    ("lee2020:Algorithm 1",): ["test_line"],
    ("lee2020",): ["test_eq1", "test_line"],
    ("lee2020:eq1", "lee2020:A1-A2"): ["test_eq1", "test_line"],
}
NOTHING = {
    "lee2020:no-such-thing": "ERROR: --eq: the ledger has no statement 'lee2020:no-such-thing'",
    "lee2020:softmax": "ERROR: --eq: no test verifies lee2020:softmax\n",
    "lee2020:eq2": "ERROR: --eq: no test verifies lee2020:eq2, which is not judged yet\n",
}
WITH_SKIPS, NO_SKIPS, WITHOUT = (), ("--no-skips",), ("--no-skips", "-k", "eq1", "--ignore=test_two.py")


def eq(*names):
    return ("-v", "--ignore=test_two.py", *(f"--eq={name}" for name in names))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The results of pytest in a small suite, by arguments.

    One process makes all calls, because starting a process takes most of the time.
    """
    folder = tmp_path_factory.mktemp("suite")
    unjudged = (  # the first statement counts as not judged yet, for any ledger
        "\n\nfrom dataclasses import replace\n"
        "judged = ledger.select\n"
        "def select(text):\n"
        "    found = judged(text)\n"
        "    return [replace(i, verdict='pending') for i in found] if text == 'lee2020:eq2' else found\n"
        "ledger.select = select\n"
    )
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8") + unjudged)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_one.py").write_text(
        "import pytest\n"
        "@pytest.mark.verifies('lee2020:eq1')\ndef test_eq1(): pass\n"
        "@pytest.mark.verifies('lee2020:A1')\ndef test_line(): pass\n"
        "@pytest.mark.xfail(reason='known')\ndef test_known(): assert False\n"
    )
    (folder / "test_two.py").write_text("import pytest\npytest.importorskip('no_such_module', reason='not here')\n")
    (folder / "test_three.py").write_text("import pytest\ndef test_skips(): pytest.skip('no data')\n")
    calls = [*(eq(*names) for names in VERIFIED), *map(eq, NOTHING), WITH_SKIPS, NO_SKIPS, WITHOUT]
    return dict(zip(calls, pytest_runs(folder, *calls), strict=True))


@pytest.mark.parametrize("names, passed", VERIFIED.items())
def test_eq_runs_what_verifies_a_statement(told, names, passed):
    run = told[eq(*names)]
    assert run.returncode == 0
    assert [line.split("::")[1].split()[0] for line in run.stdout.splitlines() if "PASSED" in line] == passed


@pytest.mark.parametrize("name, sentence", NOTHING.items())
def test_eq_that_runs_nothing_says_so(told, name, sentence):
    run = told[eq(name)]
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr


def test_what_is_nightly_is_slow_too(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --strict-markers\nmarkers =\n    slow: x\n    nightly: x\n"
    )
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_quick(): pass\n"
        "@pytest.mark.nightly\ndef test_search(): pass\n"
        "@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.nightly)])\ndef test_size(n): pass\n"
    )
    (run,) = pytest_runs(tmp_path, ("--collect-only", "-q", "-m", "not slow"))
    assert [line.split("::")[1] for line in run.stdout.splitlines() if "::" in line] == ["test_quick", "test_size[1]"]


def test_each_worker_begins_with_its_share_of_the_slow_tests(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: x\n    nightly: x\n")
    (tmp_path / "test_some.py").write_text(
        "import time\nimport pytest\n"
        "@pytest.mark.parametrize('n', range(9))\ndef test_quick(n): pass\n"
        "@pytest.mark.slow\n@pytest.mark.parametrize('n', range(4))\ndef test_long(n): time.sleep(0.2)\n"
        "@pytest.mark.nightly\ndef test_search(): pass\n"
    )
    (run,) = pytest_runs(tmp_path, ("-v", "-n", "2", "--dist", "worksteal", "-m", "not nightly"))
    ran = re.findall(r"^\[(gw\d)\].* PASSED test_some.py::(\w+)", run.stdout, re.MULTILINE)
    assert len(ran) == 13, run.stdout
    for worker in ("gw0", "gw1"):
        assert [test for who, test in ran if who == worker][:2] == ["test_long"] * 2


def test_with_once_only_what_did_not_pass_is_run_again(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('text', ['a b', 'line\\n', 'ü\\x85\\u2028'])\ndef test_passes(text): pass\n"
        "def test_skips(): pytest.skip('no data')\n"
        "def test_fails(): assert False\n"
        "@pytest.mark.xfail(reason='known')\ndef test_known(): assert False\n"
        "@pytest.fixture\ndef broken():\n    yield\n    assert False\n"
        "def test_fails_at_its_end(broken): pass\n"
    )
    once = ("-v", "--once=passed.txt")
    every, again, third = pytest_runs(tmp_path, (*once, "-n", "2"), once, once)
    assert "3 passed" not in again.stdout + third.stdout
    assert "4 passed" in every.stdout
    for run in (again, third):
        assert "3 deselected" in run.stdout
        assert set(re.findall(r"::(\w+)", run.stdout)) == {
            "test_skips", "test_fails", "test_known", "test_fails_at_its_end"
        }  # fmt: skip


def test_no_skips_fails_on_skipped_tests_and_modules(told):
    assert told[WITH_SKIPS].returncode == told[WITHOUT].returncode == 0
    run = told[NO_SKIPS]
    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "test_two.py: not here" in run.stdout
    assert "test_three.py::test_skips: no data" in run.stdout
    assert "test_known" not in run.stdout.partition("skipped, which --no-skips does not allow")[2]
