"""Reference values of the paper's models: exact ones, and libDAI's approximate ones."""

import json
import math

import numpy as np
import pytest
from conftest import DATA, SHARED

from mapreroot import Model, uproot
from mapreroot.marginals import log_partition, marginals
from mapreroot.marginals.inference import approximate
from mapreroot.marginals.trw import spanning_tree_appearances
from mapreroot.roots import max_tw, max_w

SAMPLE = json.loads((DATA / "paper_sample.json").read_text())["instances"]


def model_of(instance):
    return Model(instance["theta"], np.array(instance["edges"]) - 1, instance["W"])


def check_exact(model, log_z, p):
    assert log_partition(model).value == pytest.approx(log_z, abs=1e-8)
    np.testing.assert_allclose(marginals(model).p, p, atol=1e-8)


def check_approximate(model, log_z, values):
    """Bethe and mean field have many optima: no worse a free energy is what counts."""
    plus = uproot(model)
    found = {}
    for value in values:
        root = "uprooted" if value["root"] < 0 else value["root"]
        method = {"mf": "mean_field", "mf_random_init": "mean_field"}.get(
            value["method"], value["method"].split("_")[0]
        )
        if (method, root) not in found:
            found[method, root] = approximate(plus, root, method)
        ours = found[method, root]
        assert ours.converged
        if method == "trw":
            assert ours.log_z >= log_z - 1e-6
            if value["converged"]:
                assert ours.log_z == pytest.approx(value["logZ"], abs=1e-4)
        else:
            assert ours.log_z >= value["logZ"] - 1e-4
            if method == "mean_field":
                assert ours.log_z <= log_z + 1e-9
    return len(found)


@pytest.mark.parametrize("instance", SAMPLE, ids=[instance["id"] for instance in SAMPLE])
def test_sample(instance):
    model = model_of(instance)
    check_exact(model, instance["logZ"], instance["marginals"])
    assert check_approximate(model, instance["logZ"], instance["libdai"]) >= 6


@pytest.mark.skipif(SHARED is None, reason="no shared instances beside this checkout")
@pytest.mark.parametrize("family", ["K10", "K15", "T5", "T9"])
def test_exact_values(family):
    text = (SHARED / "paper_experiments" / f"instances_{family}.json").read_text()
    instances = json.loads(text)["instances"]
    assert len(instances) == 54
    for instance in instances[:: 1 if family != "T9" else 9]:
        model = model_of(instance)
        check_exact(model, instance["exact"]["logZ"], instance["exact"]["marginals"])
        plus = uproot(model)
        assert max_w(plus) == instance["roots"]["maxW"]
        assert max_tw(plus) == instance["roots"]["maxtW"]


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="no shared instances beside this checkout")
@pytest.mark.parametrize("family", ["K10", "K15", "T5", "T9"])
def test_approximate_values(family):
    folder = SHARED / "paper_experiments"
    instances = {
        instance["id"]: instance
        for instance in json.loads((folder / f"instances_{family}.json").read_text())["instances"]
    }
    for result in json.loads((folder / f"libdai_{family}.json").read_text())["results"]:
        values = [v for v in result["values"] if v["method"] != "trw_sampled_trees"]
        instance = instances[result["id"]]
        check_approximate(model_of(instance), instance["exact"]["logZ"], values)


@pytest.mark.skipif(SHARED is None, reason="no shared instances beside this checkout")
@pytest.mark.parametrize("family", ["K10", "T5", "T9"])
def test_edge_appearances(family):
    folder = SHARED / "paper_experiments"
    instance = json.loads((folder / f"instances_{family}.json").read_text())["instances"][0]
    stored = json.loads((folder / f"trw_edge_appearance_{family}.json").read_text())["rho"]
    n = instance["n"]
    pairs = [(0, i) for i in range(1, n + 1)] + [tuple(pair) for pair in instance["edges"]]
    for root, rho in stored.items():
        kept = [pair for pair in pairs if int(root) not in pair]
        found = spanning_tree_appearances(n + 1, np.array(kept))
        np.testing.assert_allclose(found, rho, atol=1e-8)
        assert math.fsum(found) == pytest.approx(n - (int(root) >= 0), abs=1e-6)
