"""The state of a group and its eviction records follow from the results of its decisions."""

import pytest
from tenure.server.reports import evaluate
from tenure.v1 import report_pb2 as pb
from tenure.v1.report_pb2 import GroupState

from tests.server.reports.group_reports import (
    APPLIED,
    BINDING,
    DECIDED_AT,
    ELASTIC,
    END,
    EVICTING,
    FAILED,
    LATER,
    PATCHING,
    PAYING,
    REPORTED_AT,
    STALE,
    TELLING,
    at,
    report,
)


def evaluate_report(now: int, group: str, memory: str = "", **steps: str) -> pb.GroupStatus:
    return evaluate(report(group, memory, **steps), at(now))


def patches_to_store(found: pb.GroupStatus) -> list[str]:
    return [each.decision_id for each in found.patches]


def stored_record(failures: int, eviction: int, failure: int | None = None, unsettled: bool = False) -> str:
    """The caller's eviction record of v1 and b."""
    failed = "" if failure is None else f"last_failure_time {{ seconds: {failure} }}"
    return f"""eviction_history {{ victim: "v1" preemptor: "b" consecutive_failures: {failures} {failed}
               last_eviction_time {{ seconds: {eviction} }} result_pending: {str(unsettled).lower()} }}"""


@pytest.mark.parametrize(
    ("group", "steps", "fate", "patches"),
    [
        (EVICTING, {}, "IN_FLIGHT", []),
        (EVICTING, {"e1": APPLIED}, "IN_FLIGHT", ["p1", "p2", "p3"]),
        (EVICTING, {"e1": APPLIED, "e2": APPLIED}, "IN_FLIGHT", ["p1", "p2", "p3", "p4", "p5"]),
        (
            EVICTING,
            {"e1": APPLIED, "e2": APPLIED, "h1": APPLIED},
            "COMPLETED",
            ["p1", "p2", "p3", "p4", "p5"],
        ),
        (EVICTING, {"e1": FAILED}, "CANCELLED", ["p3"]),
        (EVICTING, {"e1": STALE}, "CANCELLED", ["p3"]),
        (EVICTING, {"e1": APPLIED, "e2": FAILED}, "CANCELLED", ["p1", "p2", "p3", "p5"]),
        (EVICTING, {"e1": LATER}, "RETRY", []),
        (EVICTING, {"e1": APPLIED, "e2": LATER}, "RETRY", ["p1", "p2", "p3"]),
        (EVICTING, {"e1": LATER, "e2": STALE}, "CANCELLED", ["p3", "p5"]),
        (EVICTING, {"e1": f"{LATER} retry_time {{ seconds: {END - 1} }}"}, "RETRY", []),
        (EVICTING, {"e1": f"{LATER} retry_time {{ seconds: {END} }}"}, "CANCELLED", ["p3"]),
        (BINDING, {}, "IN_FLIGHT", []),
        (BINDING, {"b1": APPLIED}, "IN_FLIGHT", ["p1"]),
        (BINDING, {"b1": APPLIED, "b2": APPLIED}, "COMPLETED", ["p1"]),
        (BINDING, {"b1": STALE}, "CANCELLED", []),
        (BINDING, {"b1": APPLIED, "b2": STALE}, "CANCELLED", ["p1"]),
        (ELASTIC, {"b1": STALE}, "IN_FLIGHT", []),
        (ELASTIC, {"b1": STALE, "b2": APPLIED}, "COMPLETED", ["p1"]),
        (ELASTIC, {"b1": STALE, "b2": FAILED}, "COMPLETED", []),
        (ELASTIC, {"b1": LATER, "b2": APPLIED}, "RETRY", ["p1"]),
        (TELLING, {"n1": APPLIED, "n2": APPLIED, "b1": LATER}, "RETRY", ["p1", "p2"]),
        (TELLING, {"n1": APPLIED, "n2": LATER, "b1": APPLIED}, "IN_FLIGHT", ["p1", "p3"]),
        (TELLING, {"n1": APPLIED, "b1": STALE}, "CANCELLED", ["p1"]),
        (TELLING, {"n1": LATER, "b1": STALE}, "CANCELLED", []),
        (PATCHING, {}, "COMPLETED", ["p1"]),
    ],
)
def test_state_and_patches_to_store(group: str, steps: dict[str, str], fate: str, patches: list[str]) -> None:
    found = evaluate_report(REPORTED_AT, group, **steps)
    assert GroupState.Name(found.state) == f"GROUP_STATE_{fate}"
    assert patches_to_store(found) == patches
    assert found.message


@pytest.mark.parametrize(
    ("group", "steps", "fate", "patches"),
    [
        (EVICTING, {}, "CANCELLED", []),
        (EVICTING, {"e1": LATER}, "CANCELLED", ["p3"]),
        (EVICTING, {"e1": APPLIED, "e2": APPLIED}, "CANCELLED", ["p1", "p2", "p3", "p4", "p5"]),
        (
            EVICTING,
            {"e1": APPLIED, "e2": APPLIED, "h1": APPLIED},
            "COMPLETED",
            ["p1", "p2", "p3", "p4", "p5"],
        ),
        (ELASTIC, {"b1": APPLIED}, "CANCELLED", ["p1"]),
    ],
)
def test_expired_group_is_cancelled_or_completed(
    group: str, steps: dict[str, str], fate: str, patches: list[str]
) -> None:
    assert evaluate_report(END - 1, group, **steps).state != pb.GROUP_STATE_CANCELLED
    found = evaluate_report(END, group, **steps)
    assert GroupState.Name(found.state) == f"GROUP_STATE_{fate}"
    assert patches_to_store(found) == patches


