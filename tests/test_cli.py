import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from program import run

import mapreroot as mr

EXAMPLE = Path(__file__).parents[1] / "examples" / "data" / "segmentation.uai"
TRIANGLE = "3 3\n1 2 1\n2 3 1\n1 3 1\n"


def spawn(*arguments, stdin=None):
    """Run the program as a user does: a process of its own, and all that reaches its stdout."""
    command = [sys.executable, "-m", "mapreroot", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=300)


@pytest.fixture
def triangle(tmp_path):
    path = tmp_path / "triangle.mc"
    path.write_text(TRIANGLE)
    return path


def test_solve_shows_the_answer(triangle):
    done = spawn("solve", triangle)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "objective  2 (weight of the cut, maximised)" in done.stdout
    assert "proved optimal" in done.stdout
    assert "assignment" in done.stdout


@pytest.mark.parametrize(
    ("method", "start"),
    [
        *(
            (method, run)
            for method in ("auto", "loc", "tri", "exact", "enumerate", "tree", "maxflow")
        ),
        ("tri", spawn),  # with libraries that might talk below Python
        ("exact", spawn),
    ],
)
def test_json_is_one_object_and_nothing_else(triangle, method, start):
    done = start("solve", triangle, "--json", "--method", method)
    answer = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    needed = (
        "file format n m status stopped score bound gap objective objective_bound sense method "
        "root assignment seconds"
    )
    assert set(needed.split()) <= set(answer)
    assert answer["objective"] == 2
    assert answer["sense"] == "max"
    assert [label for label, _ in answer["assignment"]] == [1, 2, 3]
    assert done.returncode == (0 if answer["status"] == "optimal" else 1)
    if method != "loc":
        assert (answer["status"], done.returncode) == ("optimal", 0)


def test_a_minimised_file_speaks_its_own_terms(tmp_path):
    path = tmp_path / "model.bq"
    path.write_text("3 5\n1 1 2\n2 2 -1\n3 3 -4\n1 2 3\n2 3 -2\n")
    answer = json.loads(run("solve", path, "--json").stdout)
    assert (answer["sense"], answer["objective"], answer["objective_bound"]) == ("min", -9, -9)
    assert answer["score"] == 9


def test_evidence_and_fixing(tmp_path):
    path, evidence = tmp_path / "m.uai", tmp_path / "m.uai.evid"
    path.write_text("MARKOV\n3\n2 2 2\n3\n1 0\n2 0 1\n2 1 2\n\n2\n 1 2\n4\n 3 1 1 5\n4\n 1 7 2 1\n")
    evidence.write_text("1 1 0\n")
    for option in (["--evidence", evidence], ["--fix", "1=0"]):
        answer = json.loads(run("solve", path, "--json", *option).stdout)
        assert answer["assignment"] == [[0, 0], [1, 0], [2, 1]]
    both = run("solve", path, "--evidence", evidence, "--fix", "1=1")
    assert both.returncode == 2
    assert "contradicts the evidence" in both.stderr


