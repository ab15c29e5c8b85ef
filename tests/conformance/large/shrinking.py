"""Makes a case as small as the difference that a behavior of the reference makes.

What the reference would answer to a smaller cluster is not known; what Tenure answers with that behavior
imitated is. So parts are dropped as long as the two answers of Tenure, with and without it, differ.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tenure.codec.engine import Engine

from tests.conformance.cases import Json
from tests.conformance.conversion.profile import to_profile
from tests.conformance.large.reference_behavior import Behavior, imitating
from tests.conformance.rounds import run_sessions
from tests.conformance.task_table import TaskTable

PARTS: Final = ("jobs", "nodes", "queues", "topologies")
"""Lists of a case from which entries are dropped, in this order."""


def shrink(case: Json, behaviors: Sequence[Behavior]) -> Json:
    """Drop jobs, nodes, queues, topologies and tasks. The case then expects the answer with the behaviors.

    Raises ValueError if they make no difference.
    """
    if not _differs(case, behaviors):
        raise ValueError(f"{case['id']}: {', '.join(behaviors)} makes no difference")
    size = -1
    while size != size_of(case):
        size = size_of(case)
        for part in PARTS:
            case = _drop(case, range(len(case[part])), _without_entries(part), behaviors)
        case = _drop(case, _tasks_of_gangs(case), _without_tasks, behaviors)
    with imitating(behaviors):
        wanted = _decide(case)
    tasks = {uid: {"status": state.status, "node": state.node} for uid, state in wanted.items()}
    return {**case, "expected": {**case["expected"], "tasks": tasks}}


def size_of(case: Json) -> int:
    """Number of jobs, tasks, nodes, queues and topologies."""
    return sum(len(case[part]) for part in PARTS) + sum(len(job["tasks"]) for job in case["jobs"])


def _differs(case: Json, behaviors: Sequence[Behavior]) -> bool:
    try:
        ours = _decide(case)
    except Exception:
        return False  # something refers to what was dropped
    with imitating(behaviors):
        theirs = _decide(case)
    return any(ours[uid][:2] != theirs[uid][:2] for uid in ours)


def _decide(case: Json) -> TaskTable:
    engine = Engine(to_profile(case, ()))
    (scene,) = run_sessions(case, lambda request: engine.decide(request).parse())
    return scene.session.tasks


Without = Callable[[Json, frozenset[object]], Json]
"""A case without some of its parts."""


def _drop(case: Json, parts: Iterable[object], without: Without, behaviors: Sequence[Behavior]) -> Json:
    """Drop as many parts as possible, in halves, quarters and so on."""
    whole, left, dropped = case, list(parts), frozenset[object]()
    size = max(1, len(left) // 2)
    while size:
        start = 0
        while start < len(left):
            more = dropped | frozenset(left[start : start + size])
            if _differs(candidate := without(whole, more), behaviors):
                case, dropped = candidate, more
                del left[start : start + size]
            else:
                start += size
        size //= 2
    return case


def _without_entries(part: str) -> Without:
    def without(case: Json, places: frozenset[object]) -> Json:
        return {**case, part: [entry for place, entry in enumerate(case[part]) if place not in places]}

    return without


def _without_tasks(case: Json, uids: frozenset[object]) -> Json:
    jobs = [
        {**job, "tasks": [task for task in job["tasks"] if task["uid"] not in uids]} for job in case["jobs"]
    ]
    return {**case, "jobs": jobs}


def _tasks_of_gangs(case: Json) -> list[object]:
    return [task["uid"] for job in case["jobs"] if len(job["tasks"]) > 1 for task in job["tasks"]]
