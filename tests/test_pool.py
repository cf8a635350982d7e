"""Work that does not end: its process is killed, and nothing else suffers."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from mapreroot.errors import ModelError
from mapreroot.pool import Failure, spread


def stuck(task):
    """Stay in native code for minutes, with Python's lock held."""
    if task == "stuck":
        ctypes.PyDLL(None).sleep(1000)
    if task == "greedy":
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory runs out
    if task == "score":
        with open("/proc/self/oom_score_adj") as file:
            return file.read().strip()
    return task.upper()


def test_what_takes_too_long_is_killed_and_not_tried_again():
    tasks = ["a", "stuck", "greedy", "b", "stuck", "c"]
    found = list(spread(stuck, tasks, workers=2, retries=1, patience=1.0))
    assert sorted(index for index, _ in found) == list(range(6))
    late = Failure("killed: still busy after 1 s", overdue=True)
    died = Failure("its process died with exit code -9")
    assert [result for _, result in sorted(found)] == ["A", late, died, "B", late, "C"]
    assert multiprocessing.active_children() == []


def test_one_worker_can_be_killed_too():
    assert [found for _, found in spread(stuck, ["stuck", "a"], workers=1, patience=0.5)] == [
        Failure("killed: still busy after 0.5 s", overdue=True),
        "A",
    ]


@pytest.mark.skipif(not os.path.exists("/proc/self/oom_score_adj"), reason="Linux only")
def test_it_is_the_worker_that_dies_when_memory_runs_out():
    assert [found for _, found in spread(stuck, ["score"], patience=60.0)] == ["1000"]


@pytest.mark.parametrize("workers", [1, 2])
def test_stopping_gives_no_more_results(workers):
    asked = []

    def stop():
        asked.append(None)
        return len(asked) > 2

    tasks = ["a"] * 20 if workers == 1 else ["stuck"] * 2
    assert len(list(spread(stuck, tasks, workers=workers, stop=stop))) < len(tasks)
    assert len(asked) == 3
    assert multiprocessing.active_children() == []


def test_patience_is_positive():
    with pytest.raises(ModelError, match="patience is -1"):
        list(spread(stuck, ["a"], patience=-1.0))


ORPHAN = """
import test_pool
from mapreroot import pool
pool._ORPHANED = 0.5
def run():
    for _ in pool.spread(test_pool.tell_and_get_stuck, ["a"], patience=2.0): pass
if __name__ == "__main__":
    run()
"""


def tell_and_get_stuck(task):
    print("busy", flush=True)
    stuck("stuck")


@pytest.mark.slow
def test_a_stuck_process_whose_parent_was_killed_ends_by_itself(tmp_path):
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(__file__))
    command = [sys.executable, script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout.readline() == b"busy\n"
        parent.kill()
        parent.communicate(timeout=60)  # until the child has closed its end, too


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_what_takes_too_long_on_a_cluster_dies_alone(threads):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=threads, processes=True, dashboard_address=None
    ) as cluster:
        worker = cluster.workers[0].pid
        tasks = ["a", "stuck", "b", "greedy"]
        address = cluster.scheduler_address
        found = dict(spread(stuck, tasks, scheduler=address, retries=0, patience=2.0))
        assert cluster.workers[0].pid == worker
    assert (found[0], found[2]) == ("A", "B")
    assert found[1] == Failure("killed: still busy after 2 s", overdue=True)
    assert found[3] == Failure("its process died with exit code -9")
