"""Proofs written by hand, and by a careless hand: what holds is accepted, nothing else is."""

import copy
import itertools
import json
import re
from fractions import Fraction

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models, small_integers

from mapreroot import Model
from mapreroot.certificates import verify
from mapreroot.certificates.cycles import Ties

TRIANGLE = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])
K5 = Model([0] * 5, [(i, j) for j in range(5) for i in range(j)], [-2.0] * 10)


def certificate(model, x, bound, proof):
    return {
        "format": "mapreroot certificate 1",
        "model": model.digest,
        "x": list(x),
        "score": model.score(x),
        "bound": bound,
        "proof": proof,
    }


def cycles(rows, scale=1):
    return {"by": "cycles", "scale": scale, "rows": rows}


def flow(root, amounts, scale=1, unit=1):
    return {"by": "flow", "root": root, "unit": unit, "scale": scale, "amounts": amounts}


SIGNS = {"by": "signs"}
ODD_TRIANGLE = cycles([[2, [1, 2, 3], [0, 1, 2]]])


def test_a_cycle_inequality_proves_the_triangle():
    checked = verify(TRIANGLE, certificate(TRIANGLE, [0, 1, 0], 2.0, ODD_TRIANGLE))
    assert checked
    assert (checked.score, checked.bound, checked.exact_gap) == (2.0, 2.0, 0)


UNEVEN = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -3.0])
SPLIT = {"pair": [1, 2], "same": {"rows": []}, "differ": {"rows": [[0, 2]]}}


@pytest.mark.parametrize(
    "more",
    [
        SPLIT,
        {"fixed": [[1, 2, 1]], "then": SIGNS},  # with 0 there no more than 2 + 3 is cut
        {"fixed": [[1, 2, 1], [1, 3, 1], [2, 3, 1]]},  # all three cannot be cut
        {"fixed": [[1, 2, 1]], "pair": [3, 2], "same": {"rows": []}, "differ": {"rows": []}},
        {"pair": [1, 2], "same": {"rows": []}, "differ": {"rows": [], "then": SIGNS}},
    ],
    ids=["split", "then", "contradiction", "implied", "then in a case"],
)
def test_boxes_prove_a_triangle(more):
    unpriced = cycles([[0, [1, 2, 3], [0, 1, 2]]])
    assert verify(UNEVEN, certificate(UNEVEN, [0, 1, 1], 3.5, unpriced)).bound == 3.5
    checked = verify(UNEVEN, certificate(UNEVEN, [0, 1, 1], 2.5, unpriced | more))
    assert checked, checked.failure
    assert checked.bound == 2.5


@pytest.mark.parametrize(
    ("more", "failure"),
    [
        ({**SPLIT, "differ": {"rows": []}}, "2.5 is stated, 3.5 is proved"),
        ({"fixed": [[1, 2, 0]], "then": SIGNS}, "3.5 is proved"),  # with 1 there it is open
        ({"fixed": [[0, 1, 1]]}, r"proof.fixed\[0\]: \(0, 1\) is no edge"),
        ({"fixed": [[1, 2, 2]]}, r"proof.fixed\[0\]: 2 is neither"),
        ({**SPLIT, "pair": [1, 1]}, "proof.pair: expected two"),
        ({**SPLIT, "pair": [1, -2]}, "no vertex -2"),
        ({"pair": [1, 2], "same": {"rows": []}}, "malformed"),
        ({**SPLIT, "differ": {"rows": [[0, -2]]}}, "proof.differ: the multiplier -2"),
        ({**SPLIT, "differ": {"rows": [[0, 2.0]]}}, "proof.differ: the multiplier 2.0"),
        ({**SPLIT, "differ": {"rows": [[-1, 2]]}}, "proof.differ: there is no inequality -1"),
        ({**SPLIT, "differ": {"rows": [[1, 2]]}}, "proof.differ: there is no inequality 1"),
        ({"then": {"by": "magic"}}, "proof.then: no rule"),
    ],
)
def test_wrong_boxes_are_refused(more, failure):
    proof = cycles([[0, [1, 2, 3], [0, 1, 2]]]) | more
    checked = verify(UNEVEN, certificate(UNEVEN, [0, 1, 1], 2.5, proof))
    assert not checked
    assert re.search(failure, checked.failure), checked.failure


