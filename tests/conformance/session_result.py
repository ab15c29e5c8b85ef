"""The state after a session, derived from the response alone."""

from collections.abc import Mapping

from tenure.v1 import decide_pb2, decision_pb2

from tests.conformance.conversion.numa import from_placement
from tests.conformance.task_table import Calls, Session, TaskState, TaskTable


class UnexpectedDecision(Exception):
    """The response contains a decision of an unexpected kind, or names a task that does not exist."""


def apply_response(
    before: TaskTable, last_start_s: Mapping[str, float], response: decide_pb2.DecideResponse
) -> Session:
    """Apply the response to the tasks. Bound, evicted and reserved tasks change; other tasks do not."""
    steps = [decision for group in response.groups for decision in group.decisions]
    evictions = {step.evict.pod: TaskState("Releasing", step.evict.node) for step in _of_kind("evict", steps)}
    bindings = {step.bind.pod: _with_placement("Binding", step.bind) for step in _of_kind("bind", steps)}
    holds = {
        step.reserve.pod: _with_placement("Pipelined", step.reserve) for step in _of_kind("reserve", steps)
    }
    evictions = _with_details(evictions, before)
    changed = evictions | bindings | holds
    if unknown := sorted(changed.keys() - before.keys()):
        raise UnexpectedDecision(f"decisions for tasks that do not exist: {', '.join(unknown)}")
    return Session(
        tasks={**before, **changed},
        last_start_s={**last_start_s, **dict.fromkeys(_started_jobs(steps), 0.0)},
        reasons={outcome.pod_group: outcome.reason.message for outcome in response.outcomes},
        calls=Calls(
            len(_of_kind("bind", steps)), len(_of_kind("evict", steps)), len(_of_kind("reserve", steps))
        ),
        leaving={uid: state for uid, state in evictions.items() if uid in holds},
    )


def _of_kind(kind: str, steps: list[decision_pb2.Decision]) -> list[decision_pb2.Decision]:
    if kind == "evict" and any(step.WhichOneof("kind") == "requeue" for step in steps):
        raise UnexpectedDecision("a requeue decision, but no action of a case requeues")
    return [step for step in steps if step.WhichOneof("kind") == kind]


def _with_placement(status: str, step: decision_pb2.Bind | decision_pb2.Reserve) -> TaskState:
    return TaskState(status, step.node, tuple(step.gpu_groups), from_placement(step.numa_placement))


def _with_details(evictions: dict[str, TaskState], before: TaskTable) -> dict[str, TaskState]:
    """Add devices and NUMA zones. An evicted task keeps them until it has terminated."""
    return {
        uid: before[uid]._replace(status=state.status, node=state.node) if uid in before else state
        for uid, state in evictions.items()
    }


def _started_jobs(steps: list[decision_pb2.Decision]) -> list[str]:
    """Jobs that start in the session."""
    patches = [step.patch for step in _of_kind("patch", steps)]
    return [patch.pod_group for patch in patches if patch.WhichOneof("change") == "last_start_time"]
