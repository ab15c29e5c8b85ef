"""Runs a case: one session, or several rounds that each start from the result of the previous round."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tenure.v1 import decide_pb2

from tests.conformance.cases import Json
from tests.conformance.conversion.snapshot import to_snapshot
from tests.conformance.session_result import apply_response
from tests.conformance.task_table import Session, TaskState, TaskTable, initial_table, last_starts

Decide = Callable[[decide_pb2.DecideRequest], decide_pb2.DecideResponse]
"""The RPC `Decide`, as a function."""


class CaseSession(NamedTuple):
    """A session to check. Without `is_matched`, only its number of decisions is checked."""

    label: str
    session: Session
    is_matched: bool


def run_sessions(case: Json, decide: Decide) -> Iterator[CaseSession]:
    """Yield all sessions of the case, in order."""
    if case["run"]["mode"] == "single_session":
        yield CaseSession("", _session(case, initial_table(case), 1, decide), is_matched=True)
    else:
        yield from _run_rounds(case, decide)


def _run_rounds(case: Json, decide: Decide) -> Iterator[CaseSession]:
    until_match, after_match = case["run"]["rounds_until_match"], case["run"]["rounds_after_match"]
    tasks = initial_table(case)
    for number in range(1, until_match + after_match + 1):
        session = _session(case, tasks, number, decide)
        yield CaseSession(f"round {number}: ", session, is_matched=number > until_match)
        tasks = write_back(case, tasks, session.tasks)
        if number == until_match:
            rebuilt = Session(tasks, last_starts(case, tasks), session.reasons)
            yield CaseSession(f"after round {number}: ", rebuilt, is_matched=True)


def _session(case: Json, tasks: TaskTable, version: int, decide: Decide) -> Session:
    request = decide_pb2.DecideRequest(
        snapshot=to_snapshot(case, tasks, version), actions=case["run"]["actions"]
    )
    return apply_response(tasks, last_starts(case, tasks), decide(request))


def write_back(case: Json, before: TaskTable, after: TaskTable) -> dict[str, TaskState]:
    """Return the table for the next round: evicted and pipelined tasks are pending, bound tasks run."""
    stays_releasing = {
        task["uid"] for job in case["jobs"] if job["keep_evicted_pods_releasing"] for task in job["tasks"]
    }
    return {
        uid: _next_state(before[uid], state, keep_releasing=uid in stays_releasing)
        for uid, state in after.items()
    }


def _next_state(before: TaskState, after: TaskState, keep_releasing: bool) -> TaskState:
    match after.status:
        case "Releasing" if not keep_releasing:
            return TaskState("Pending", None, before.gpu_groups)
        case "Pipelined":
            return TaskState("Pending", None, before.gpu_groups)
        case "Binding":
            return after._replace(status="Running")
    return after
