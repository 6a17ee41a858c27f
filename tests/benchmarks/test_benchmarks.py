"""The benchmarks at tiny size: what is timed computes the same directions, and the record has its form. No times."""

import json
import math

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed: pip install numba")
pytestmark = [pytest.mark.slow, pytest.mark.peers]


@pytest.fixture(scope="module")
def package():
    """The benchmarks, which import the kernels."""
    from tests.benchmarks import floors, ours, peers, report, targets, timing

    names = {"floors": floors, "ours": ours, "peers": peers, "report": report, "targets": targets, "timing": timing}
    return type("Benchmarks", (), names)


def problem(package, name):
    return (
        package.ours.Problem("mlp", 6, (20, 16, 12, 10))
        if name == "mlp"
        else package.ours.Problem("cnn", 3, image=(1, 8, 8))
    )


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_peers_compute_our_directions(package, name, library):
    """To 1e-5 of the largest entry, in float32; Opacus divides by the norm plus 1e-6 where it clips."""
    one = problem(package, name)
    mine = {key: package.ours.direction(one, rule) for key, rule in package.ours.rules(one, sigma=0).items()}
    norms = [math.sqrt(sum(float(np.square(p).sum()) for p in mine[key])) for key in ("bp", "dp_sgd")]
    assert norms[1] < 0.9 * norms[0]  # clipping does something
    pytest.importorskip(library, reason=f"{library} is not installed: make bench installs it")
    compared = set()
    for peer, (build, twin, libraries) in package.peers.PEERS.items():
        if library not in libraries or not package.peers.installed(*libraries):
            continue
        theirs = build(one).direction()
        assert len(theirs) == len(mine[twin])
        for got, want in zip(theirs, mine[twin], strict=True):
            np.testing.assert_allclose(got.reshape(want.shape), want, rtol=0, atol=1e-5 * float(np.abs(want).max()))
        compared.add(peer)
    assert f"{library} bp" in compared


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_our_steps_take_the_direction_with_noise(package, name):
    """A step moves the parameters by lr times what the rule gives, and the noise is there with its std."""
    one = problem(package, name)
    quiet, noisy = package.ours.rules(one, sigma=0), package.ours.rules(one, sigma=0.5)
    for key in set(quiet) - {"bp", "dfa", "photonic"}:
        pairs = zip(package.ours.direction(one, noisy[key]), package.ours.direction(one, quiet[key]), strict=True)
        added = np.concatenate([(a - b).ravel() for a, b in pairs])
        assert abs(added.std() / 0.5 - 1) < 5 / math.sqrt(
            2 * len(added)
        )  # false alarm 6e-7; misses 10 of these with 1e-6
        step = package.ours.step(one, quiet[key])
        step()
        step()


def test_the_floors_are_products_of_the_step_s_size(package, monkeypatch):
    """Counted: a product of (a, b) and (b, c) has 2 a b c operations. BP: each weight thrice an example, W[1] twice."""
    one, counted = problem(package, "mlp"), []
    monkeypatch.setattr(package.floors.np, "matmul", lambda a, b, out: counted.append((a.shape, b.shape, out.shape)))
    weights = [W.size for W in one.net.W[1:]]
    for backward, want in ((True, 3 * sum(weights) - weights[0]), (False, 2 * sum(weights) + 10 * (16 + 12))):
        counted.clear()
        package.floors.products(one, backward=backward)()
        assert all((a[0], b[1]) == out for a, b, out in counted)
        assert sum(a[0] * a[1] * b[1] for a, b, _ in counted) == 6 * want


def test_the_record_has_its_form(package, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(package.peers, "PEERS", {"torch bp": package.peers.PEERS["torch bp"]})
    package.report.run(["mlp", "normals"], repeats=2, tiny=True, out=tmp_path, threads=None)
    found = json.loads((tmp_path / "bench.json").read_text())
    assert {
        "when",
        "tiny",
        "repeats",
        "keep_memory",
        "load_before",
        "load_after",
        "groups",
        "targets",
        "machine",
    } == set(found)
    assert set(found["groups"]) == {"mlp", "normals"}
    for contenders in found["groups"].values():
        for times in contenders.values():
            assert len(times["wall"]) == len(times["cpu"]) == 2
            assert all(t > 0 for t in times["wall"])
    assert {row["what"] for row in found["targets"]} == {target.what for target in package.targets.TARGETS}
    by = {row["what"]: row for row in found["targets"]}
    photonic = by["photonic step beside our DFA step"]
    mlp = found["groups"]["mlp"]
    want = sum(mlp["photonic"]["wall"]) / sum(mlp["dfa"]["wall"])  # of two rounds the median is the mean
    assert photonic["found"] == pytest.approx(want, rel=1e-12)
    assert photonic["reached"] == (want <= 1.1)
    assert by["import nfa"]["reached"] is None
    assert found["machine"]["versions"]["numpy"] == np.__version__
    assert "not measured" in capsys.readouterr().out
    with pytest.raises(ValueError, match="there is no part 'mpl'; the parts are mlp, cnn"):
        package.report.run(["mpl"], repeats=1, tiny=True, out=tmp_path, threads=None)


def test_growth_is_fitted(package):
    from tests.benchmarks import scaling

    assert scaling.exponent([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2, rel=1e-12)


def test_peaks_see_what_a_step_allocates(package, monkeypatch):
    """A step that fills 64 MiB anew is seen to within 16 MiB."""
    size = 64 << 20
    monkeypatch.setitem(
        package.report.groups.GROUPS, "big", lambda tiny: {"one": lambda: lambda: np.ones(size, np.int8)}
    )
    found = package.report.peak("big", "one", tiny=False)
    assert found is None or abs(found - size) < 16 << 20
