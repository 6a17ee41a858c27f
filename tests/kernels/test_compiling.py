"""Tests of the effect that compiling a kernel has on the rest of the process."""

import gc

import pytest

numba = pytest.importorskip("numba", reason="numba is not installed: pip install numba")


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_is_collected_while_numba_compiles(enabled):
    """Python's garbage collector is off while numba compiles, also if numba compiles recursively or fails.

    After the compilation, the collector is again on or off as before.
    """
    from numba.core import event
    from numba.core.errors import TypingError

    from nfa.kernels import functions

    assert functions.loop

    @numba.njit
    def called(x):
        return x + 1

    @numba.njit
    def calling(x):
        return called(x)

    @numba.njit
    def wrong(x):
        return called(x) + "text"

    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with event.install_recorder("numba:compile") as compiled:
            seen = []

            class Seen(event.Listener):
                def on_start(self, event):
                    seen.append(gc.isenabled())

                on_end = on_start

            seeing = Seen()
            event.register("numba:run_pass", seeing)
            try:
                assert calling(1) == 2
                assert gc.isenabled() is enabled
                with pytest.raises(TypingError):
                    wrong(1)
            finally:
                event.unregister("numba:run_pass", seeing)
        assert len(compiled.buffer) >= 6
        assert seen
        assert not any(seen)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
