"""Compares the result of a session with the expectations of its case and lists the differences as text."""

from collections.abc import Callable, Iterator

from tests.conformance.cases import Json
from tests.conformance.comparison.gpu_accounting import accepted_gpus, idle_and_releasing
from tests.conformance.comparison.static_amounts import amount_differences
from tests.conformance.conversion.blocked_reasons import find_blocked_reason
from tests.conformance.conversion.numa import available, positions
from tests.conformance.rounds import CaseSession
from tests.conformance.task_table import Session, TaskState, initial_table

TOLERANCE = 1e-9
"""Amounts of a case are decimal fractions stored as floats."""


def find_differences(case: Json, scene: CaseSession) -> list[str]:
    """Return the differences between the session and the expectations of the case; empty if it passes."""
    expected = case["expected"]
    match = _MATCHERS[expected["matcher"]]
    found = list(match(case, scene.session)) if scene.is_matched else []
    if expected["matcher"] != "random_oracle":
        found += _too_many_calls(expected["calls_max_per_session"], scene.session)
    return [scene.label + difference for difference in found]


def _match_tables(case: Json, session: Session) -> Iterator[str]:
    """Section 6 of the case format: the jobs, single tasks and nodes that the case lists."""
    expected = case["expected"]
    by_name = {job["name"]: job for job in case["jobs"]}
    for name, wanted in expected["jobs"].items():
        yield from _job_differences(case, by_name[name], by_name[name]["tasks"], wanted, session)
    task_jobs = {task["uid"]: (job, task) for job in case["jobs"] for task in job["tasks"]}
    for uid, wanted in expected["tasks"].items():
        if not wanted.get("ignored"):
            job, task = task_jobs[uid]
            yield from _job_differences(case, job, [task], wanted, session)
    for node in case["nodes"]:
        if node["name"] in expected["nodes"]:
            yield from _node_differences(case, node, expected["nodes"][node["name"]], session)


def _job_differences(
    case: Json, job: Json, tasks: list[Json], wanted: Json, session: Session
) -> Iterator[str]:
    for task in tasks:
        yield from _state_differences(
            task["uid"], session.tasks[task["uid"]], wanted["status"], wanted["node"]
        )
    yield from amount_differences(job, tasks, wanted)
    if wanted["gpus_accepted"] is not None:
        nodes = {node["name"]: node for node in case["nodes"]}
        accepted = sum(accepted_gpus(task, session.tasks[task["uid"]], nodes) for task in tasks)
        if abs(accepted - wanted["gpus_accepted"]) > TOLERANCE:
            yield f"job {job['name']}: expected {wanted['gpus_accepted']} accepted GPUs, got {accepted}"
    yield from _start_differences(job["name"], session.last_start_s.get(job["uid"]), wanted)
    if wanted["error_message"] and not session.reasons.get(job["uid"]):
        yield f"job {job['name']}: expected a reason why it waits, got none"
    if wanted["numa_zones"] is not None:
        yield from _zone_differences(case, tasks, wanted["numa_zones"], session)


def _state_differences(uid: str, actual: TaskState, status: str, node: str | None) -> Iterator[str]:
    if actual.status != status or (node is not None and actual.node != node):
        yield f"task {uid}: expected {TaskState(status, node)}, got {actual}"


def _start_differences(name: str, started_s: float | None, wanted: Json) -> Iterator[str]:
    if wanted["last_start_set"] and started_s is None:
        yield f"job {name}: expected a last start time, got none"
    age = wanted["last_start_older_than_s"]
    if age is not None and (started_s is None or -started_s < age):
        yield f"job {name}: expected a last start at least {age} s ago, got {started_s}"


def _node_differences(case: Json, node: Json, wanted: Json, session: Session) -> Iterator[str]:
    idle, releasing = idle_and_releasing(case, node, session)
    if (idle, releasing) != (wanted["idle_gpus"], wanted["releasing_gpus"]):
        yield (
            f"node {node['name']}: expected {wanted['idle_gpus']} idle and {wanted['releasing_gpus']} "
            f"releasing GPUs, got {idle} and {releasing}"
        )
    for zone, amounts in (wanted["numa_zones_available"] or {}).items():
        left = available(case, node, session)[zone]
        for resource, amount in amounts.items():
            if abs(left.get(resource, 0) - amount) > TOLERANCE:
                where = f"node {node['name']}, zone {zone}"
                yield f"{where}: expected {amount} {resource} available, got {left.get(resource, 0)}"


def _zone_differences(case: Json, tasks: list[Json], wanted: list[int], session: Session) -> Iterator[str]:
    nodes = {node["name"]: node for node in case["nodes"]}
    for task in tasks:
        state = session.tasks[task["uid"]]
        actual = positions(nodes[state.node], state) if state.node else []
        if actual != sorted(wanted):
            yield f"task {task['uid']}: expected NUMA zones {wanted}, got {actual}"


def _match_custom(case: Json, session: Session) -> Iterator[str]:
    """Section 6.6: the statuses of a hand-written assertion, by task or by a prefix of its uid."""
    for uid, status in case["expected"].get("task_status", {}).items():
        yield from _state_differences(uid, session.tasks[uid], status, None)
    for prefix, status in case["expected"].get("task_status_by_prefix", {}).items():
        for uid in sorted(session.tasks):
            if uid.startswith(prefix):
                yield from _state_differences(uid, session.tasks[uid], status, None)
    for job in case["jobs"]:
        for task in job["tasks"]:
            if find_blocked_reason(case, task) not in session.reasons.get(job["uid"], ""):
                yield f"job {job['name']}: expected the reason {find_blocked_reason(case, task)!r}"


def _match_random(case: Json, session: Session) -> Iterator[str]:
    """Section 14: status and node of every task; a Pending task is on no node.

    What is evicted in the session that placed it is judged by what it holds in the end: a task that waited
    before waits again, one that was moved leaves the node that it ran on.
    """
    before = initial_table(case)
    for uid, wanted in case["expected"]["tasks"].items():
        expected, actual = TaskState(wanted["status"], wanted["node"]), session.tasks[uid]
        if expected.status == "Releasing":
            is_new = before[uid].status == "Pending"
            expected = TaskState("Pending", None) if is_new else TaskState("Releasing", before[uid].node)
        if (actual.status, actual.node) != (expected.status, expected.node):
            yield f"task {uid}: expected {expected}, got {actual}"


def _too_many_calls(bounds: Json, session: Session) -> Iterator[str]:
    made = {
        "binds": session.calls.binds,
        "evictions": session.calls.evictions,
        "pipelines": session.calls.pipelines,
    }
    for kind, bound in bounds.items():
        if made[kind] > bound:
            yield f"at most {bound} {kind} expected in a session, got {made[kind]}"


_MATCHERS: dict[str, Callable[[Json, Session], Iterator[str]]] = {
    "MatchExpectedAndRealTasks": _match_tables,
    "custom": _match_custom,
    "random_oracle": _match_random,
}
