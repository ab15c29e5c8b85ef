"""What to do with a group by what became of its steps, and what to remember of it."""

import pytest
from tenure.server.outcomes import judged
from tenure.v1 import outcome_pb2 as pb
from tenure.v1.outcome_pb2 import GroupFate

from tests.outcomes.groups import (
    APPLIED,
    BINDING,
    DECIDED,
    ELASTIC,
    END,
    EVICTING,
    FAILED,
    LATER,
    NOTING,
    REPORTED,
    STALE,
    at,
    report,
)


def verdict(now: int, group: str, memory: str = "", **steps: str) -> pb.GroupVerdict:
    return judged(report(group, memory, **steps), at(now))


def due(found: pb.GroupVerdict) -> list[str]:
    return [each.decision_id for each in found.patches]


def kept(failures: int, eviction: int, failure: int | None = None, unsettled: bool = False) -> str:
    """What the caller keeps of v1 and b."""
    failed = "" if failure is None else f"last_failure_time {{ seconds: {failure} }}"
    return f"""eviction_memory {{ victim: "v1" preemptor: "b" failures: {failures} {failed}
               last_eviction_time {{ seconds: {eviction} }} unsettled: {str(unsettled).lower()} }}"""


@pytest.mark.parametrize(
    ("group", "steps", "fate", "patches"),
    [
        (EVICTING, {}, "IN_FLIGHT", []),
        (EVICTING, {"e1": APPLIED}, "IN_FLIGHT", ["p1", "p2", "p3"]),
        (EVICTING, {"e1": APPLIED, "e2": APPLIED}, "IN_FLIGHT", ["p1", "p2", "p3", "p4", "p5"]),
        (
            EVICTING,
            {"e1": APPLIED, "e2": APPLIED, "h1": APPLIED},
            "FINISHED",
            ["p1", "p2", "p3", "p4", "p5"],
        ),
        (EVICTING, {"e1": FAILED}, "CANCEL", ["p3"]),
        (EVICTING, {"e1": STALE}, "CANCEL", ["p3"]),
        (EVICTING, {"e1": APPLIED, "e2": FAILED}, "CANCEL", ["p1", "p2", "p3", "p5"]),
        (EVICTING, {"e1": LATER}, "RETRY", []),
        (EVICTING, {"e1": APPLIED, "e2": LATER}, "RETRY", ["p1", "p2", "p3"]),
        (EVICTING, {"e1": LATER, "e2": STALE}, "CANCEL", ["p3", "p5"]),
        (EVICTING, {"e1": f"{LATER} retry_time {{ seconds: {END - 1} }}"}, "RETRY", []),
        (EVICTING, {"e1": f"{LATER} retry_time {{ seconds: {END} }}"}, "CANCEL", ["p3"]),
        (BINDING, {}, "IN_FLIGHT", []),
        (BINDING, {"b1": APPLIED}, "IN_FLIGHT", ["p1"]),
        (BINDING, {"b1": APPLIED, "b2": APPLIED}, "FINISHED", ["p1"]),
        (BINDING, {"b1": STALE}, "CANCEL", []),
        (BINDING, {"b1": APPLIED, "b2": STALE}, "CANCEL", ["p1"]),
        (ELASTIC, {"b1": STALE}, "IN_FLIGHT", []),
        (ELASTIC, {"b1": STALE, "b2": APPLIED}, "FINISHED", ["p1"]),
        (ELASTIC, {"b1": STALE, "b2": FAILED}, "FINISHED", []),
        (ELASTIC, {"b1": LATER, "b2": APPLIED}, "RETRY", ["p1"]),
        (NOTING, {}, "FINISHED", ["p1"]),
    ],
)
def test_fate_and_due_patches(group: str, steps: dict[str, str], fate: str, patches: list[str]) -> None:
    found = verdict(REPORTED, group, **steps)
    assert GroupFate.Name(found.fate) == f"GROUP_FATE_{fate}"
    assert due(found) == patches
    assert found.message