def test_a_bound_is_rounded_to_the_unit_of_the_weights():
    # The ten triangles of K5 prove 20/3; its cuts are worth whole multiples of 2 here.
    rows = [
        [1, [i + 1, j + 1, k + 1], [0, 1, 2]] for k in range(5) for j in range(k) for i in range(j)
    ]
    checked = verify(K5, certificate(K5, [0, 0, 1, 1, 0], 6.0, cycles(rows, scale=2)))
    assert checked
    assert checked.bound == 6.0


def test_reductions_prove_a_tree_and_k4():
    tree = Model([0.3, -0.1, 0.7], [(0, 1), (1, 2)], [0.1, -0.2])
    proof = {"by": "steps", "steps": [["drop", 3], ["drop", 1]], "then": SIGNS}
    best = max(oracle.assignments(3), key=tree.score).tolist()
    checked = verify(tree, certificate(tree, best, tree.score(best), proof))
    assert checked, checked.failure
    assert checked.exact_gap == 0
    k4 = Model([0] * 4, [(i, j) for j in range(4) for i in range(j)], [-1, 2, -3, 4, 1, -1])
    proof = {"by": "steps", "steps": [["drop", 1], ["drop", 2], ["drop", 3]], "then": SIGNS}
    best = max(oracle.assignments(4), key=k4.score).tolist()
    assert verify(k4, certificate(k4, best, k4.score(best), proof)).exact_gap == 0


def test_a_flow_proves_an_attractive_pair():
    # theta pulls x_0 up by 2 and x_1 down by 1, the edge couples them by 1.
    pair = Model([2.0, -1.0], [(0, 1)], [2.0])
    # Edges (0, 1) of weight -4, (0, 2) of 2 and (1, 2) of 2: two units flow 0-2-1-0.
    proof = flow(0, [2, 2, -2])
    checked = verify(pair, certificate(pair, [1, 1], 1.0, proof))
    assert checked, checked.failure
    assert checked.exact_gap == 0


def test_parts_cases_and_enumeration():
    two = Model([0] * 5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)], [-2.0] * 6)
    cases = {
        "by": "cases",
        "pair": [3, 4],
        "same": {"by": "all"},
        "differ": {"by": "steps", "steps": [["drop", 5]], "then": SIGNS},
    }
    proof = {
        "by": "parts",
        "parts": [
            {"vertices": [1, 2, 3], "proof": ODD_TRIANGLE},
            {"vertices": [3, 4, 5], "proof": cases},
        ],
    }
    checked = verify(two, certificate(two, [0, 1, 0, 1, 0], 4.0, proof))
    assert checked, checked.failure
    assert checked.bound == 4.0


def test_fixed_values_need_a_proof_of_their_own():
    model = Model([5.0, 0.5, 0], [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    inner = {"by": "steps", "steps": [["drop", 1]], "then": SIGNS}
    proof = {"by": "steps", "steps": [["fix", 0, [[1, 1]], inner]], "then": {"by": "all"}}
    best = max(oracle.assignments(3), key=model.score).tolist()
    assert verify(model, certificate(model, best, model.score(best), proof)).exact_gap == 0
    wrong = {"by": "steps", "steps": [["fix", 0, [[1, 0]], inner]], "then": {"by": "all"}}
    # A wrong value costs what it may lose: the bound stays true, and is far off.
    checked = verify(model, certificate(model, best, 100.0, wrong))
    assert checked
    assert checked.bound >= model.score(best) + 1


def semidefinite(**changes):
    proof = {
        "by": "semidefinite",
        "scale": 1,
        "grid": 1,
        "vertices": [1, 2, 3],
        "shift": [0, 0, 0],
        "rows": [[1, [1, 2, 3], [1, 1, 1]]],
        "factor": [[0], [0, 0], [0, 0, 0]],
    }
    return {**proof, **changes}


def test_a_semidefinite_slack_proves_the_triangle_exactly():
    checked = verify(TRIANGLE, certificate(TRIANGLE, [0, 1, 0], 2.0, semidefinite()))
    assert checked, checked.failure
    assert checked.exact_gap == 0


def test_one_assignment_can_be_spared():
    # Without rows A = 2 off the diagonal. Sparing (0, 1, 1) with v = (-1, 1, 1), t = 1, adds 4 v v'
    # to A / 4 and lets all others be bounded by their own.
    spare = {"multiplier": 1, "vector": [-1, 1, 1]}
    factor = [[6], [0, 6], [0, 0, 6]]
    proof = semidefinite(rows=[], shift=[9, 9, 9], spare=spare, factor=factor)
    weak = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -3.0])
    checked = verify(weak, certificate(weak, [0, 1, 1], 99.0, proof))
    assert checked, checked.failure
    assert checked.bound >= 2.5


