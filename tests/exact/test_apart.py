"""Blocks searched elsewhere: the same answer, whatever dies or stops on the way."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

import mapreroot as mr
from mapreroot import generate
from mapreroot.errors import ModelError, SolverError
from mapreroot.exact.apart import SearchTask, search_apart
from mapreroot.exact.blockwise import solve_blocks
from mapreroot.exact.search import search
from mapreroot.limits import Limits
from mapreroot.model import Model
from mapreroot.pool import Failure
from mapreroot.rerooting import uproot


def chain(count, n=40, couplings="pm1"):
    """Complete graphs in a row that share a vertex with the next one: a block each."""
    edges, weights = [], []
    for k in range(count):
        part = generate.complete(n, couplings=couplings, fields="none", seed=k)
        edges.append(part.edges + k * (n - 1))
        weights.append(part.weights)
    N = count * (n - 1) + 1
    return Model(np.zeros(N), np.concatenate(edges), np.concatenate(weights))


def searched_here(tasks, **options):
    for key, task in tasks.items():
        yield key, search(task.model, None, task.initial, task.gap, task.seed)


def same(a, b):
    assert (a.x == b.x).all()
    assert (a.score, a.status, a.nodes) == (b.score, b.status, b.nodes)
    assert a.bound == pytest.approx(b.bound, rel=1e-12)


def test_results_from_elsewhere_are_put_together():
    uprooted = uproot(chain(3))
    alone = solve_blocks(uprooted)
    seen, told = [], []

    def elsewhere(tasks):
        seen.append(sorted(task.model.n_vertices for task in tasks.values()))
        return searched_here(tasks)

    found = solve_blocks(uprooted, elsewhere=elsewhere, on_progress=lambda *p: told.append(p))
    assert seen == [[40, 40, 40]]
    assert (found.y == alone.y).all()
    assert (found.slack, found.nodes, found.stopped) == (alone.slack, alone.nodes, None)
    score = uprooted.score(found.y)
    assert len(told) == 3
    assert [bound for _, bound, _ in told] == sorted((bound for _, bound, _ in told), reverse=True)
    assert told[-1] == pytest.approx((score, score, found.nodes))


def test_what_is_not_answered_elsewhere_is_bounded_here():
    uprooted = uproot(chain(3))
    limits = Limits()

    def elsewhere(tasks):
        yield next(searched_here(tasks))
        limits.interrupted = True

    found = solve_blocks(uprooted, limits, elsewhere=elsewhere)
    best = solve_blocks(uprooted)
    assert found.stopped == "interrupted"
    score = uprooted.score(found.y)
    assert score <= uprooted.score(best.y) <= score + found.slack + found.tolerance


def test_what_time_cut_short_elsewhere_goes_on_here_while_there_is_more():
    uprooted = uproot(chain(3))
    alone = solve_blocks(uprooted)
    told = []

    def elsewhere(tasks):
        for key, task in tasks.items():
            yield key, search(task.model, Limits(seconds=0.0), task.initial, task.gap, task.seed)

    found = solve_blocks(uprooted, elsewhere=elsewhere, on_progress=lambda *p: told.append(p))
    assert (found.slack, found.stopped) == (0.0, None)
    assert uprooted.score(found.y) == uprooted.score(alone.y)
    assert [bound for _, bound, _ in told] == sorted((bound for _, bound, _ in told), reverse=True)


@pytest.mark.parametrize(("workers", "seconds"), [(1, [50, 30, 20]), (2, [100, 60, 40])])
def test_processes_share_the_time_by_the_size_of_blocks(workers, seconds, monkeypatch):
    sent = []

    def spread(function, tasks, *others, **options):
        sent.extend(tasks)
        return iter(())

    monkeypatch.setattr("mapreroot.exact.apart.spread", spread)
    # One vertex more each, the root.
    tasks = {n: SearchTask(uproot(chain(1, n - 1)), None, 0.0, 0) for n in (20, 50, 30)}
    assert list(search_apart(tasks, Limits(seconds=100.0), workers)) == []
    assert [task.model.n_vertices for task, *_ in sent] == [50, 30, 20]
    assert [given for _, given, *_ in sent] == pytest.approx(seconds, rel=0.01)


def test_one_block_is_not_sent():
    def elsewhere(tasks):
        raise AssertionError

    assert solve_blocks(uproot(chain(1)), elsewhere=elsewhere).slack == 0


def test_a_process_that_dies_again_and_again_is_an_error(monkeypatch):
    tasks = {7: SearchTask(uproot(chain(1)), None, 0.0, 0)}
    failing = Failure("its process died with exit code -9")
    monkeypatch.setattr("mapreroot.exact.apart.spread", lambda *a, **k: iter([(0, failing)]))
    with pytest.raises(SolverError, match="block of 41 vertices failed: its process died"):
        list(search_apart(tasks, Limits()))
    late = Failure("killed", overdue=True)
    monkeypatch.setattr("mapreroot.exact.apart.spread", lambda *a, **k: iter([(0, late)]))
    assert list(search_apart(tasks, Limits())) == []


def test_workers_are_counted_from_one():
    with pytest.raises(ModelError, match="workers is 0"):
        mr.solve(chain(1), workers=0)


@pytest.mark.slow
def test_processes_give_the_same_answer():
    model = chain(4)
    same(mr.solve(model, workers=2), mr.solve(model))
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_a_killed_process_costs_nothing():
    model = chain(5)
    killed = []

    def kill(state):
        if not killed:
            killed.extend(multiprocessing.active_children())
            killed[0].kill()

    found = mr.solve(model, workers=2, progress=kill)
    assert len(killed) == 2
    same(found, mr.solve(model))


@pytest.mark.slow
def test_a_time_limit_holds_on_processes():
    model = chain(4, n=90, couplings="gaussian")
    found = mr.solve(model, workers=2, time_limit=20.0)
    assert (found.status, found.stopped) == ("feasible", "time")
    assert found.score <= found.bound
    assert found.score >= mr.solve(model, time_limit=0.0).score


@pytest.mark.slow
def test_a_cluster_whose_worker_is_killed_gives_the_same_answer():
    distributed = pytest.importorskip("distributed")
    model = chain(5)
    killed = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def kill(state):
            if not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        found = mr.solve(model, scheduler=cluster.scheduler_address, progress=kill)
    assert len(killed) == 1
    same(found, mr.solve(model))
