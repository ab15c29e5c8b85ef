"""The commands `tenure simulate` and `tenure explain`."""

import json
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToJson

from tests.cli.command import CommandResult, Tenure, in_process
from tests.server.servers import run_server
from tests.server.service.gpu_cluster import GpuCluster

SAMPLE = str(Path(__file__).parents[2] / "server/tenure/cli/samples/two-departments.yaml")
PROBE = """
pod_groups:
  - {uid: probe, name: probe, queue: vision, priority: 60, creation_time: "2025-03-03T10:35:00Z"}
pods:
  - {uid: probe-0, pod_group: probe, shape: one-gpu, status: POD_STATUS_PENDING}
"""


@pytest.fixture
def tenure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tenure:
    """Run a command on the sample."""
    monkeypatch.setenv("COLUMNS", "200")
    command = in_process(monkeypatch, capsys)
    return lambda name, *arguments: command(name, SAMPLE, *arguments)


@pytest.fixture
def probe(tmp_path: Path) -> str:
    file = tmp_path / "probe.yaml"
    file.write_text(PROBE)
    return str(file)


def output_text(ended: CommandResult) -> str:
    assert (ended.code, ended.err) == (0, "")
    return " ".join(ended.out.split())


def test_simulation_with_a_new_job_shows_changed_outcomes_beside_the_baseline(
    tenure: Tenure, probe: str
) -> None:
    out = output_text(tenure("simulate", "--with", probe))
    assert "probe vision does not exist" in out
    assert "Simulation only" in out


def test_simulation_without_a_change_tells_what_happens(tenure: Tenure) -> None:
    out = output_text(tenure("simulate", "--cycles", "60"))
    assert out.startswith(
        "Cycle 1, 10:35 UTC: 2 pod groups scheduled, 2 waiting for 3 evicted pods and 1 pending."
    )
    assert "What happens Pod group Queue Outcome" in out
    assert "distill language 2 pods scheduled" in out
    assert "Cycles 4 to 60, 10:38 UTC to 11:34 UTC: 3 pod groups pending. Simulation only" in out
    assert "No outcome changes" not in out


def test_one_cycle_without_a_change_is_a_decision(tenure: Tenure) -> None:
    out = output_text(tenure("simulate"))
    assert "What happens" in out
    assert "sweep vision evicted: 2 pods for distill" in out


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("node=gpu-4", "notebook analytics keeps running has no capacity: "),
        ("pod_group=distill", "distill language 2 pods waiting for capacity does not exist"),
        ("pod=sweep-4", "month-end analytics 1 pod waiting for capacity 1 pod scheduled"),
        ("queue=analytics", "month-end analytics 1 pod waiting for capacity has an invalid definition"),
    ],
)
def test_removed_object_is_removed_with_its_dependents(tenure: Tenure, what: str, line: str) -> None:
    assert line in output_text(tenure("simulate", "--without", what))


def test_every_cycle_is_shown(tenure: Tenure) -> None:
    out = output_text(
        tenure("simulate", "--without", "pod_group=distill", "--cycles", "3", "--interval", "30s")
    )
    assert [f"Cycle {n}, 10:3{m} UTC" in out for n, m in ((1, 5), (2, 5), (3, 6))] == [True] * 3


def test_simulation_time_can_be_in_the_future(tenure: Tenure) -> None:
    out = output_text(tenure("simulate", "--now", "2025-03-03T10:42:00Z"))
    assert "finetune vision keeps running evicted: 1 pod for distill" in out


def test_json_contains_the_responses_of_all_cycles(tenure: Tenure, probe: str) -> None:
    answer = json.loads(tenure("simulate", "--with", probe, "--cycles", "2", "--output", "json").out)
    assert [each["header"]["now"] for each in answer["cycles"]] == [
        "2025-03-03T10:35:00Z",
        "2025-03-03T10:36:00Z",
    ]


QUESTIONS = (
    ("why-pending", "nightly-eval"),
    ("why-victim", "sweep"),
    ("why-not-victim", "finetune", "--for", "distill"),
    ("protected-until", "finetune"),
    ("when-starts", "nightly-eval"),
)


def test_server_and_local_commands_print_the_same(tenure: Tenure, probe: str) -> None:
    with run_server() as (_, address):
        for command in (("simulate", "--with", probe), *(("explain", *question) for question in QUESTIONS)):
            assert tenure(*command, "--server", address) == tenure(*command)


def test_remedies_are_listed(tenure: Tenure) -> None:
    out = tenure("explain", "why-pending", "nightly-eval").out
    assert "Remedies:\n· raise its priority from 40 to 41; it starts after 1 pod of other pod groups" in out


def test_without_a_name_all_that_wait_are_listed_by_place(tenure: Tenure) -> None:
    out = tenure("explain", "when-starts").out
    assert "Of 5 pod groups, 4 start within 6m, if nothing more important arrives." in out
    assert "nightly-eval   vision          1            0   not known" in out
    assert "When they start" not in tenure("explain", "when-starts", "--audience", "tenant").out


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("audience", ["public", "tenant"])
def test_json_for_public_and_tenant_contains_only_their_part(
    tenure: Tenure, question: tuple[str, ...], audience: str
) -> None:
    answer = json.loads(tenure("explain", *question, "--audience", audience, "--output", "json").out)
    assert list(answer["explanation"]) == [audience]
    assert not {"reasons", "protections", "start_estimates"} & set(answer)
    assert all(list(each["explanation"]) == [audience] for each in answer.get("remedies", []))
    assert "sweep" not in json.dumps(answer) or "sweep" in question