@pytest.mark.parametrize(
    "spare",
    [
        {"multiplier": -1, "vector": [1, 1, 1]},
        {"multiplier": 1, "vector": [1, 1]},
        {"multiplier": 0.5, "vector": [1, 1, 1]},
        {"multiplier": 1, "vector": [1, 1, 0.5]},
        {"multiplier": 1},
    ],
)
def test_a_wrong_spare_is_refused(spare):
    tampered = certificate(TRIANGLE, [0, 1, 0], 99.0, semidefinite(spare=spare))
    assert re.search(r"spare|malformed", verify(TRIANGLE, tampered).failure)


def test_a_factor_that_misses_costs_what_it_misses():
    # Without the row, A = 4 (shift on the diagonal) + 2 off it is positive definite for shift 1.
    eye = {"shift": [1, 1, 1], "rows": [], "factor": [[2], [1, 2], [1, 1, 1]]}
    weak = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -3.0])  # no unit to round to
    checked = verify(weak, certificate(weak, [0, 1, 1], 9.0, semidefinite(**eye)))
    assert checked, checked.failure
    assert checked.bound >= 2.5
    worse = {**eye, "factor": [[9], [0, 9], [0, 0, 9]]}
    assert verify(weak, certificate(weak, [0, 1, 1], 999.0, semidefinite(**worse))).bound > 9


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({"scale": 0}, "positive scale"),
        ({"grid": -1}, "positive grid"),
        ({"vertices": [1, 2]}, "2 shifts"),
        ({"vertices": [1, 2, 2]}, "2 shifts"),
        ({"vertices": [1, 2, -1]}, "no vertex -1"),
        ({"vertices": [1, 2, 0]}, "left out"),
        ({"shift": [0, 0]}, "3 shifts"),
        ({"shift": [0, 0, 0.5]}, "integers"),
        ({"shift": [-9, 0, 0]}, "bound"),
        ({"factor": [[0], [0, 0]]}, "triangular"),
        ({"factor": [[0], [0, 0], [0, 0, 0.5]]}, "integers"),
        ({"rows": [[-1, [1, 2, 3], [1, 1, 1]]]}, r"rows\[0\]: the multiplier -1"),
        ({"rows": [[1, [1, 2], [1, 1]]]}, "odd number"),
        ({"rows": [[1, [1, 2, 2], [1, 1, 1]]]}, "odd number"),
        ({"rows": [[1, [1, 2, 3], [1, 1]]]}, "a sign"),
        ({"rows": [[1, [1, 2, 3], [1, 1, 2]]]}, "a sign"),
        ({"rows": [[1, [1, 2, 0], [1, 1, 1]]]}, "malformed"),
    ],
)
def test_a_wrong_semidefinite_argument_is_refused(changes, failure):
    tampered = certificate(TRIANGLE, [0, 1, 0], 2.0, semidefinite(**changes))
    checked = verify(TRIANGLE, tampered)
    assert not checked
    assert re.search(failure, checked.failure), checked.failure


def test_the_file_on_disk(tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(certificate(TRIANGLE, [0, 1, 0], 2.0, ODD_TRIANGLE)))
    assert verify(TRIANGLE, path)
    path.write_text("{")
    assert "malformed" in verify(TRIANGLE, path).failure
    with pytest.raises(OSError, match="nowhere"):
        verify(TRIANGLE, tmp_path / "nowhere.json")