def test_stdin_gzip_and_output(tmp_path):
    assert "objective  2" in spawn("solve", "-", "--format", "rudy", stdin=TRIANGLE).stdout
    packed = tmp_path / "t.mc.gz"
    packed.write_bytes(gzip.compress(TRIANGLE.encode()))
    out = tmp_path / "answer.txt"
    assert run("solve", packed, "-o", out).returncode == 0
    lines = [line.split() for line in out.read_text().splitlines()]
    assert [label for label, _ in lines] == ["1", "2", "3"]
    mpe = tmp_path / "answer.MPE"
    assert run("solve", packed, "-o", mpe).returncode == 0
    assert mpe.read_text().split()[:2] == ["MPE", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve"], "Missing argument"),
        (["solve", "nowhere.mc"], "nowhere.mc"),
        (["solve", "{triangle}", "--method", "magic"], "'magic'"),
        (["solve", "{triangle}", "--root", "9"], "root is 9"),
        (["solve", "{triangle}", "--root", "x"], "--root"),
        (["solve", "{triangle}", "--time-limit", "-1"], "--time-limit"),
        (["solve", "{triangle}", "--gap", "-1"], "gap is -1"),
        (["solve", "{triangle}", "--format", "magic"], "'magic'"),
        (["solve", "{triangle}", "--format", "uai"], "MARKOV"),
        (["solve", "{triangle}", "--fix", "1"], "LABEL=0"),
        (["solve", "{triangle}", "--fix", "7=1"], "'7'"),
        (["solve", "{triangle}", "--bogus"], "--bogus"),
        (["dance"], "No such command"),
        (["solve", "."], "."),
        (["convert", "{triangle}", "out.xyz"], "out.xyz"),
        (["generate", "torus", "--rows", "-3", "x.mc"], "-3: expected 3 or more"),
    ],
)
def test_bad_usage_and_bad_input_is_one_line(triangle, arguments, message):
    done = run(*[part.format(triangle=triangle) for part in arguments])
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_broken_file_names_file_and_line(tmp_path):
    path = tmp_path / "broken.mc"
    path.write_text("3 3\n1 2 1\n2 3 x\n1 3 1\n")
    done = run("solve", path)
    assert done.returncode == 2
    assert f"{path}, line 3" in done.stderr
    assert done.stderr.count("\n") == 1


def test_contradictory_evidence(tmp_path):
    path, evidence = tmp_path / "m.uai", tmp_path / "e.evid"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n\n4\n 0 1 1 0\n")
    evidence.write_text("2 0 1 1 1\n")
    done = run("solve", path, "--evidence", evidence)
    assert (done.returncode, done.stdout) == (2, "")
    assert "evidence" in done.stderr


def test_version_and_help():
    assert run("--version").stdout == f"mapreroot {mr.__version__}\n"
    assert "solve" in run("--help").stdout
    assert "Example" in run("solve", "--help").stdout
    bare = spawn()
    assert bare.returncode == 2
    assert "Usage" in bare.stdout + bare.stderr


def test_info_and_roots(triangle):
    shown = run("info", triangle).stdout
    assert "3 (0 attractive, 3 repulsive)" in shown
    record = json.loads(run("info", triangle, "--json").stdout)
    assert (record["n"], record["m"], record["repulsive"], record["balanced"]) == (3, 3, 3, False)
    record = json.loads(run("roots", triangle, "--json").stdout)
    assert (record["root"], record["reason"]) == (1, "BALANCED")
    assert record["balancing_roots"] == [1, 2, 3]
    assert "variable 1" in run("roots", triangle).stdout


def test_convert_keeps_scores(tmp_path):
    target = tmp_path / "model.json"
    done = run("convert", EXAMPLE, target)
    assert done.returncode == 0
    assert done.stdout == ""
    for part in ("uai: max ln of the product", "constant", "(json)", "617 attractive, 0 repulsive"):
        assert part in done.stderr
    assert mr.read_model(target) == mr.read_model(EXAMPLE)


def test_generate_is_seeded(tmp_path):
    one, two = tmp_path / "one.mc", tmp_path / "two.mc"
    for path in (one, two):
        assert run("generate", "torus", path, "--rows", 5, "--seed", 7).returncode == 0
    assert one.read_text() == two.read_text()
    assert mr.read_model(one).n == 50


def test_inference(triangle):
    record = json.loads(run("logz", triangle, "--json").stdout)
    assert record["log_z"] == pytest.approx(3.83588329733)
    record = json.loads(run("marginals", triangle, "--json").stdout)
    assert [p for _, p in record["marginals"]] == pytest.approx([0.5] * 3)


def test_the_shipped_instance_is_solved():
    answer = json.loads(run("solve", EXAMPLE, "--json").stdout)
    assert answer["status"] == "optimal"
    assert answer["objective"] == pytest.approx(-56.0367885)


