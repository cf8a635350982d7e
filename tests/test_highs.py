"""HiGHS must leave stdout to the user's result."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PROGRAMS = {
    "highspy": """
        from mapreroot.relaxations.highs import new_highs
        import highspy
        for _ in range(2):
            highs = new_highs()
            highs.addVar(0.0, 1.0)
            highs.run()
        highspy.Highs()
        print("result")
    """,
    "cvxpy": """
        from mapreroot.relaxations.highs import new_highs
        import cvxpy as cp
        new_highs()
        d = cp.Variable(2)
        cp.Problem(cp.Maximize(cp.sum(d)), [d <= 1]).solve(solver=cp.HIGHS)
        print("result")
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_stdout_is_exactly_the_result(name: str) -> None:
    program = textwrap.dedent(PROGRAMS[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"result\n"