def bad(**changes):
    return {**certificate(TRIANGLE, [0, 1, 0], 2.0, ODD_TRIANGLE), **changes}


@pytest.mark.parametrize(
    ("tampered", "failure"),
    [
        ([], "JSON object"),
        (bad(format="other"), "format"),
        (bad(model=K5.digest), "another model"),
        (bad(x=[0, 1]), "x: expected 3"),
        (bad(x=[0, 1, 2]), "x: expected 3"),
        (bad(x=[0, 0, 0]), "score"),
        (bad(score=2.5), r"score: 2.5"),
        (bad(score="nan"), "score"),
        (bad(bound=1.5), "bound: 1.5 is stated"),
        (bad(bound="nan"), "malformed"),
        (bad(proof={"by": "magic"}), "no rule is called 'magic'"),
        (bad(proof={}), "no rule"),
        (bad(proof=cycles([[-1, [1, 2, 3], [0, 1, 2]]])), r"proof.rows\[0\]: the multiplier -1"),
        (bad(proof=cycles([[0.5, [1, 2, 3], [0]]])), r"proof.rows\[0\]"),
        (bad(proof=cycles([[1, [1, 2, 3], [0, 1]]])), "odd set"),
        (bad(proof=cycles([[1, [1, 2, 3], [5]]])), "edges that are not there"),
        (bad(proof=cycles([[1, [1, 2], [0]]])), "not a cycle"),
        (bad(proof=cycles([[1, [1, 2, 1], [0]]])), "not a cycle"),
        (bad(proof=cycles([[1, [0, 1, 2], [0]]])), r"\(0, 1\) is no edge"),
        (bad(proof=cycles([[1, [-1, 1, 2], [0]]])), "no vertex -1"),
        (bad(proof=cycles([], scale=0)), "scale"),
        (bad(proof={"by": "steps", "steps": [["jump", 1]], "then": SIGNS}), r"steps\[0\]: no step"),
        (bad(proof={"by": "steps", "steps": [["drop", -1]], "then": SIGNS}), "no vertex -1"),
        (bad(proof={"by": "steps", "steps": [["drop", 1]] * 2, "then": SIGNS}), r"steps\[1\]"),
        (bad(proof={"by": "steps", "steps": [["tie", 1, -1, 0]], "then": SIGNS}), "no vertex -1"),
        (bad(proof={"by": "steps", "steps": [["tie", 1, 1, 0]], "then": SIGNS}), "unite 1 with 1"),
        (bad(proof={"by": "steps", "steps": [["tie", 1, 2, 2]], "then": SIGNS}), "flip 2"),
        (
            bad(proof={"by": "steps", "steps": [["fix", -1, [[1, 1]], SIGNS]], "then": SIGNS}),
            "no vertex -1",
        ),
        (
            bad(proof={"by": "steps", "steps": [["fix", 0, [[0, 1]], SIGNS]], "then": SIGNS}),
            "none for the root",
        ),
        (
            bad(proof={"by": "steps", "steps": [["fix", 0, [[1, 3]], SIGNS]], "then": SIGNS}),
            "must be 0 or 1",
        ),
        (bad(proof={"by": "parts", "parts": [{"vertices": [1, 2], "proof": SIGNS}]}), "2 edges"),
        (bad(proof={"by": "parts", "parts": [{"vertices": [-1], "proof": SIGNS}]}), "no vertex"),
        (bad(proof=flow(-1, [0, 0, 0])), "no vertex -1"),
        (bad(proof=flow(1, [0, 0, 1])), "proof: the flow is not conserved at 2"),
        (bad(proof=flow(1, [0, 9, 0])), r"proof: amounts\[1\]: 9 exceeds the capacity"),
        (bad(proof=flow(1, [-(2**63), 0, 0])), r"amounts\[0\]: -9223372036854775808 exceeds"),
        (bad(proof=flow(1, [0, 0, 2**64])), r"amounts\[2\]: 18446744073709551616 exceeds"),
        (bad(proof=flow(1, [0, 0])), "amounts: expected 3 integers, found 2"),
        (bad(proof=flow(1, [0, 0, 0.0])), r"amounts\[2\]: 0.0 is no integer"),
        (bad(proof=flow(1, [True, 0, 0])), r"amounts\[0\]: True is no integer"),
        (bad(proof=flow(1, [0, 0, 0], scale=0)), "positive integer"),
        (bad(proof=flow(1, [0, 0, 0], scale=1.5)), "scale: expected a positive integer"),
        (bad(proof=flow(1, [0, 0, 0], unit=-1)), "unit: expected a positive integer"),
        (bad(proof=flow(1, [0, 1, 0], unit=3)), r"amounts\[1\]: 1 exceeds the capacity"),
        (bad(proof={"by": "round", "bits": -1, "then": SIGNS}), "bits: expected"),
        (bad(proof={"by": "round", "bits": 10**9, "then": SIGNS}), "bits: expected"),
        (
            bad(proof={"by": "steps", "steps": [["fix", 0, [[1, 1, 1]], SIGNS]], "then": SIGNS}),
            "pairs",
        ),
        (
            bad(proof={"by": "steps", "steps": [["fix", 0, [[1, 1], [1, 0]], SIGNS]], "then": {}}),
            "fixed twice",
        ),
        (bad(proof={"by": "cases", "pair": [1, 1], "same": SIGNS, "differ": SIGNS}), "unite"),
    ],
)
def test_what_does_not_hold_is_refused_where_it_stands(tampered, failure):
    checked = verify(TRIANGLE, tampered)
    assert not checked
    assert checked.exact_gap is None
    assert re.search(failure, checked.failure), checked.failure


