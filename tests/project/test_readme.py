"""Tests of README.md and of the usage page: Python code and commands run, options exist, links lead to a page."""

import ast
import functools
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from inspect import Parameter, signature
from pathlib import Path
from statistics import mean, stdev

import pytest
import yaml
from scipy.stats import t

from nfa.cli import main
from nfa.rules.spec import names, spec
from tests.project.tree import ROOT

README = ROOT / "README.md"
USAGE, STABLE, PUBLIC = (ROOT / "tutorials" / f"{page}.md" for page in ("usage", "stable", "public"))
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
# We do not run commands that need the network. Of commands that take minutes or days, we test only the plan.
LONG = re.compile(r"--scale (small|paper)(?!.*--dry-run)|data fetch")
SET_UP = ("source", "pip")  # these commands make the environment, which the tests already have


def blocks(language, *pages):
    text = "".join(page.read_text(encoding="utf-8") for page in pages or (README, USAGE))
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands():
    """The lines of the sh blocks, each as its list of words. A backslash continues a line, and # begins a comment."""
    lines = "".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def shown(words):
    """The output that a page shows below a block of one command; None if the page shows no output."""
    for typed, printed in re.findall(
        r"^```sh\n((?:(?!^```).)*?)^```\n\n```text\n(.*?)^```$",
        README.read_text(encoding="utf-8") + USAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    ):
        if shlex.split(typed.replace("\\\n", " ")) == words:
            return printed
    return None


def nfa_commands():
    """The words after nfa or .venv/bin/nfa in the commands that call nfa, up to a pipe sign."""
    return [first[1:] for first, *_ in map(piped, commands()) if Path(first[0]).name == "nfa"]


def piped(words):
    """The commands of a line, split at the pipe signs."""
    return [list(one) for bar, one in itertools.groupby(words, "|".__eq__) if not bar]