def test_json_for_operators_contains_every_audience(tenure: Tenure) -> None:
    answer = json.loads(tenure("explain", *QUESTIONS[0], "--output", "json").out)
    assert {"explanation", "reasons", "remedies"} <= set(answer)
    assert list(answer["explanation"]) == ["public", "tenant", "operator"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("explain", "why-pending", "nightly"),
            "unknown pod group 'nightly'; did you mean nightly-eval?",
        ),
        (("explain", "why-pending", "zzz"), "unknown pod group 'zzz'\n"),
        (("explain", "why-pending"), "NAME"),
        (("explain", "why-not-victim", "sweep"), "is required with why-not-victim, and invalid otherwise"),
        (
            ("explain", "protected-until", "sweep", "--for", "x"),
            "is required with why-not-victim, and invalid otherwise",
        ),
        (("explain", "why-not-victim", "sweep", "--for", "distil"), "did you mean distill?"),
        (
            ("simulate", "--without", "gpu-4"),
            "'gpu-4' is not KIND=KEY with a kind of node, queue, pod_group, pod",
        ),
        (("simulate", "--without", "node=gpu-9"), "unknown node 'gpu-9'; did you mean gpu-"),
        (("simulate", "--without", "queue=visio"), "unknown queue 'visio'; did you mean vision?"),
        (("simulate", "--without", "pod=x"), "unknown pod 'x'"),
        (("simulate", "--interval", "5"), "'5' is not a duration"),
        (("simulate", "--interval", "0s"), "interval: is not above zero"),
        (("simulate", "--now", "noon"), "'noon' is not a time; use RFC 3339, such as 2025-03-03T10:42:00Z"),
        (("simulate", "--cycles", "101"), "Invalid value for '--cycles'"),
        (("simulate", "--with", "missing.yaml"), "missing.yaml: cannot be read"),
        (
            ("explain", "why-pending", "sweep", "--server", "localhost:1", "--config", "x"),
            "the server uses its own configuration",
        ),
    ],
)
def test_invalid_use_is_reported_without_traceback(
    tenure: Tenure, arguments: tuple[str, ...], message: str
) -> None:
    ended = tenure(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_reason_that_decisions_before_its_end_may_change_says_so_and_waiting_is_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`loser` is evicted, comes back, and is faster than `job` when the protection of `young` ends."""
    cluster = GpuCluster().node("n1", 2).queue("q", quota=2, preempt_min_runtime="1h")
    cluster.job("young", "q", on="n1", ran="45m", priority=20).job("loser", "q", on="n1", priority=60)
    snapshot = tmp_path / "cluster.json"
    cluster.job("urgent", "q", priority=90).job("job", "q", priority=40)
    snapshot.write_text(MessageToJson(cluster.snapshot))
    monkeypatch.setenv("COLUMNS", "200")
    command = in_process(monkeypatch, capsys)
    assert "pod group loser that this cycle evicts may come first; may change at 10:50 UTC" in output_text(
        command("decide", str(snapshot))
    )
    told = output_text(command("explain", str(snapshot), "why-pending", "job"))
    assert "At 2025-03-03 10:50:00 UTC it is still pending because" in told
    assert "capacity goes to pod group loser (queue q)" in told


def test_time_that_is_left_is_stated_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = GpuCluster().node("n1", 1).queue("q", quota=1)
    cluster.job("old", "q", on="n1", ran="55m", priority=40, expected_runtime=Duration(seconds=3600))
    snapshot, config = tmp_path / "cluster.json", tmp_path / "tenure.yaml"
    snapshot.write_text(MessageToJson(cluster.job("job", "q", priority=90).snapshot))
    config.write_text("plugins: {nearcompletion: {}}")
    monkeypatch.setenv("COLUMNS", "200")
    decided = in_process(monkeypatch, capsys)("decide", str(snapshot), "--config", str(config))
    (row,) = [line for line in decided.out.splitlines() if line.startswith("job ")]
    assert "is delayed: old is close to its expected end; may change at 10:40 UTC (in 5m). What" in row


def test_table_of_pending_pod_groups_states_what_helps(tenure: Tenure) -> None:
    out = output_text(tenure("decide"))
    assert "Reason, and what helps" in out
    assert "What helps: raise its priority from 40 to 41; it starts after 1 pod of other pod groups" in out


def test_decisions_and_simulations_tell_starts_when_asked_r17_24(tenure: Tenure, probe: str) -> None:
    out = output_text(tenure("decide", "--when-starts"))
    assert "When they start Pod group Queue Place GPUs ahead Starts At the latest" in out
    assert "nightly-eval vision 1 0 not known" in out
    assert "When they start" not in output_text(tenure("decide"))
    out = output_text(tenure("simulate", "--with", probe, "--when-starts"))
    assert "Without the changes" in out
    assert "probe vision 0 by 10:36 UTC (in 1m) 10:36 UTC (in 1m) does not wait" in out
    told = json.loads(tenure("decide", "--when-starts", "--output", "json").out)["start_estimates"]
    assert {each["pod_group"]: each.get("position") for each in told}["nightly-eval"] == 1
