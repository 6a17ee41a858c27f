"""Tests of tests/project/cores.py: features that are off for a core, and the failure if a core is not available."""

import pytest

from tests.project import cores

FOUND = ("X86_V3", "X86_V4", "AVX512_ICL")  # NumPy 2.4's names
OLDER = ("AVX", "F16C", "FMA3", "AVX2", "AVX512F", "AVX512_SKX")  # NumPy 2.0's names


@pytest.mark.parametrize(
    "core, found, off",
    [
        ("Nehalem", FOUND, "X86_V3 X86_V4 AVX512_ICL"),
        ("Sandybridge", OLDER, "F16C FMA3 AVX2 AVX512F AVX512_SKX"),
        ("Haswell", FOUND, "X86_V4 AVX512_ICL"),
        ("Zen", OLDER, "AVX512F AVX512_SKX"),
        ("SkylakeX", FOUND, ""),
    ],
)
def test_what_a_core_does_not_have_is_switched_off(core, found, off):
    variables = cores.environment(core, found)
    assert variables["NPY_DISABLE_CPU_FEATURES"] == off
    assert variables["OPENBLAS_CORETYPE"] == core
    assert ("-FMA" in variables.get("GLIBC_TUNABLES", "")) == (core in ("Nehalem", "Sandybridge"))


@pytest.mark.slow
@pytest.mark.parametrize("core", cores.CORES)
def test_numpy_reports_the_core_that_it_is_told(core):
    """OpenBLAS reports the core that the variables name, or Haswell for Zen if it was built without Zen."""
    told, left = cores.reported(cores.environment(core, cores.reported({})[1]))
    assert told == core or (core, told) == ("Zen", "Haswell")
    assert not [name for name in left if name.startswith(cores.CORES[core][1])]


def run(monkeypatch, capsys, tell, failing=()):
    """A function that returns exit code, output and tested cores, if OpenBLAS reports tell(core) for each core."""
    tested = []
    monkeypatch.setattr(cores, "reported", lambda variables: (tell(variables.get("OPENBLAS_CORETYPE")), []))
    monkeypatch.setattr(cores, "tests", lambda variables, words: tested.append((variables, words)) or
                        int(variables["OPENBLAS_CORETYPE"] in failing))  # fmt: skip
    code = cores.main(["--no-skips"])
    assert all(words == ["--no-skips"] for _, words in tested)
    return code, capsys.readouterr().out, [variables["OPENBLAS_CORETYPE"] for variables, _ in tested]


def test_each_kind_is_tested_once(monkeypatch, capsys):
    code, said, tested = run(monkeypatch, capsys, {"Zen": "Haswell", None: None}.get)
    assert code == 1  # fails, because OpenBLAS reports no core
    code, said, tested = run(monkeypatch, capsys, lambda core: "Haswell" if core == "Zen" else core)
    assert (code, tested) == (0, ["Nehalem", "Sandybridge", "Haswell", "SkylakeX"])
    assert "=== SkylakeX: NumPy reports SkylakeX" in said
    assert "Zen is Haswell to this OpenBLAS, which has had its run" in said


@pytest.mark.parametrize("core", ["Nehalem", "SkylakeX"])
def test_a_core_that_fails_fails_the_run(monkeypatch, capsys, core):
    code, said, _ = run(monkeypatch, capsys, lambda core: core, failing=(core,))
    assert code == 1
    assert f"{core}: FAILED" in said


def test_without_avx_512_the_run_fails(monkeypatch, capsys):
    code, said, tested = run(monkeypatch, capsys, lambda core: "Haswell" if core == "SkylakeX" else core)
    assert code == 1
    assert "SkylakeX cannot be tried on this processor" in said
    assert "SkylakeX" not in tested
