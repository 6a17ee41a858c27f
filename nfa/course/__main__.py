"""`python -m nfa.course SET`: grade every example submission of a set, and print the result of each failed check."""

import sys
import time

from nfa.course import SETS, names, problem_sets


def main(wanted: list[str]) -> int:
    """Print the results of these sets, or of all sets; return the number of submissions with a wrong result."""
    wrong = 0
    for name in wanted or names():
        problems = problem_sets.load(SETS / name)
        for submission in problems.submissions.values():
            start = time.perf_counter()
            told = problem_sets.grade(problems, submission)
            failed = {cell: text for cell, text in told.items() if text}
            fine = set(failed) == set(submission.fails) and problem_sets.score(problems, told) == submission.score
            wrong += not fine
            got = f"{problem_sets.score(problems, told)} of {submission.score} points that it must get"
            print(
                f"{name} {submission.name}: {got}, {time.perf_counter() - start:.1f} s{'' if fine else ', NOT RIGHT'}"
            )
            for cell in {**failed, **dict.fromkeys(submission.fails)}:
                mark = "" if (cell in failed) == (cell in submission.fails) else "NOT EXPECTED "
                print(f"    {cell}: {mark}{failed.get(cell) or 'passes'}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