def test_ineffective_eviction_counts_one_more_failure() -> None:
    (patch,) = evaluate_report(REPORTED_AT, EVICTING, e1=FAILED).patches
    assert patch.patch.pod_group == "v1"
    row = patch.patch.set_eviction_record
    assert (row.victim, row.preemptor, row.consecutive_failures, row.result_pending) == ("v1", "b", 3, False)
    assert row.last_eviction_time.seconds == DECIDED_AT
    assert row.last_failure_time.seconds == REPORTED_AT


def test_eviction_of_an_ineffective_group_is_stored_with_its_failure() -> None:
    found = {
        each.decision_id: each.patch
        for each in evaluate_report(REPORTED_AT, EVICTING, e1=APPLIED, e2=FAILED).patches
    }
    assert found["p2"].eviction_count == 4
    assert "p4" not in found
    assert (
        found["p3"].set_eviction_record.consecutive_failures,
        found["p5"].set_eviction_record.consecutive_failures,
    ) == (3, 1)


@pytest.mark.parametrize(
    ("memory", "counts"),
    [
        (stored_record(2, DECIDED_AT - 500, DECIDED_AT - 400), True),
        (stored_record(2, DECIDED_AT - 500, DECIDED_AT), True),
        (stored_record(2, DECIDED_AT, unsettled=True), True),
        (stored_record(3, DECIDED_AT, REPORTED_AT), False),
        (stored_record(0, DECIDED_AT), False),
        (stored_record(3, DECIDED_AT + 5, unsettled=True), False),
    ],
)
def test_stored_failure_is_not_counted_again(memory: str, counts: bool) -> None:
    found = evaluate_report(REPORTED_AT, EVICTING, memory, e1=FAILED)
    assert patches_to_store(found) == (["p3"] if counts else [])


def test_repeated_report_of_a_stored_failure_changes_nothing() -> None:
    (patch,) = evaluate_report(REPORTED_AT, EVICTING, e1=FAILED).patches
    again = report(EVICTING, e1=FAILED)
    again.eviction_history.append(patch.patch.set_eviction_record)
    found = evaluate(again, at(REPORTED_AT + 30))
    assert (found.state, patches_to_store(found)) == (pb.GROUP_STATE_CANCELLED, [])


def test_retry_time_is_the_latest_of_the_failed_decisions() -> None:
    steps = {"e1": f"{LATER} retry_time {{ seconds: 1020 }}", "e2": f"{LATER} retry_time {{ seconds: 1040 }}"}
    assert evaluate_report(REPORTED_AT, EVICTING, **steps).retry_time.seconds == 1_040
    assert not evaluate_report(REPORTED_AT, EVICTING, e1=LATER).HasField("retry_time")


@pytest.mark.parametrize(
    ("now", "steps", "says"),
    [
        (
            REPORTED_AT,
            {"e1": FAILED},
            "decision e1 was not applied: the cluster rejected it; apply no further decisions",
        ),
        (REPORTED_AT, {"e1": STALE, "e2": FAILED}, "a precondition failed and 1 more"),
        (REPORTED_AT, {"e1": LATER}, "the cluster rejected it; it can be retried"),
        (END, {"e1": APPLIED}, "it expired; apply no further decisions of this group"),
    ],
)
def test_status_has_a_message(now: int, steps: dict[str, str], says: str) -> None:
    assert says in evaluate_report(now, EVICTING, **steps).message


def test_equal_reports_get_equal_statuses() -> None:
    one = report(EVICTING, e1=APPLIED, e2=LATER)
    assert evaluate(one, at(REPORTED_AT)) == evaluate(one, at(REPORTED_AT))
    assert evaluate(one, at(REPORTED_AT)).SerializeToString(deterministic=True) == evaluate(
        report(EVICTING, e2=LATER, e1=APPLIED), at(REPORTED_AT)
    ).SerializeToString(deterministic=True)


BEST_EFFORT = PAYING.replace("ATOMICITY_ALL", "ATOMICITY_BEST_EFFORT")


@pytest.mark.parametrize(
    ("group", "now", "steps", "returned"),
    [
        (PAYING, REPORTED_AT, {}, []),
        (PAYING, REPORTED_AT, {"e1": APPLIED, "e2": APPLIED, "e3": APPLIED}, []),
        (PAYING, REPORTED_AT, {"e1": LATER}, []),
        (PAYING, REPORTED_AT, {"e1": APPLIED, "e2": STALE}, ["e2 pods", "e3 groups"]),
        (PAYING, REPORTED_AT, {"e1": FAILED}, ["e1 pods", "e2 pods", "e1 groups", "e3 groups"]),
        (PAYING, END, {"e1": APPLIED, "e2": LATER}, ["e2 pods", "e3 groups"]),
        (BEST_EFFORT, REPORTED_AT, {"e1": APPLIED, "e2": FAILED, "e3": LATER}, ["e2 pods"]),
        (BEST_EFFORT, REPORTED_AT, {"e1": FAILED, "e2": FAILED}, ["e1 pods", "e2 pods", "e1 groups"]),
    ],
)
def test_tokens_of_evictions_that_are_not_made_are_returned(
    group: str, now: int, steps: dict[str, str], returned: list[str]
) -> None:
    """R15.9. One that evictions of a pod group share returns if none of them was made."""
    found = evaluate_report(now, group, **steps).patches
    assert [f"{each.decision_id} {each.returned_tokens.name}" for each in found] == returned
    assert all(each.returned_tokens.tokens_milli == 1_000 for each in found)