@pytest.mark.parametrize(
    ("group", "steps", "fate", "patches"),
    [
        (EVICTING, {}, "CANCEL", []),
        (EVICTING, {"e1": LATER}, "CANCEL", ["p3"]),
        (EVICTING, {"e1": APPLIED, "e2": APPLIED}, "CANCEL", ["p1", "p2", "p3", "p4", "p5"]),
        (EVICTING, {"e1": APPLIED, "e2": APPLIED, "h1": APPLIED}, "FINISHED", ["p1", "p2", "p3", "p4", "p5"]),
        (ELASTIC, {"b1": APPLIED}, "CANCEL", ["p1"]),
    ],
)
def test_when_the_time_is_over_what_is_not_done_is_left(
    group: str, steps: dict[str, str], fate: str, patches: list[str]
) -> None:
    assert verdict(END - 1, group, **steps).fate != pb.GROUP_FATE_CANCEL
    found = verdict(END, group, **steps)
    assert GroupFate.Name(found.fate) == f"GROUP_FATE_{fate}"
    assert due(found) == patches


def test_an_eviction_that_came_to_nothing_counts_one_failure_more() -> None:
    (patch,) = verdict(REPORTED, EVICTING, e1=FAILED).patches
    assert patch.patch.pod_group == "v1"
    row = patch.patch.remember
    assert (row.victim, row.preemptor, row.failures, row.unsettled) == ("v1", "b", 3, False)
    assert row.last_eviction_time.seconds == DECIDED
    assert row.last_failure_time.seconds == REPORTED


def test_who_was_evicted_in_vain_was_evicted_nevertheless() -> None:
    found = {
        each.decision_id: each.patch for each in verdict(REPORTED, EVICTING, e1=APPLIED, e2=FAILED).patches
    }
    assert found["p2"].eviction_count == 4
    assert "p4" not in found
    assert (found["p3"].remember.failures, found["p5"].remember.failures) == (3, 1)


@pytest.mark.parametrize(
    ("memory", "counts"),
    [
        (kept(2, DECIDED - 500, DECIDED - 400), True),
        (kept(2, DECIDED - 500, DECIDED), True),
        (kept(2, DECIDED, unsettled=True), True),
        (kept(3, DECIDED, REPORTED), False),
        (kept(0, DECIDED), False),
        (kept(3, DECIDED + 5, unsettled=True), False),
    ],
)
def test_a_failure_that_is_known_already_is_not_counted_again(memory: str, counts: bool) -> None:
    found = verdict(REPORTED, EVICTING, memory, e1=FAILED)
    assert due(found) == (["p3"] if counts else [])


def test_a_failure_that_was_stored_changes_nothing_when_it_is_reported_again() -> None:
    (patch,) = verdict(REPORTED, EVICTING, e1=FAILED).patches
    again = report(EVICTING, e1=FAILED)
    again.eviction_memory.append(patch.patch.remember)
    found = judged(again, at(REPORTED + 30))
    assert (found.fate, due(found)) == (pb.GROUP_FATE_CANCEL, [])


def test_a_retry_waits_for_the_last_of_those_that_failed() -> None:
    steps = {"e1": f"{LATER} retry_time {{ seconds: 1020 }}", "e2": f"{LATER} retry_time {{ seconds: 1040 }}"}
    assert verdict(REPORTED, EVICTING, **steps).retry_time.seconds == 1_040
    assert not verdict(REPORTED, EVICTING, e1=LATER).HasField("retry_time")


@pytest.mark.parametrize(
    ("now", "steps", "says"),
    [
        (REPORTED, {"e1": FAILED}, "step e1 was not taken, for the cluster refused it: take no further step"),
        (REPORTED, {"e1": STALE, "e2": FAILED}, "what it relied on has changed, as were 1 more"),
        (REPORTED, {"e1": LATER}, "the cluster refused it; it may be tried again"),
        (END, {"e1": APPLIED}, "its time is over: take no further step of it"),
    ],
)
def test_the_verdict_says_why(now: int, steps: dict[str, str], says: str) -> None:
    assert says in verdict(now, EVICTING, **steps).message


def test_equal_reports_get_equal_verdicts() -> None:
    one = report(EVICTING, e1=APPLIED, e2=LATER)
    assert judged(one, at(REPORTED)) == judged(one, at(REPORTED))
    assert judged(one, at(REPORTED)).SerializeToString(deterministic=True) == judged(
        report(EVICTING, e2=LATER, e1=APPLIED), at(REPORTED)
    ).SerializeToString(deterministic=True)
