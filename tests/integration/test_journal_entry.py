"""The states of a journal entry: every event in every state."""

import pytest
from tenure.integration.journal_entry import (
    TRANSITIONS,
    EntryEvent,
    EntryState,
    InvalidTransition,
    JournalEntry,
)
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import report_pb2 as out

from tests.kubernetes.apply.decision_groups import NOW, bind, evict, group, reserve

APPLIED, FAILED = out.APPLY_STATUS_APPLIED, out.APPLY_STATUS_FAILED
EVENTS = ("SENT", "RESULT", "BLOCKED", "REPORTED", "CANCELLED", "DROPPED", "EXPIRED")
EXPECTED = {
    "ACCEPTED": ("UNREPORTED", "ACCEPTED", "STOPPING", None, None, None, None),
    "UNREPORTED": ("UNREPORTED", "UNREPORTED", "STOPPING", "REPORTED", "STOPPED", "CLOSING", "CLOSING"),
    "REPORTED": ("REPORTED", "UNREPORTED", "STOPPING", "REPORTED", "STOPPED", "CLOSED", "CLOSING"),
    "STOPPING": ("STOPPING", "STOPPING", "STOPPING", "STOPPED", "STOPPED", "CLOSING", "CLOSING"),
    "STOPPED": ("STOPPED", "STOPPING", "STOPPING", "STOPPED", "STOPPED", "CLOSED", "CLOSING"),
    "CLOSING": ("CLOSING", "CLOSING", "CLOSING", "CLOSED", "CLOSED", "CLOSING", "CLOSING"),
    "CLOSED": (None, None, None, None, None, None, None),
}


def result(status: int, retryable: bool = False, id: str = "evict-a") -> out.DecisionResult:
    return out.DecisionResult(decision_id=id, status=status, retryable=retryable)


def retried(seconds: int) -> out.DecisionResult:
    """A failure that is tried again after a pause."""
    made = result(FAILED, retryable=True)
    made.retry_time.FromSeconds(NOW.seconds + seconds)
    return made


def entry(state: EntryState, atomicity: int = pb.ATOMICITY_ALL) -> JournalEntry:
    made = JournalEntry(group(evict("a"), bind("b")), state=state)
    made.group.atomicity = atomicity
    return made


@pytest.mark.parametrize(
    ("state", "event", "following"),
    [(state, event, row[i]) for state, row in EXPECTED.items() for i, event in enumerate(EVENTS)],
)
def test_event_leads_to_the_state_of_the_table(state: str, event: str, following: str | None) -> None:
    made = entry(EntryState[state])
    if following is None:
        with pytest.raises(InvalidTransition, match=f"group g: {event} in state {state}"):
            made.handle(EntryEvent[event])
        assert made.state is EntryState[state]
    else:
        made.handle(EntryEvent[event])
        assert made.state is EntryState[following]


def test_table_covers_all_states_and_events() -> None:
    assert {state.name for state in EntryState} == EXPECTED.keys()
    assert tuple(event.name for event in EntryEvent) == EVENTS
    assert len(TRANSITIONS) == sum(cell is not None for row in EXPECTED.values() for cell in row)


@pytest.mark.parametrize(
    ("state", "first", "unreported", "stopped"),
    [
        ("ACCEPTED", False, False, False),
        ("UNREPORTED", True, True, False),
        ("REPORTED", True, False, False),
        ("STOPPING", True, True, True),
        ("STOPPED", True, False, True),
        ("CLOSING", True, True, True),
        ("CLOSED", True, False, True),
    ],
)
def test_state_says_what_may_be_sent_and_what_is_reported(
    state: str, first: bool, unreported: bool, stopped: bool
) -> None:
    made = entry(EntryState[state])
    assert (made.check_first, made.is_unreported, made.is_stopped) == (first, unreported, stopped)
    assert bool(list(made.remaining_decisions(NOW))) is not stopped


@pytest.mark.parametrize(
    ("state", "closed"),
    [("ACCEPTED", False), ("UNREPORTED", False), ("REPORTED", False), ("STOPPED", True), ("CLOSED", True)],
)
def test_entry_closes_when_it_is_reported_and_nothing_is_in_flight(state: str, closed: bool) -> None:
    assert entry(EntryState[state]).is_closed is closed


def test_stopped_entry_closes_after_its_applied_decision_is_dropped() -> None:
    made = entry(EntryState.UNREPORTED)
    made.add_result(result(APPLIED))
    made.handle(EntryEvent.CANCELLED)
    assert not made.is_closed
    made.handle(EntryEvent.DROPPED)
    assert made.is_closed


@pytest.mark.parametrize(
    ("atomicity", "report", "state"),
    [
        pytest.param(pb.ATOMICITY_ALL, result(APPLIED), "ACCEPTED", id="applied"),
        pytest.param(pb.ATOMICITY_ALL, result(FAILED, True), "ACCEPTED", id="refused for now"),
        pytest.param(pb.ATOMICITY_ALL, result(FAILED), "STOPPING", id="refused for good"),
        pytest.param(pb.ATOMICITY_BEST_EFFORT, result(FAILED), "ACCEPTED", id="best effort"),
    ],
)
def test_final_failure_stops_an_all_or_nothing_group(
    atomicity: int, report: out.DecisionResult, state: str
) -> None:
    made = entry(EntryState.ACCEPTED, atomicity)
    made.add_result(report)
    assert made.state is EntryState[state]
    assert bool(list(made.remaining_decisions(NOW))) is (state != "STOPPING")


def test_result_after_applied_changes_nothing() -> None:
    made = entry(EntryState.UNREPORTED)
    made.add_result(result(APPLIED))
    made.handle(EntryEvent.REPORTED)
    made.add_result(result(FAILED))
    assert made.state is EntryState.REPORTED


SENT_AGAIN = {
    "no result": (None, True),
    "applied": (result(APPLIED), False),
    "failed for good": (result(FAILED), False),
    "failed for now, and its pause is over": (retried(0), True),
    "failed for now, and its pause lasts": (retried(1), False),
}


@pytest.mark.parametrize(("step", "is_sent"), SENT_AGAIN.values(), ids=SENT_AGAIN)
def test_decision_is_sent_again_only_if_it_failed_for_now_and_its_pause_is_over(
    step: out.DecisionResult | None, is_sent: bool
) -> None:
    made = entry(EntryState.UNREPORTED, pb.ATOMICITY_BEST_EFFORT)
    if step is not None:
        made.add_result(step)
    assert ("evict-a" in {decision.id for decision in made.remaining_decisions(NOW)}) is is_sent


def test_row_reserves_for_the_pods_that_replace_others() -> None:
    made = JournalEntry(group(evict("a"), reserve("moved-0")))
    made.replaced.update({"uid-moved-0": "uid-moved-1", "uid-moved-1": "uid-moved-2"})
    row = made.row()
    assert row is not None
    assert [hold.pod for hold in row.reservations] == ["uid-moved-2"]