def test_too_many_to_enumerate():
    n = 17
    ring = Model([0] * n, [(i, (i + 1) % n) for i in range(n)], [1.0] * n)
    checked = verify(ring, certificate(ring, [0] * n, 0.0, {"by": "all"}))
    assert "too many" in checked.failure


def test_hard_constraints_bind_x():
    model = Model([1.0], [], [], forbidden=[(0, 1)])
    checked = verify(model, {**certificate(model, [0], 0.0, {"by": "all"}), "x": [1]})
    assert "hard constraint" in checked.failure


flip_sign = st.sampled_from([-1, 1])


@st.composite
def proofs(draw, vertices, depth=2):
    """Any proof at all, mostly wrong-headed: whatever is accepted has to be true."""
    vertex = st.integers(0, vertices - 1)
    kinds = ["signs", "all", "cycles", "flow", "semidefinite"] + (
        ["steps", "cases"] if depth else []
    )
    kind = draw(st.sampled_from(kinds))
    if kind == "cycles":
        row = st.tuples(
            st.integers(0, 9),
            st.lists(vertex, min_size=3, max_size=4, unique=True),
            st.sampled_from([[0], [1], [0, 1, 2]]),
        ).map(list)
        return cycles(draw(st.lists(row, max_size=3)), draw(st.integers(1, 3)))
    if kind == "flow":
        most = vertices * (vertices - 1) // 2
        amounts = st.lists(st.integers(-3, 3), min_size=vertices - 2, max_size=most)
        return flow(draw(vertex), draw(amounts), *draw(st.permutations([1, 2, 5]))[:2])
    if kind == "semidefinite":
        small = st.integers(-4, 9)
        shift = [draw(small) for _ in range(vertices)]
        factor = [[draw(small) for _ in range(k + 1)] for k in range(vertices)]
        rows = [[draw(st.integers(0, 3)), draw(st.permutations(range(3))), [1, 1, draw(flip_sign)]]]
        whole = {"vertices": list(range(vertices)), "shift": shift, "factor": factor, "rows": rows}
        if draw(st.booleans()):
            vector = [draw(st.integers(-3, 3)) for _ in range(vertices)]
            whole["spare"] = {"multiplier": draw(st.integers(0, 3)), "vector": vector}
        return semidefinite(**whole, grid=draw(st.integers(1, 3)))
    if kind == "steps":
        flips = st.integers(0, 1)
        step = st.one_of(
            st.tuples(st.just("drop"), vertex),
            st.tuples(st.just("tie"), vertex, vertex, flips),
            st.tuples(st.just("ignore"), vertex, vertex),
            st.tuples(
                st.just("fix"),
                vertex,
                st.lists(st.tuples(vertex, flips).map(list), max_size=3),
                proofs(vertices, 0),
            ),
        ).map(list)
        steps = draw(st.lists(step, max_size=3))
        return {"by": "steps", "steps": steps, "then": draw(proofs(vertices, depth - 1))}
    if kind == "cases":
        inner = proofs(vertices, depth - 1)
        pair = [draw(vertex), draw(vertex)]
        return {"by": "cases", "pair": pair, "same": draw(inner), "differ": draw(inner)}
    return {"by": kind}


