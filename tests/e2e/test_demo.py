"""`tenure demo` as a process: the story it tells is what the server decided."""

import re
import socket
from pathlib import Path

import pytest
from google.protobuf.json_format import Parse
from tenure.client.snapshot_file import read_snapshot
from tenure.v1.decision_pb2 import (
    OUTCOME_KIND_BOUND,
    OUTCOME_KIND_WAITING_FOR_VICTIMS,
    PROTECTION_SCOPE_ALL,
    PROTECTION_SCOPE_UNSPECIFIED,
)
from tenure.v1.decision_service_pb2 import DecideResponse

from tests.e2e.command import SAMPLE, tenure
from tests.verify import verify


@pytest.fixture(scope="module")
def told() -> str:
    """What the demo prints, with all white space alike."""
    run = tenure("demo")
    assert (run.returncode, run.stderr) == (0, "")
    return " ".join(run.stdout.split())


@pytest.fixture(scope="module")
def answer() -> DecideResponse:
    run = tenure("demo", "--output", "json")
    assert (run.returncode, run.stderr) == (0, "")
    return Parse(run.stdout, DecideResponse())


def steps(answer: DecideResponse, action: str, kind: str) -> list[tuple[str, str]]:
    """Steps of one kind that an action decided, as (pod, beneficiary)."""
    found = [(group, step) for group in answer.groups for step in group.decisions if group.action == action]
    return [
        (getattr(step, kind).pod, group.beneficiary)
        for group, step in found
        if step.WhichOneof("step") == kind
    ]


@pytest.mark.parametrize(
    "fact",
    [
        "At 10:35 UTC: 2 pod groups start now, 2 start as soon as 3 pods of others leave and 1 must wait.",
        "captioner serving 1 gpu-3",
        "etl-loader analytics 1 gpu-",
        "distill language gpu-2 and gpu-4 2 pods of sweep have left",
        "month-end analytics gpu-4 1 pod of backfill-us has left",
        "sweep 2 distill its queue is above its share, the other below",
        "backfill-us 1 month-end lower priority in the same queue",
        "for another 7m, until 10:42 UTC",
        "notebook everyone as long as it runs",
        "What to notice",
        "What to try next",
    ],
)
def test_the_demo_says(told: str, fact: str) -> None:
    assert fact in told


def test_no_colour_codes_are_printed_when_nobody_looks(told: str) -> None:
    assert "\x1b" not in told


def test_free_room_is_given_away(answer: DecideResponse) -> None:
    assert {pod for pod, _ in steps(answer, "allocate", "bind")} == {"captioner-0", "etl-loader-0"}


def test_a_queue_below_its_share_reclaims_the_extra_pods_of_an_elastic_pod_group(
    answer: DecideResponse,
) -> None:
    victims = steps(answer, "reclaim", "evict")
    assert [(pod.rpartition("-")[0], beneficiary) for pod, beneficiary in victims] == [
        ("sweep", "distill")
    ] * 2
    assert {pod for pod, _ in steps(answer, "reclaim", "hold")} == {"distill-0", "distill-1"}


def test_a_higher_priority_preempts_in_its_own_queue(answer: DecideResponse) -> None:
    assert steps(answer, "preempt", "evict") == [("backfill-us-0", "month-end")]


def test_who_has_not_run_for_its_minimum_is_left_alone_and_told_until_when(answer: DecideResponse) -> None:
    within, guard = (p for p in answer.protections if p.pod_group == "finetune")
    assert (guard.guard, guard.against, guard.source) == ("minruntime", "research", "queue vision")
    assert (list(guard.actions), guard.scope) == (
        ["reclaim", "consolidation", "requeue"],
        PROTECTION_SCOPE_ALL,
    )
    assert guard.until.ToJsonString() == answer.next_wake_time.ToJsonString() == "2025-03-03T10:42:00Z"
    assert (within.guard, within.against, within.scope) == (
        "minruntime",
        "vision",
        PROTECTION_SCOPE_UNSPECIFIED,
    )


def test_nothing_in_the_demo_is_doubtful_and_nobody_is_expected_to_end(answer: DecideResponse) -> None:
    assert (list(answer.warnings), list(answer.nominations)) == ([], [])


def test_every_eviction_of_the_demo_names_the_guards_that_let_it_pass(answer: DecideResponse) -> None:
    evicts = [step.evict for group in answer.groups for step in group.decisions if step.HasField("evict")]
    for evict in evicts:
        assert {"preemptibility", "minruntime"} <= {check.guard for check in evict.guards}
        assert {check.scope for check in evict.guards} == {PROTECTION_SCOPE_UNSPECIFIED}


def test_without_its_minimum_runtime_the_protected_one_yields(tmp_path: Path) -> None:
    copy = tmp_path / "demo.yaml"
    copy.write_text(SAMPLE.read_text().replace(": 600s", ": 60s"))
    run = tenure("decide", str(copy), "--output", "json")
    reclaimed = {pod for pod, _ in steps(Parse(run.stdout, DecideResponse()), "reclaim", "evict")}
    assert "finetune-0" in reclaimed


def test_one_pod_group_waits_with_a_reason(answer: DecideResponse) -> None:
    soon = (OUTCOME_KIND_BOUND, OUTCOME_KIND_WAITING_FOR_VICTIMS)
    (waiting,) = (outcome for outcome in answer.outcomes if outcome.kind not in soon)
    assert waiting.pod_group == "nightly-eval"
    assert waiting.reason.message


def test_the_answer_is_sound(answer: DecideResponse) -> None:
    assert verify(read_snapshot(str(SAMPLE)), answer) == []


def test_the_server_is_gone_afterwards() -> None:
    said = tenure("demo").stdout
    port = int(re.findall(r"127\.0\.0\.1:(\d+)", said)[0])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_the_same_answer_is_given_twice(answer: DecideResponse) -> None:
    assert Parse(tenure("demo", "--output", "json").stdout, DecideResponse()) == answer
