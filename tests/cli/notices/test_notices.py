"""Notices of eviction in commands, from `tenure simulate` to `explain`: given, standing, withdrawn."""

import json
from pathlib import Path

import pytest

from tests.cli.command import Tenure, in_process

CLUSTER = """
cluster_id: c
version: 1
now: "2025-03-03T{now}:00Z"
nodes:
  - {{name: n1, allocatable: {{cpu_milli: 8000, memory_bytes: 1000000000, gpu_milli: {gpus}, pods: 100}}}}
queues:
  - {{name: q, gpu_milli: {{quota: 2000}}, preempt_min_runtime: 3600s}}
shapes:
  - {{id: one-gpu, gpu: {{devices: 1}}}}
pod_groups:
  - {{uid: train, name: train, queue: q, priority: 50, notice: {notice}, termination_grace: 30s,
     creation_time: "2025-03-03T09:00:00Z", last_start_time: "2025-03-03T09:36:00Z",
     last_notice_time: "2025-03-03T{told}:00Z"}}
  - {{uid: other, name: other, queue: q, priority: 60, creation_time: "2025-03-03T08:00:00Z",
     last_start_time: "2025-03-03T09:00:00Z"}}
  - {{uid: urgent, name: urgent, queue: q, priority: {priority}, creation_time: "2025-03-03T10:34:00Z"}}
pods:
  - {{uid: train-0, pod_group: train, shape: one-gpu, status: RUNNING, node: n1}}
  - {{uid: other-0, pod_group: other, shape: one-gpu, status: RUNNING, node: n1}}
  - {{uid: urgent-0, pod_group: urgent, shape: one-gpu, status: PENDING}}
"""
IN_FLIGHT = """
in_flight_groups:
  - id: g1
    action: preempt
    beneficiary: urgent
    expire_time: "2025-03-03T10:42:00Z"
    evict_time: "2025-03-03T10:37:00Z"
    notices: [{pod: train-0, node: n1, pod_group: train}]
    reservations: [{pod: urgent-0, node: n1, pod_group: urgent}]
"""
BEGIN = {"now": "10:35", "told": "08:00", "gpus": 2000, "notice": "120s", "priority": 75}
LATER = {**BEGIN, "now": "10:36", "told": "10:35"}
STATES = {
    "given": CLUSTER.format(**BEGIN),
    "standing": CLUSTER.format(**LATER) + IN_FLIGHT,
    "withdrawn": CLUSTER.format(**{**LATER, "gpus": 3000}) + IN_FLIGHT,
    "equal": CLUSTER.format(**{**BEGIN, "priority": 50, "notice": "1200s"}),
}


