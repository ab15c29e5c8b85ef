"""`tenure demo` as a process: its text matches the decisions of the server."""

import re
import socket
from pathlib import Path

import pytest
from google.protobuf.json_format import Parse
from tenure.client.snapshot_file import read_snapshot
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import (
    OUTCOME_KIND_BOUND,
    OUTCOME_KIND_WAITING_FOR_VICTIMS,
    PROTECTION_SCOPE_ALL,
    PROTECTION_SCOPE_UNSPECIFIED,
)

from tests.checker import verify
from tests.e2e.command import SAMPLE, run_tenure


@pytest.fixture(scope="module")
def demo_output() -> str:
    """Output of the demo, with whitespace normalized."""
    run = run_tenure("demo")
    assert (run.returncode, run.stderr) == (0, "")
    return " ".join(run.stdout.split())


@pytest.fixture(scope="module")
def demo_response() -> DecideResponse:
    run = run_tenure("demo", "--output", "json")
    assert (run.returncode, run.stderr) == (0, "")
    return Parse(run.stdout, DecideResponse())


def steps(answer: DecideResponse, action: str, kind: str) -> list[tuple[str, str]]:
    """Decisions of one kind and action, as (pod, beneficiary)."""
    found = [(group, step) for group in answer.groups for step in group.decisions if group.action == action]
    return [
        (getattr(step, kind).pod, group.beneficiary)
        for group, step in found
        if step.WhichOneof("kind") == kind
    ]


@pytest.mark.parametrize(
    "fact",
    [
        "10:35 UTC: 2 pod groups scheduled, 2 waiting for 3 evicted pods and 1 pending.",
        "captioner serving 1 gpu-3",
        "etl-loader analytics 1 gpu-",
        "distill language gpu-2 and gpu-4 2 pods of sweep",
        "month-end analytics gpu-4 1 pod of backfill-us",
        "sweep 2 distill its queue has more than it may keep, and the preemptor's queue is below its "
        "fair share",
        "backfill-us 1 month-end the preemptor has higher priority in the same queue",
        "10:42 UTC (in 7m)",
        "notebook all while running",
        "What to notice",
        "Next steps",
    ],
)
def test_demo_prints_the_fact(demo_output: str, fact: str) -> None:
    assert fact in demo_output


def test_output_without_terminal_has_no_color_codes(demo_output: str) -> None:
    assert "\x1b" not in demo_output


def test_free_capacity_is_allocated(demo_response: DecideResponse) -> None:
    assert {pod for pod, _ in steps(demo_response, "allocate", "bind")} == {"captioner-0", "etl-loader-0"}


def test_queue_below_its_fair_share_reclaims_surplus_pods_of_an_elastic_pod_group(
    demo_response: DecideResponse,
) -> None:
    victims = steps(demo_response, "reclaim", "evict")
    assert [(pod.rpartition("-")[0], beneficiary) for pod, beneficiary in victims] == [
        ("sweep", "distill")
    ] * 2
    assert {pod for pod, _ in steps(demo_response, "reclaim", "reserve")} == {"distill-0", "distill-1"}


def test_a_higher_priority_preempts_in_its_own_queue(demo_response: DecideResponse) -> None:
    assert steps(demo_response, "preempt", "evict") == [("backfill-us-0", "month-end")]


def test_pod_group_within_its_minimum_runtime_is_protected_with_an_end_time(
    demo_response: DecideResponse,
) -> None:
    within, guard = (p for p in demo_response.protections if p.pod_group == "finetune")
    assert (guard.guard, guard.against, guard.source) == ("minruntime", "research", "queue vision")
    assert (list(guard.actions), guard.scope) == (
        ["reclaim", "consolidation", "requeue"],
        PROTECTION_SCOPE_ALL,
    )
    assert guard.until.ToJsonString() == demo_response.next_wake_time.ToJsonString() == "2025-03-03T10:42:00Z"
    assert (within.guard, within.against, within.scope) == (
        "minruntime",
        "vision",
        PROTECTION_SCOPE_UNSPECIFIED,
    )


def test_demo_has_no_warnings_and_no_nominations(demo_response: DecideResponse) -> None:
    assert (list(demo_response.warnings), list(demo_response.nominations)) == ([], [])


def test_every_eviction_names_the_guards_that_allowed_it(demo_response: DecideResponse) -> None:
    evicts = [
        step.evict for group in demo_response.groups for step in group.decisions if step.HasField("evict")
    ]
    for evict in evicts:
        assert {"preemptibility", "minruntime"} <= {check.guard for check in evict.guards}
        assert {check.scope for check in evict.guards} == {PROTECTION_SCOPE_UNSPECIFIED}


def test_protected_pod_group_is_evicted_without_its_minimum_runtime(tmp_path: Path) -> None:
    copy = tmp_path / "demo.yaml"
    copy.write_text(SAMPLE.read_text().replace(": 10m", ": 1m"))
    run = run_tenure("decide", str(copy), "--output", "json")
    reclaimed = {pod for pod, _ in steps(Parse(run.stdout, DecideResponse()), "reclaim", "evict")}
    assert "finetune-0" in reclaimed


def test_one_pod_group_is_pending_with_a_reason(demo_response: DecideResponse) -> None:
    soon = (OUTCOME_KIND_BOUND, OUTCOME_KIND_WAITING_FOR_VICTIMS)
    (waiting,) = (outcome for outcome in demo_response.outcomes if outcome.kind not in soon)
    assert waiting.pod_group == "nightly-eval"
    assert waiting.reason.message


def test_response_passes_the_checker(demo_response: DecideResponse) -> None:
    assert verify(read_snapshot(str(SAMPLE)), demo_response) == []


def test_server_is_stopped_afterwards() -> None:
    output = run_tenure("demo").stdout
    port = int(re.findall(r"127\.0\.0\.1:(\d+)", output)[0])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_second_run_returns_the_same_response(demo_response: DecideResponse) -> None:
    assert Parse(run_tenure("demo", "--output", "json").stdout, DecideResponse()) == demo_response
