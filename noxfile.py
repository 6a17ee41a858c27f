"""The main targets of the Makefile for systems without make: ``pipx run nox -s demo`` and ``pipx run nox -s test``."""

import nox


@nox.session
def demo(session: nox.Session) -> None:
    """Train feedback alignment and backpropagation on real images, print a table and draw a picture."""
    session.install("-c", "constraints.txt", "-e", ".")
    session.run("python", "-m", "nfa", "demo")


@nox.session
def test(session: nox.Session) -> None:
    """Run the fast tests. Arguments after ``--`` go to pytest."""
    session.install("-c", "constraints.txt", "-e", ".[test]")
    chosen = ("-m", "not slow and not nightly", *session.posargs)
    workers = ("-n", "auto", "--dist", "worksteal")
    # Windows does not read files as UTF-8 by default.
    session.run("python", "-m", "pytest", *workers, *chosen, env={"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"})