@pytest.fixture
def tenure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Tenure:
    """Run a command on a state, with a configuration that gives notices."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    command = in_process(monkeypatch, capsys)
    (tmp_path / "notices.yaml").write_text("options: {maxNotice: 1h}")
    for name, text in STATES.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return command


def output(tenure: Tenure, command: str, state: str, *arguments: str) -> str:
    option = "--in-force" if command == "simulate" else "--config"
    ended = tenure(command, f"{state}.yaml", *arguments, option, "notices.yaml")
    assert (ended.code, ended.err) == (0, "")
    return " ".join(ended.out.split())


def test_simulation_shows_who_gets_notice_first_and_when_the_preemptor_starts(tenure: Tenure) -> None:
    out = output(tenure, "simulate", "given", "--cycles", "6")
    cycles = [
        "1 pod group waiting for 1 pod with notice.",
        "train q notice of eviction at 10:37 UTC (in 2m) for urgent: 1 pod",
        "urgent q 1 pod waiting for capacity, until 10:37 UTC (in 2m30s) at least",
        "Cycle 2, 10:36 UTC: 1 pod group waiting for pods with notice.",
        "Cycle 3, 10:37 UTC: 1 pod group waiting for 1 evicted pod.",
        "train q evicted: 1 pod for urgent",
        "urgent q 1 pod scheduled",
    ]
    places = [out.index(text) for text in cycles]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("state", "texts"),
    [
        (
            "given",
            [
                "urgent q n1 1 pod of train, until 10:37 UTC (in 2m30s) at least",
                "With notice Pod group Pods Evicted at Evicted for Action Given",
                "train 1 10:37 UTC (in 2m) urgent preempt now",
            ],
        ),
        (
            "standing",
            [
                "1 pod group waiting for 1 pod with notice.",
                "train 1 10:37 UTC (in 1m) urgent preempt 10:35 UTC",
            ],
        ),
        (
            "withdrawn",
            ["1 pod group scheduled.", "g1 urgent cancelled, drop it its pods fit on free capacity"],
        ),
    ],
)
def test_report_lists_the_notices_that_stand(tenure: Tenure, state: str, texts: list[str]) -> None:
    out = output(tenure, "decide", state)
    for text in texts:
        assert text in out
    assert ("With notice" in out) == (state != "withdrawn")


def test_simulation_shows_that_a_notice_is_withdrawn(tenure: Tenure) -> None:
    assert "train q notice withdrawn for urgent: 1 pod" in output(tenure, "simulate", "withdrawn")


@pytest.mark.parametrize(
    ("state", "notices"),
    [
        ("given", [{"evict_time": "2025-03-03T10:37:00Z", "given_time": None}]),
        (
            "standing",
            [{"evict_time": "2025-03-03T10:37:00Z", "given_time": "2025-03-03T10:35:00Z"}],
        ),
        ("withdrawn", []),
    ],
)
def test_workloads_tell_the_notices_that_stand(
    tenure: Tenure, state: str, notices: list[dict[str, str | None]]
) -> None:
    rows = {
        row["uid"]: row
        for row in json.loads(output(tenure, "workloads", state, "--output", "json"))["workloads"]
    }
    common = {"pods": 1, "action": "preempt", "pod_group": "urgent"}
    assert rows["train"]["notices"] == [{**common, **notice} for notice in notices]
    assert rows["other"]["notices"] == []
    table = output(tenure, "workloads", state)
    assert ("notice: evicted at 10:37 UTC" in table) == bool(notices)


def test_pod_with_notice_has_no_place_among_the_next_victims(tenure: Tenure) -> None:
    rows = json.loads(output(tenure, "workloads", "standing", "--output", "json"))["workloads"]
    places = {row["uid"]: row["as_victim"] and row["as_victim"]["place"] for row in rows}
    assert places == {"train": None, "other": 1, "urgent": None}


TRAIN, URGENT = "pod group train (queue q)", "pod group urgent (queue q)"
END = "2025-03-03 10:37:00 UTC"


@pytest.mark.parametrize(
    ("state", "question", "text"),
    [
        ("given", ["why-pending", "urgent"], f"waits for 1 pod of train, with notice until {END}."),
        (
            "given",
            ["why-victim", "train"],
            f"given notice, and evicted for {URGENT} by preempt at {END}: the pre",
        ),
        (
            "given",
            ["why-victim", "train"],
            "minruntime (protection ends 2025-03-03 10:36:00 UTC, within the notice, queue q)",
        ),
        (
            "given",
            ["protected-until", "train"],
            f"1 pod of {TRAIN} is given notice in this cycle: preempt evicts it for {URGENT} at {END}. ",
        ),
        (
            "given",
            ["why-not-victim", "train", "--for", "urgent"],
            f"train (queue q) is evicted for {URGENT}.",
        ),
        ("standing", ["why-pending", "urgent"], f"waits for 1 pod of train, with notice until {END}."),
        (
            "standing",
            ["why-victim", "train"],
            f"1 pod of {TRAIN} has had notice since 2025-03-03 10:35:00 UTC: preempt evicts it for {URGENT} "
            f"at {END}, unless the notice is withdrawn. Reason: the preemptor has higher priority in the same"
            " queue.",
        ),
        ("standing", ["protected-until", "train"], "has had notice since 2025-03-03 10:35:00 UTC"),
        (
            "standing",
            ["why-not-victim", "train", "--for", "urgent"],
            f"train (queue q) has notice, and is evicted for {URGENT}.",
        ),
        (
            "withdrawn",
            ["why-victim", "train"],
            f"The notice of 1 pod of {TRAIN} is withdrawn: {URGENT} does not need the eviction, or may no "
            "longer cause it (its pods fit on free capacity).",
        ),
    ],
)
def test_explanations_tell_for_whom_when_and_why(
    tenure: Tenure, state: str, question: list[str], text: str
) -> None:
    assert text in output(tenure, "explain", state, *question)


@pytest.mark.parametrize("question", ["why-victim", "protected-until"])
def test_tenants_read_no_names_of_others_in_a_notice(tenure: Tenure, question: str) -> None:
    out = output(tenure, "explain", "standing", question, "train", "--audience", "tenant")
    assert "for another workload of its queue at" in out
    assert "urgent" not in out


def test_remedy_that_takes_a_long_notice_is_verified_to_its_end(tenure: Tenure) -> None:
    """Twenty minutes of notice are longer than five cycles."""
    out = output(tenure, "explain", "equal", "why-pending", "urgent")
    assert "raise its priority from 50 to 51; it starts after 1 pod of other pod groups is evicted" in out
