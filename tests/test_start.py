"""The first moments of the program: what it loads, and Ctrl-C while it loads."""

import signal
import subprocess
import sys
import time

import pytest

import mapreroot as mr

HEAVY = {"numpy", "scipy", "numba", "networkx", "cvxpy", "highspy", "maxflow", "ortools", "dask"}


def loaded(code):
    """Say which heavy packages a fresh interpreter has loaded after some code."""
    code += "\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.splitlines()[-1].split())


def running(*arguments):
    argv = ["mapreroot", *map(str, arguments)]
    return f"""
import sys
from mapreroot.cli import main
sys.argv = {argv}
try:
    main()
except SystemExit:
    pass
"""


def test_nothing_heavy_is_loaded_before_it_is_needed():
    assert loaded("import mapreroot") == set()
    assert loaded(running("--version")) == set()
    assert loaded(running("slove")) == set()
    assert loaded(running("solve", "--help")) & {"cvxpy", "ortools", "dask"} == set()


def test_functions_win_over_modules_of_their_name():
    code = """
import mapreroot.solve, mapreroot.balance, mapreroot.marginals
from mapreroot.tightness import invariance
from mapreroot import generate
import mapreroot as mr
print(*(f.__name__ for f in (mr.solve, mr.balance, mr.marginals, mr.tightness, mr.relax)))
print(generate.__name__, mr.Model.__name__, mr.trees.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "solve balance marginals tightness relax",
        "mapreroot.generate Model mapreroot.trees",
    ]


def test_all_names_are_there():
    assert set(mr.__all__) <= set(dir(mr))
    assert all(getattr(mr, name) is not None for name in mr.__all__)
    with pytest.raises(AttributeError, match="sovle"):
        _ = mr.sovle


@pytest.mark.parametrize("delay", [0.01, 0.05, 0.2, 0.6, 2.0])
def test_ctrl_c_at_the_start_ends_in_one_line(delay):
    # Before `main`, for some milliseconds, Python itself is in charge of Ctrl-C.
    code = "import os, sys, mapreroot.cli; sys.argv[1:] = ['info', '-', '--format', 'uai']; "
    code += "os.write(1, b'.'); mapreroot.cli.main()"
    process = subprocess.Popen(  # what it reads never comes
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.read(1) == b"."
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"mapreroot: interrupted\n")
