"""Records of decisions as a trace: a cluster whose real history is known is read back and played again."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tenure.cli.sweep.single_run import SingleRun, build_input, digest_of
from tenure.simulator.decider import Decider
from tenure.simulator.job_run import PENDING, RUNNING
from tenure.simulator.runs import Run, RunInput, play
from tenure.simulator.settings import RunSettings
from tenure.simulator.simulation import Simulation
from tenure.simulator.traces import records
from tenure.simulator.traces.records import RecordedCycle, read_records
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.cli.command import in_process
from tests.server.records.recorded_cycles import inline_cycle, write_records
from tests.simulator.played import job, random_jobs, run_input, solver

SETTINGS = RunSettings(every_cycle=True)


class KeepingDecider:
    """Keeps every state and response, as a server that records does."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self.cycles: list[RecordedCycle] = []

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        state = snapshot()
        response = self._decider.decide(delta, snapshot)
        self.cycles.append(RecordedCycle(len(self.cycles) + 1, state, response))
        return response


def lived(jobs, nodes=(2, 4), queues=()) -> tuple[Run, list[RecordedCycle]]:
    """A run of a cluster, and its records. A last job makes that the end of all others is recorded."""
    after = max(each.submit + each.runtime for each in jobs) // SECOND * 9
    last = job("last", after, 60, queue=jobs[0].queue)
    run = run_input([*jobs, last], nodes, settings=SETTINGS, queues=queues)
    keeping = KeepingDecider(solver())
    results = Simulation(run.cluster, run.trace.jobs, run.settings, keeping).run()
    return replace(play(run), results=results), keeping.cycles


def played_again(cycles, settings=SETTINGS) -> Run:
    recorded = read_records(cycles, settings)
    cluster = ClusterSnapshot(nodes=recorded.nodes, queues=recorded.queues, shapes=cycles[0].snapshot.shapes)
    exact = replace(settings, cycle_period=0, every_cycle=True)
    return play(RunInput("recorded", recorded.trace, cluster, exact, recorded.history))


def times(run: Run) -> dict[str, tuple]:
    """Start, end and evictions of each job that ran, but the last one."""
    named = {each.job.name.split("/")[-1]: each for each in run.results.jobs}
    return {
        name: (each.first_start, each.end, each.evictions)
        for name, each in named.items()
        if name != "last" and each.first_start is not None
    }


