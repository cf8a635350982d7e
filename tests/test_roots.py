"""Root choice: every step of the rule against its definition, the witnesses by hand."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from strategies import models, planted_balanced, uprooted_models
from test_balance import check_cycle, is_balanced, without

from mapreroot import Model, ModelError, UprootedModel, uproot
from mapreroot.balance import balance, balancing_set, balancing_vertices
from mapreroot.roots import (
    SHARE_OF_0,
    RootChoice,
    RootReason,
    choose_root,
    inference_roots,
    max_tw,
    max_w,
)
from mapreroot.trees import find_cycle


def complete_graph(n: int, W: float) -> UprootedModel:
    edges = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return UprootedModel(n, edges, np.full(len(edges), W))


def check_witness(uprooted: UprootedModel, choice: RootChoice) -> None:
    given_witnesses = [choice.switching, choice.partner, choice.frustrated_cycle]
    assert sum(witness is not None for witness in given_witnesses) == 1
    if choice.switching is not None:
        assert choice.is_balanced
        assert choice.switching[choice.root] == 0
        _, edges, weights = without(uprooted, {choice.root})
        i, j = edges.T
        assert ((weights < 0) == (choice.switching[i] != choice.switching[j])).all()
    if choice.partner is not None:
        assert is_balanced(*without(uprooted, {choice.root, choice.partner}))
    if choice.frustrated_cycle is not None:
        assert choice.root not in choice.frustrated_cycle
        check_cycle(uprooted, choice.frustrated_cycle)


@given(uprooted_models(max_vertices=9))
def test_rule(uprooted: UprootedModel) -> None:
    choice = choose_root(uprooted)
    check_witness(uprooted, choice)
    balancing = balancing_vertices(uprooted)
    if balancing:
        assert (choice.reason, choice.root) == (RootReason.BALANCED, balancing[0])
        assert balance(uprooted.reroot(choice.root)).is_balanced
    elif (pair := balancing_set(uprooted, 2)) is not None:
        assert (choice.reason, choice.root) == (RootReason.ALMOST_BALANCED, min(pair))
        assert choice.partner == max(pair)
    else:
        assert (choice.reason, choice.root) == (RootReason.MAX_TW, max_tw(uprooted))
        heavier = choose_root(uprooted, "max_w")
        assert (heavier.reason, heavier.root) == (RootReason.MAX_W, max_w(uprooted))
        check_witness(uprooted, heavier)


@pytest.mark.parametrize(
    ("n", "reason"),
    [(3, "BALANCED"), (4, "ALMOST_BALANCED"), (5, "MAX_TW"), (6, "MAX_TW")],
)
def test_repulsive_complete_graphs(n: int, reason: str) -> None:
    """All triangles of K_n are frustrated: n - 2 vertices are needed to hit them."""
    choice = choose_root(complete_graph(n, -1.0))
    assert choice.reason.name == reason
    assert choice.root == 0
    check_witness(complete_graph(n, -1.0), choice)


@given(planted_balanced())
def test_balanced_model_keeps_its_own_root(model: Model) -> None:
    choice = choose_root(uproot(model))
    assert (choice.root, choice.reason) == (0, RootReason.BALANCED)


@given(uprooted_models())
def test_given_root(uprooted: UprootedModel) -> None:
    for root in range(uprooted.n_vertices):
        choice = RootChoice.given(uprooted, root)
        assert (choice.root, choice.reason) == (root, RootReason.GIVEN)
        assert choice.is_balanced == (root in balancing_vertices(uprooted))
        check_witness(uprooted, choice)


@given(models(min_n=1))
def test_heaviest_vertices_by_definition(model: Model) -> None:
    uprooted = uproot(model)
    plain = [0.0] * uprooted.n_vertices
    squashed = [0.0] * uprooted.n_vertices
    for edge, w in zip(uprooted.edges.tolist(), uprooted.weights.tolist(), strict=True):
        for v in edge:
            plain[v] += abs(w)
            squashed[v] += math.tanh(abs(w) / 4)
    assert max_w(uprooted) == plain.index(max(plain))
    assert squashed[max_tw(uprooted)] == pytest.approx(max(squashed))


@pytest.mark.parametrize("family", ["K10", "K15", "T5", "T9"])
def test_heaviest_vertices_of_the_papers_models(shared: Path, family: str) -> None:
    """216 models of section 6, their roots found by another program."""
    text = (shared / "paper_experiments" / f"instances_{family}.json").read_text()
    instances = json.loads(text)["instances"]
    assert len(instances) == 54
    for case in instances:
        model = Model(case["theta"], np.array(case["edges"]) - 1, case["W"])
        assert max_w(uproot(model)) == case["roots"]["maxW"]
        assert max_tw(uproot(model)) == case["roots"]["maxtW"]


def test_ties_go_to_the_lowest_vertex() -> None:
    assert max_w(complete_graph(5, -1.0)) == max_tw(complete_graph(5, -1.0)) == 0
    assert max_tw(UprootedModel(4, [(1, 2), (2, 3), (1, 3)], [1, 1, 1])) == 1


def test_isolated_vertex_0_is_not_the_heaviest() -> None:
    edges = complete_graph(6, -1.0).edges + 1
    uprooted = UprootedModel(7, edges, np.full(len(edges), -1.0))
    assert choose_root(uprooted).root == 1


def test_smallest_models() -> None:
    choice = choose_root(uproot(Model([], np.zeros((0, 2), dtype=int), [])))
    assert (choice.root, choice.reason) == (0, RootReason.BALANCED)
    nothing = UprootedModel(0, [], [])
    for rule in (choose_root, max_w, max_tw):
        with pytest.raises(ModelError, match="no vertices"):
            rule(nothing)


def test_bad_arguments() -> None:
    uprooted = complete_graph(3, 1.0)
    with pytest.raises(ModelError, match="the rule is 'given': expected 'max_tw' or 'max_w'"):
        choose_root(uprooted, "given")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"no vertex 3: the model has 0\.\.2"):
        RootChoice.given(uprooted, 3)


def test_choice_reads_well_and_pickles() -> None:
    choice = choose_root(complete_graph(4, -1.0))
    assert repr(choice) == "RootChoice(root=0, reason=ALMOST_BALANCED)"
    assert str(choice.reason) == "almost_balanced"
    assert pickle.loads(pickle.dumps(choice)).partner == choice.partner


@given(uprooted_models(min_vertices=1, max_vertices=7))
def test_the_root_for_inference_is_a_forest_s_or_the_heaviest(uprooted: UprootedModel) -> None:
    strength = [0.0] * uprooted.n_vertices
    for (i, j), w in zip(uprooted.edges.tolist(), uprooted.weights.tolist(), strict=True):
        strength[i] += abs(w)
        strength[j] += abs(w)
    forests = [
        r
        for r in range(uprooted.n_vertices)
        if find_cycle(uprooted.n_vertices, uprooted.edges[(uprooted.edges != r).all(axis=1)])
        is None
    ]
    for method in ("bethe", "trw", "mean_field"):
        roots = inference_roots(uprooted, method)
        if forests and method != "mean_field":
            assert roots == (forests[0],)
            continue
        if uprooted.n_vertices == 1:
            assert roots == (0,)
            continue
        assert len(roots) == (1 if method == "bethe" else 2)
        assert roots[:-1] == (0,) * (len(roots) - 1)
        weighed = [SHARE_OF_0 * strength[0] if method == "bethe" else -1.0, *strength[1:]]
        assert weighed[roots[-1]] == pytest.approx(max(weighed))
        assert all(weighed[r] < max(weighed) + 1e-9 for r in range(roots[-1]))


def test_the_root_for_inference_needs_a_vertex() -> None:
    for method in ("bethe", "trw", "mean_field"):
        with pytest.raises(ModelError, match="no vertices"):
            inference_roots(UprootedModel(0, np.empty((0, 2), int), []), method)