@given(st.lists(st.integers(0, 1), min_size=6, max_size=6), st.data())
def test_ties_know_what_follows(y, data):
    ties, vertex = Ties({}, {}), st.integers(0, 5)
    for u, v in data.draw(st.lists(st.tuples(vertex, vertex), max_size=8)):
        known = ties.known(u, v)
        assert known in (None, y[u] ^ y[v])
        assert ties.copy().tie(u, v, 1 ^ y[u] ^ y[v]) == (known is None)
        assert ties.tie(u, v, y[u] ^ y[v])
    unions = list(ties.unions())
    assert all(v < u and y[u] ^ y[v] == flip for u, v, flip in unions)
    least = {u: v for u, v, _ in unions}
    for u, v in itertools.combinations(range(6), 2):
        assert (least.get(u, u) == least.get(v, v)) == (ties.known(u, v) is not None)


@st.composite
def boxes(draw, vertices, rows, depth=2):
    """What may follow on multipliers of cycle inequalities, right or wrong."""
    vertex = st.integers(1, vertices)
    two = st.lists(vertex, min_size=2, max_size=2, unique=True)
    node = {}
    if draw(st.booleans()):
        edge = st.tuples(two, st.integers(0, 1)).map(lambda drawn: [*drawn[0], drawn[1]])
        node["fixed"] = draw(st.lists(edge, max_size=3))
    if depth and draw(st.booleans()):
        priced = st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, 9)), max_size=3)
        for name in ("same", "differ"):
            below = draw(boxes(vertices, rows, depth - 1))
            node[name] = {"rows": [list(row) for row in draw(priced)], **below}
        node["pair"] = draw(two)
    elif draw(st.booleans()):
        node["then"] = draw(st.sampled_from([SIGNS, {"by": "all"}]))
    return node


@given(st.lists(st.integers(-5, 5).filter(bool), min_size=10, max_size=10), st.data())
def test_no_boxes_prove_a_falsehood(weights, data):
    model = Model([0.0] * 5, K5.edges.tolist(), [float(w) for w in weights])
    some = st.lists(st.integers(1, 5), min_size=3, max_size=5, unique=True)
    row = st.tuples(st.integers(0, 9), some, st.sampled_from([[0], [1], [0, 1, 2]])).map(list)
    rows = data.draw(st.lists(row, min_size=1, max_size=3))
    proof = cycles(rows, data.draw(st.integers(1, 3))) | data.draw(boxes(5, len(rows)))
    checked = verify(model, certificate(model, [0] * 5, 1e9, proof))
    if checked:
        assert checked.bound >= oracle.best_score(model)
    else:
        assert "below the score" in checked.failure


@given(
    models(min_n=2, max_n=4, potentials=st.one_of(small_integers, finite_floats), connected=True),
    st.data(),
)
def test_no_proof_of_a_falsehood_is_accepted(model, data):
    best = oracle.best_score(model)
    x = data.draw(st.lists(st.integers(0, 1), min_size=model.n, max_size=model.n))
    proof = data.draw(proofs(model.n + 1))
    checked = verify(model, certificate(model, x, 1e9, copy.deepcopy(proof)))
    if checked:
        assert checked.bound >= best - 1e-9
        assert checked.score == model.score(x)


def test_gap_is_relative():
    model = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -3.0])
    checked = verify(model, certificate(model, [0, 1, 1], 9.0, SIGNS))
    assert checked
    assert (checked.score, checked.bound) == (2.5, 3.5)
    assert checked.gap == pytest.approx(0.4)
    assert checked.exact_gap == Fraction(1)
