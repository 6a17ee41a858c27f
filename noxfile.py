"""The targets of the Makefile that a newcomer needs, where there is no make: ``pipx run nox -s demo``, ``-s test``."""

import nox


@nox.session
def demo(session: nox.Session) -> None:
    """Train feedback alignment and backprop on real images; print a table, draw a picture."""
    session.install("-c", "constraints.txt", "-e", ".")
    session.run("python", "-m", "nfa", "demo")


@nox.session
def test(session: nox.Session) -> None:
    """Run the fast tests; what follows ``--`` goes to pytest."""
    session.install("-c", "constraints.txt", "-e", ".[test]")
    chosen = ("-m", "not slow and not nightly", *session.posargs)
    workers = ("-n", "auto", "--dist", "worksteal")
    # UTF-8, which Windows does not read a file in by itself.
    session.run("python", "-m", "pytest", *workers, *chosen, env={"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"})