def nfa(*words, cwd=ROOT, **settings):
    env = {"COLUMNS": "200"} | os.environ | {"NO_COLOR": "1", "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    command = [sys.executable, "-m", "nfa", *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, **settings)


def test_the_two_commands_are_targets_of_the_makefile():
    """The two commands that .ci/run reads, from the first sh block after the marker, are targets of the Makefile."""
    after = README.read_text(encoding="utf-8").split("<!-- two commands -->")[1]
    commands = re.search(r"^```sh\n(.*?)^```$", after, re.MULTILINE | re.DOTALL)[1].split("\n")
    assert commands == ["make demo", "make test", ""]
    for command in commands[:2]:
        target = command.split()[1]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target


@pytest.mark.slow
@pytest.mark.parametrize("page", [README, USAGE, STABLE, PUBLIC], ids=lambda page: page.stem)
def test_python_blocks_run_in_order(page, tmp_path):
    """The Python blocks run in one namespace, in order, as if a reader typed them. They run in their own folder.

    README shows what its block prints.
    """
    source = "\n".join(blocks("python", page))
    assert source.strip()
    env = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg", "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if page == README:
        assert done.stdout in blocks("text", README)


def test_commands_and_their_options_exist(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def help_of(*path):
        assert main.main([*path, "--help"]) == 0, path
        return capsys.readouterr().out

    assert nfa_commands()
    overview = help_of()
    for words in nfa_commands():
        path = [word for word in words if re.fullmatch("[a-z]+", word)][: 2 if words[0] in ("course", "data") else 1]
        assert re.search(rf"\b{path[0]}\b", overview), path
        text = help_of(*path)
        for option in (word.split("=")[0] for word in words if word.startswith("--")):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), (words, option)


def test_every_command_is_one_that_these_tests_know():
    for words in commands():
        assert Path(words[0]).name in ("make", "nfa", "python", *SET_UP), words


def test_one_claim_is_checked_in_three_ways():
    """A claim is checked by its entry, its certificate without nfa, and its tests; README shows two of the outputs."""
    lines = [piped(words) for words in commands()]
    (claim,) = {line[-1][-1] for line in lines if line[-1][:3] == ["python", "-m", "pytest"]}
    refuted = ["nfa", "eq", claim, "--certificate"], ["python", "-I", "-S", "-"]
    assert list(refuted) in lines
    for words in (["nfa", "eq", claim], [*refuted[0], "|", *refuted[1]]):
        assert shown(words), words


@pytest.mark.slow
def test_commands_run_as_written(tmp_path, monkeypatch, data_home):
    """The commands run in one folder and in order, so a command may use earlier files.

    `.ci/run` tests make's targets.
    """
    monkeypatch.setenv("NFA_DATA_HOME", str(data_home))  # an absolute path, because the commands run in another folder
    for words in commands():
        if words[0] in ("make", *SET_UP) or LONG.search(" ".join(words)):
            continue
        printed, typed = shown(words), None
        monkeypatch.setenv("COLUMNS", "80" if printed else "200")
        for name, *given in piped(words):
            if Path(name).name == "nfa":
                done = nfa(*given, cwd=tmp_path)
            else:
                run = functools.partial(subprocess.run, cwd=ROOT, capture_output=True, text=True)
                done = run([sys.executable, *given], input=typed)
            assert done.returncode == 0, (words, done.stdout, done.stderr)
            typed = done.stdout
        assert printed is None or printed in done.stdout + done.stderr


def test_what_stays_is_documented():
    """Each name that the page promises has a docstring, and the rules have the promised form."""
    (source,) = blocks("python", STABLE)
    promised = {}
    exec(compile(source, STABLE.name, "exec"), promised)
    named = {word.strip() for line in source.splitlines() for word in line.split(" import ")[1].split(",")}
    assert len(named) > 40
    assert [name for name in named if not promised[name].__doc__] == []
    for name in names():
        first = list(signature(spec(name).function).parameters.values())
        assert [one.name for one in first[:3]] == ["net", "x", "y"], name
        assert {one.kind for one in first[3:]} <= {Parameter.KEYWORD_ONLY}, name


def test_the_table_at_equal_epsilon_is_that_of_the_records():
    """The table at equal epsilon has the records' means and Student's 95 % intervals of three seeds, rounded once."""
    table = re.findall(
        r"^\| (.*?) \| ([\d.]+ ± .*?) \| (.*?) \| (.*?) \|", README.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [row[0] for row in table] == list(EQUAL_EPSILON)
    for name, *cells in table:
        for epsilon, cell in zip((1, 3, 8), cells, strict=True):
            mean, interval = of_seeds("fashion-mnist", EQUAL_EPSILON[name], epsilon)
            assert cell == f"{mean:.1f} ± {interval:.1f}", (name, epsilon)


@pytest.mark.parametrize("data, less", [("fashion-mnist", "1.20, 1.49 and 1.05"), ("mnist", "0.77, 1.75 and 1.20")])
def test_how_much_less_accurate_feedback_alignment_is(data, less):
    gaps = [of_seeds(data, "dp-sgd", e)[0] - of_seeds(data, "joint-dfa", e)[0] for e in (1, 3, 8)]
    assert less == "{:.2f}, {:.2f} and {:.2f}".format(*gaps)
    assert less in README.read_text(encoding="utf-8")


EQUAL_EPSILON = {
    "DP-SGD": "dp-sgd",
    "DFA, joint clip, by matrices": "joint-dfa",
    "DFA, joint clip, by light: ternary errors, shot noise": "joint-pdfa",
    "softmax regression, noise in the gradient (berthier2019)": "gradient",
    "DP-DFA with the corrected sensitivity (lee2020)": "dp-dfa",
    "corrected DP-ULR (dpulr2024)": "dp-ulr",
    "repaired PDFA (ohana2021)": "pdfa",
}  # the rows of README's table and the cells of the records
LEVEL = 0.95  # level of Student's intervals


def of_seeds(data, cell, epsilon):
    """Mean and 95 % interval of the test accuracies in percent."""
    files = sorted((ROOT / "results" / "ours-equal-epsilon-paper").glob(f"{data}-{cell}-epsilon{epsilon}-seed*.json"))
    found = [100 * json.loads(file.read_text(encoding="utf-8"))["test_accuracy"] for file in files]
    assert len(found) == 3
    return mean(found), t.ppf((1 + LEVEL) / 2, 2) * stdev(found) / 3**0.5


@pytest.mark.posix("asks make")
def test_nox_and_the_forges_workflow_do_what_make_does():
    """The sessions of nox have the descriptions of make's targets.

    The workflow of the forge calls existing commands.
    """
    makefile = (ROOT / "Makefile").read_text()
    sessions = {one.name: one for one in ast.parse((ROOT / "noxfile.py").read_text()).body if hasattr(one, "name")}
    assert set(sessions) == {"demo", "test"}
    for name, body in sessions.items():
        words = {node.value for node in ast.walk(body) if isinstance(node, ast.Constant)}
        # We leave out the variables that a make process sets, because make may run these tests.
        env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "PYTEST"))}
        typed = ["make", "-n", "-B", name]
        done = subprocess.run(typed, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        told = shlex.split(done.stdout.splitlines()[-1])
        assert set(told[told.index("-m") :]) <= words, name
    called = re.findall(r"run: (make|pipx run nox -s) ([a-z-]+)$", WORKFLOW.read_text(), re.MULTILINE)
    assert len(called) == len(re.findall(r"- run: ", WORKFLOW.read_text())) == 3
    for how, what in called:
        assert what in sessions if "nox" in how else re.search(rf"^{what}:", makefile, re.MULTILINE), what


@pytest.mark.posix("asks make")
def test_make_says_first_what_a_command_does_and_how_long_it_takes():
    """Before it installs anything, make prints the target's description and time, as in its list of targets."""
    targets = dict(re.findall(r"^([a-z-]+):.*  ## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in ("demo", "test", "site"):
        assert re.search(r"\(about \w+ minutes on two idle cores\b.*\)$", targets[name]), name
        env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "PYTEST"))}
        run = functools.partial(subprocess.run, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        first = run(["make", "-n", "-B", name]).stdout.splitlines()[0]
        assert run(first, shell=True).stdout == f"make {name}: {targets[name]}\n"


def test_the_workflow_publishes_the_site():
    """The workflow publishes main's site on the forge's pages, and the site's archive in each tag's release."""
    workflow = yaml.safe_load(WORKFLOW.read_text())
    jobs = workflow["jobs"]
    assert workflow[True]["push"] == {"branches": ["main"], "tags": ["v*"]}  # YAML reads `on` as a truth value
    assert workflow["permissions"] == {"contents": "read"}
    checks = [name for name in jobs if name not in ("pages", "release")]
    assert jobs["pages"]["needs"] == jobs["release"]["needs"] == checks
    assert jobs["pages"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert jobs["release"]["permissions"] == {"contents": "write"}
    assert [job.get("if") for job in jobs.values()] == [
        *(None for _ in checks),
        "github.ref == 'refs/heads/main'",
        "startsWith(github.ref, 'refs/tags/v')",
    ]
    for step in (step for job in jobs.values() for step in job["steps"] if "uses" in step):
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step
    kept = {step["with"]["path"] for step in jobs["site"]["steps"] if "upload" in step.get("uses", "")}
    assert kept == {"dist/site.zip", "build/site"}
    assert "-b html -d build/doctrees -c tutorials/site tutorials build/site\n" in (ROOT / "Makefile").read_text()
    assert ' / "dist" / "site.zip"' in (ROOT / "tutorials" / "site" / "archive.py").read_text()
    assert "site.zip" in jobs["release"]["steps"][-1]["run"]


def test_links_lead_to_files():
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"", README.read_text(encoding="utf-8"))
    for target in filter(None, (first or second for first, second in targets)):
        if "://" not in target:
            assert (ROOT / target).exists(), target
