import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from test_cli import run

import mapreroot as mr
from mapreroot.cli.output import tri_state


@pytest.fixture
def spins(tmp_path):
    path = tmp_path / "spins.json"
    mr.write_model(mr.generate.torus(12, 12, couplings="gaussian", fields="none", seed=0), path)
    return path


def test_a_time_limit_gives_the_bounds_so_far_and_says_so(spins):
    done = run("tightness", spins, "--time-limit", 0)
    assert done.returncode == 1
    assert "time limit" in done.stderr
    assert "TRI" in done.stdout
    assert "at most" in done.stdout
    record = json.loads(run("tightness", spins, "--time-limit", 0, "--json").stdout)
    full = run("tightness", spins, "--json")
    whole = json.loads(full.stdout)
    assert (full.returncode, full.stderr) == (0, "")
    assert (record["stopped"], record["tri_converged"]) == ("time", False)
    assert (whole["stopped"], whole["tri_converged"]) == (None, True)
    assert record["tri"] >= whole["tri"] - 1e-9
    assert record["bound"] >= whole["score"] - 1e-9
    assert run("tightness", spins, "--time-limit", 0, "--quiet").stderr == ""


def test_rerootings_that_a_time_limit_leaves_out(spins):
    done = run("tightness", spins, "--time-limit", 0, "--invariance", 3)
    assert done.returncode == 1
    assert "0 rerootings: spread not known" in done.stdout


def test_the_line_names_bound_rounds_and_cuts():
    assert tri_state(2.5, 3, 70) == "TRI at most 2.5  linear programs 3  cycle inequalities 70"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_progress_on_a_terminal_and_ctrl_c(tmp_path):
    import pty  # not on Windows

    path = tmp_path / "hard.json"
    rng = np.random.default_rng(0)
    n = 160
    pairs = [(i, j) for j in range(n) for i in range(j)]
    mr.write_model(mr.Model([0.0] * n, pairs, rng.normal(size=len(pairs))), path)
    command = [sys.executable, "-m", "mapreroot", "tightness", str(path), "--json"]
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other_end, text=True)
    os.close(other_end)
    shown = bytearray()
    begun = threading.Event()

    def read():
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                return
            if not part:
                return
            shown.extend(part)
            if b"TRI at most" in shown:
                begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert begun.wait(300)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        reader.join()
        os.close(terminal)
    assert process.returncode == 130
    record = json.loads(out)
    assert record["stopped"] == "interrupted"
    assert not record["tri_converged"]
    assert record["score"] <= record["bound"] <= record["tri"]
    assert b"interrupted" in shown
