"""nbgrader's settings for this course."""

import os
from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, GetGrades
from nbgrader.utils import is_grade

from nfa.course import MASTERS


class OnlyMessages(ClearOutput):
    """Clears every output, because tracebacks quote hidden tests. A graded cell keeps the last line of its error."""

    def preprocess_cell(self, cell, resources, cell_index):
        """Replace the outputs of one cell."""
        errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if is_grade(cell) and errors:
            error = errors[-1]
            error.evalue = "".join(error.evalue.splitlines()[:1])[:400]
            error.traceback = [f"{error.ename}: {error.evalue}" if error.evalue else error.ename]
            cell.outputs = [error]
        return cell, resources


course = Path(__file__).resolve().parent
os.environ[MASTERS] = str(course / "masters")  # the hidden tests read their checks here

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = course.name
c.CourseDirectory.root = str(course)
c.CourseDirectory.include = ["*.ipynb"]  # no other submitted file is copied next to the notebook
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError"}

# A call of a student's function has three seconds of CPU time (nfa.course.checking). A cell has thirty seconds of real
# time.
c.Execute.timeout = 30
c.Execute.interrupt_on_timeout = True

# Limits of `nfa course grade` on the code of one submission: memory in GB, processes and threads.
c.Confined.memory = 4.0
c.Confined.processes = 128

# Output on stderr, such as a warning, is not a failed check. Missing graded cells are restored.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = r"(?s)."
c.OverwriteCells.add_missing_cells = True

# The feedback has no hidden tests. For a failed check, it has the message without the traceback, because tracebacks
# quote hidden tests.
c.GenerateFeedback.preprocessors = [GetGrades, ClearHiddenTests, OnlyMessages, CSSHTMLHeaderPreprocessor]
c.ClearOutputPreprocessor.enabled = True
c.OnlyMessages.enabled = True