@pytest.mark.slow
def test_ctrl_c_prints_the_incumbent(tmp_path):
    path = tmp_path / "dense.json"
    assert run("generate", "complete", path, "--n", 120, "--seed", 0).returncode == 0
    spawn("solve", path, "--time-limit", 2)  # compiled before the clock is watched
    command = [sys.executable, "-m", "mapreroot", "solve", str(path), "--json", "--method", "exact"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(8)
    os.kill(process.pid, signal.SIGINT)
    start = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - start < 10
    assert process.returncode == 130
    answer = json.loads(out)
    assert (answer["status"], answer["stopped"]) == ("feasible", "interrupted")
    assert answer["score"] <= answer["bound"]
    assert "interrupted" in err


def test_a_certificate_is_written_and_checked(tmp_path, triangle):
    proof = tmp_path / "proof.json"
    done = run("solve", triangle, "--certificate", proof, "--json")
    assert json.loads(done.stdout)["proof"] == "exact"
    checked = run("verify", triangle, proof)
    assert checked.returncode == 0
    assert "no better is possible" in checked.stdout
    tampered = json.loads(proof.read_text())
    tampered["bound"] = 1.5
    proof.write_text(json.dumps(tampered))
    refused = run("verify", triangle, proof, "--json")
    assert refused.returncode == 1
    assert "1.5 is stated" in json.loads(refused.stdout)["failure"]
    assert run("verify", triangle, tmp_path / "nowhere.json").returncode == 2


def test_the_tightness_report(triangle):
    shown = run("tightness", triangle, "--invariance", "all").stdout
    assert "3 at root 0: not tight" in shown
    assert "M+ without vertex 1 is balanced" in shown
    assert "TRI under 4 rerootings: spread 0" in shown
    record = json.loads(run("tightness", triangle, "--roots", "all", "--json").stdout)
    assert record["loc_by_root"] == {"0": 3.0, "1": 2.0, "2": 2.0, "3": 2.0}
    assert (record["loc_tight"], record["tri_tight"]) == (False, True)
    assert run("tightness", triangle, "--roots", "x").returncode == 2
    assert run("tightness", triangle, "--roots", "9").returncode == 2
    assert run("tightness", triangle, "--invariance", "0").returncode == 2


def test_margins_say_how_sure_each_label_is(tmp_path):
    path = tmp_path / "pair.uai"
    path.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n\n4\n 1 5 3 4\n")
    record = json.loads(run("solve", path, "--margins", "--json").stdout)
    expected = {0: math.log(5 / 4), 1: math.log(5 / 3)}
    for label, margin, exact in record["margins"]:
        assert margin == pytest.approx(expected[label])
        assert exact
    assert "margin      0 0.2231435513" in run("solve", path, "--margins").stdout
    assert json.loads(run("solve", path, "--json").stdout)["margins"] is None


def test_the_k_best_in_text_and_json(triangle):
    done = run("solve", triangle, "--solutions", 4, "--json")
    assert done.returncode == 0
    record = json.loads(done.stdout)
    assert record["complete"]
    assert [solution["objective"] for solution in record["solutions"]] == [2, 2, 2, 2]
    assert record["solutions"][0]["assignment"] == record["assignment"]
    assert len({json.dumps(solution["assignment"]) for solution in record["solutions"]}) == 4
    done = run("solve", triangle, "--solutions", 7)
    assert done.returncode == 0
    assert "solutions  7 (all proved)" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("assignment")]
    assert [line[1] for line in lines] == ["2"] * 6 + ["0"]
    assert lines[-1][2:] == ["1=0", "2=0", "3=0"]


def test_solutions_that_a_limit_cut_short_are_not_called_proved(tmp_path):
    path = tmp_path / "k30.json"
    mr.write_model(mr.generate.complete(30), path)
    done = run("solve", path, "--solutions", 3, "--nodes", 0)
    assert done.returncode == 1
    assert "solutions  3 (perhaps not the best)" in done.stdout


def test_memory_is_kept_within(tmp_path):
    path = tmp_path / "torus.json"
    mr.write_model(mr.generate.torus(10, 10), path)
    done = run("solve", path, "--memory", 0)
    assert done.returncode == 1
    assert "stopped: memory" in done.stdout
