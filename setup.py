"""The settings that setup.cfg cannot express: the packages, and the file nfa/ledger/tests.json in wheel and sdist.

Every folder of nfa with an __init__.py is a package. The folders kernels and data are packages too, and setup.cfg maps
them into nfa. The file tests.json is made from the marks in tests/.
"""

import json
import runpy
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent


def write_tests_json(folder: Path) -> None:
    """Write the file below a folder that becomes a package. Without tests/, keep the file that the sdist contains."""
    if (ROOT / "tests").is_dir():
        scan = runpy.run_path(str(ROOT / "nfa" / "ledger" / "tests_json.py"))["scan"]
        text = json.dumps(scan(ROOT), indent=1) + "\n"
        (folder / "nfa" / "ledger" / "tests.json").write_text(text, encoding="utf-8")


class BuildPy(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:  # an editable nfa reads the marks in tests/
            write_tests_json(Path(self.build_lib))


class Sdist(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        write_tests_json(Path(base_dir))


setup(
    packages=[*find_packages(include=["nfa", "nfa.*"]), "nfa.kernels", "nfa.data"],
    cmdclass={"build_py": BuildPy, "sdist": Sdist},
)