def test_jobs_and_their_history_are_read_back_and_played_again():
    limited = job("a", 0, 12_000, 8, "a", time_limit=99_000 * SECOND)
    real, cycles = lived([limited, job("b", 3_650, 1_800, 4, "b")], (1, 8))
    again = played_again(cycles)
    assert times(again) == times(real)
    assert times(real)["a"][2] == 1
    runtimes = {each.job.name: each.job.runtime // SECOND for each in again.results.jobs}
    assert (runtimes["a/a"], runtimes["b/b"]) == (12_000, 1_800)
    limits = {each.job.name: each.job.time_limit // SECOND for each in again.results.jobs}
    assert (limits["a/a"], limits["b/b"]) == (99_000, 0)
    for key in ("lost", "overhead", "terminating"):
        assert again.metrics["cluster"][key] == pytest.approx(real.metrics["cluster"][key]), key
    assert again.metrics["cluster"]["unbalanced_milli_gpu_ns"] == 0
    assert again.metrics["evictions"]["by_action"] == {"reclaim": 1}
    (eviction,) = again.results.evictions
    assert (eviction.victim, eviction.beneficiary) == ("a/a", "b/b")


@pytest.mark.parametrize("seed", range(3))
def test_random_gangs_of_whole_pods_have_the_same_waits_and_ends(seed):
    jobs = [
        each._replace(min_member=each.pods, runtime=each.runtime + SECOND, checkpoint_interval=None)
        for each in random_jobs(seed, 30)
    ]
    real, cycles = lived(jobs, (2, 4), ("a", "b", "c"))
    again = played_again(cycles)
    assert sum(each.evictions for each in real.results.jobs) > 0
    assert times(again) == times(real)


def test_pod_groups_that_cannot_be_played_are_named():
    _, cycles = lived([job("a", 0, 600, 8), job("b", 10, 600, 8), job("c", 20, 60, 1)], (1, 8))
    both = next(each.snapshot for each in cycles if len(each.snapshot.pod_groups) == 2)
    state = ClusterSnapshot.FromString(both.SerializeToString())
    state.shapes.add(id="memory").gpu.memory_mib = 100
    state.shapes.add(id="pair").gpu.devices = 2
    for name, shape in (("shared", "memory"), ("mixed", "pair"), ("mixed", state.pods[0].shape)):
        state.pods.add(uid=f"{name}-{shape}", pod_group=name, shape=shape, status=RUNNING, node="node-00000")
    state.pods.add(uid="never", pod_group="never", shape="pair", status=PENDING)
    for name in ("shared", "mixed", "never", "lost"):
        state.pod_groups.add(uid=name, name=name, namespace="n", queue="a", min_member=1)
    state.pod_groups[-1].queue = "gone"
    state.pods.add(uid="lost", pod_group="lost", shape="pair", status=RUNNING, node="node-00000")
    recorded = read_records([cycles[0], RecordedCycle(7, state, DecideResponse())], SETTINGS)
    assert {bad.problem for bad in recorded.trace.bad_lines} == {
        "job n/shared: a pod asks for a part of a GPU by its memory",
        "job n/mixed: its pods ask for different numbers of GPUs",
        "job n/never: did not run, so its runtime is not known",
        "job n/lost: its queue 'gone' is no leaf queue of the last record",
        "job a/b: did not run, so its runtime is not known",
    }
    assert {bad.where for bad in recorded.trace.bad_lines} == {"record 7"}
    assert "1 of the jobs had not ended in the last record" in recorded.trace.notes[1]


def records_of(path: Path, cluster_ids: list[str]) -> Path:
    """A records file of a short life, once for each cluster."""
    _, cycles = lived([job("a", 0, 900, 8, "a"), job("b", 60, 600, 4, "b")], (1, 8))
    entries = []
    for cluster_id in cluster_ids:
        for cycle in cycles:
            state = ClusterSnapshot.FromString(cycle.snapshot.SerializeToString())
            state.cluster_id = cluster_id
            entries.append(inline_cycle(state))
    write_records(path, entries)
    return path


def test_records_are_played_beside_what_would_have_happened(monkeypatch, capsys, tmp_path):
    tenure = in_process(monkeypatch, capsys)
    path, config = records_of(tmp_path / "records.sqlite", ["c"]), tmp_path / "guarded.yaml"
    config.write_text("plugins: {minruntime: {defaultReclaimMinRuntime: 1h}}")
    command = ("play", str(path), "--config", str(config), "--output", "json")
    first, second = json.loads(tenure(*command).out)["runs"]
    assert [(run["name"], run["policy"], run["gpus"]) for run in (first, second)] == [
        *(("recorded", "recorded", 8), ("guarded", "solver", 8))
    ]
    assert first["metrics"]["evictions"]["by_action"] == {"reclaim": 1}
    assert second["metrics"]["evictions"]["by_action"] == {}
    waits = [run["metrics"]["by_queue"]["b"]["wait"]["max"] for run in (first, second)]
    assert waits[0] < 60 < waits[1]
    larger = json.loads(tenure(*command, "--nodes", "2x8").out)["runs"]
    assert [run["gpus"] for run in larger] == [8, 16]


@pytest.mark.parametrize(
    ("clusters", "options", "problem"),
    [
        (["c", "d"], (), "--shard: is needed: records.sqlite has records of c, d"),
        (["c"], ("--shard", "x"), "'x' is none of c"),
        (["c"], ("--baseline", "easy"), "without, it is first-fit. Use first-fit"),
        (["c"], ("--resample", "1d"), "cannot be used with records of decisions"),
        (["c"], ("--seed", "1", "--seed", "2"), "use --resample or --node-failures"),
    ],
)
def test_an_option_that_does_not_fit_records_is_named(
    monkeypatch, capsys, tmp_path, clusters, options, problem
):
    tenure = in_process(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    records_of(tmp_path / "records.sqlite", clusters)
    result = tenure("play", "records.sqlite", *options)
    assert result.code == 2
    assert problem in " ".join(result.err.replace("│", "").split())


TIES = "plugins.fragmentation.ties"
TUNED = f"""
trace: records.sqlite
shard: c
config: base.yaml
vary: {{{TIES}: [fewest, most], plugins.fragmentation.copies: ["0", "10"]}}
goals: [{{figure: cluster.fragmentation}}, {{figure: all.wait.mean}}]
"""
BASE = "plugins: {fragmentation: {ties: fewest}, nodeplacement: false, gpusharingorder: false}"


def test_a_sweep_tunes_weights_and_ties_on_records(monkeypatch, capsys, tmp_path):
    tenure = in_process(monkeypatch, capsys)
    records_of(tmp_path / "records.sqlite", ["c", "d"])
    (tmp_path / "base.yaml").write_text(BASE)
    study = tmp_path / "study.yaml"
    study.write_text(TUNED)
    result = tenure("sweep", str(study), "--workers", "1", "--output", "json")
    assert result.code == 0, result.err
    points = json.loads(result.out)["points"]
    assert [(each["values"][TIES], each["values"]["plugins.fragmentation.copies"]) for each in points] == [
        *(("fewest", "0"), ("fewest", "10"), ("most", "0"), ("most", "10"))
    ]
    assert "ties: most" in (tmp_path / "study-runs" / "point-3.yaml").read_text()


def test_points_with_one_seed_share_records_that_are_read_once(monkeypatch, tmp_path):
    path = records_of(tmp_path / "records.sqlite", ["c"])
    files = {"trace": (path.name, path.read_bytes())}
    read: list[object] = []
    monkeypatch.setattr(records, "read_records", lambda *known: read.append(known) or read_records(*known))

    def built(quota: int) -> RunInput:
        described = {"format": None, "shard": "c", "nodes": None, "until": None, "resample": None}
        described |= {"settings": {}, "quotas": {"a": quota}, "config": {}}
        return build_input(SingleRun(1, 0, json.dumps(described), digest_of(files)), files)

    first, second = built(1), built(2)
    assert len(read) == 1
    assert first.trace is second.trace
    quotas = [{row.name: row.gpu_milli.quota for row in run.cluster.queues}["a"] for run in (first, second)]
    assert quotas == [1_000, 2_000]


def test_a_sweep_goes_on_while_a_server_writes_the_records(monkeypatch, capsys, tmp_path):
    tenure = in_process(monkeypatch, capsys)
    path, runs = tmp_path / "records.sqlite", tmp_path / "study-runs"
    records_of(path, ["c"])
    (tmp_path / "base.yaml").write_text(BASE)
    study = tmp_path / "study.yaml"
    study.write_text(TUNED.replace("[fewest, most]", "[fewest]"))
    command = ("sweep", str(study), "--workers", "1", "--output", "json")
    first = tenure(*command)
    (copy,) = runs.glob("*.sqlite")
    assert f"plays {copy}, a copy; delete it to play what was recorded since" in first.err
    assert copy.stat().st_mode & 0o077 == 0
    done = {each: each.stat().st_mtime_ns for each in runs.glob("*.json")}
    assert len(done) == 2

    records_of(path, ["c"])  # the server recorded more
    study.write_text(TUNED)
    again = tenure(*command)
    assert len(list(runs.glob("*.json"))) == 4
    assert {each: each.stat().st_mtime_ns for each in done} == done
    assert json.loads(again.out)["points"][:2] == json.loads(first.out)["points"]

    copy.unlink()
    assert tenure(*command).code == 0
    assert len(list(runs.glob("*.json"))) == 8


def test_a_sweep_refuses_a_database_that_has_no_records(monkeypatch, capsys, tmp_path):
    tenure = in_process(monkeypatch, capsys)
    with closing(sqlite3.connect(tmp_path / "records.sqlite")) as database:
        database.execute("CREATE TABLE other (value)")
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "study.yaml").write_text(TUNED)
    result = tenure("sweep", str(tmp_path / "study.yaml"))
    assert result.code == 2
    assert result.err == f"tenure: {tmp_path}/records.sqlite: is a database, but not a records file\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("shard: x", "Invalid value for shard: 'x' is none of c"),
        ("resample: 1d", "cannot be used with records of decisions"),
    ],
)
def test_a_study_that_does_not_fit_records_says_why(monkeypatch, capsys, tmp_path, line, problem):
    tenure = in_process(monkeypatch, capsys)
    records_of(tmp_path / "records.sqlite", ["c"])
    study = tmp_path / "study.yaml"
    study.write_text(
        f"{line}\ntrace: records.sqlite\nvary: {{quota.a: [1]}}\ngoals: [{{figure: all.wait.mean}}]"
    )
    result = tenure("sweep", str(study), "--workers", "1")
    assert result.code == 2
    assert problem in " ".join(result.err.replace("│", "").split())
