"""Larger random clusters on which Tenure and the reference differ, by what explains the difference."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from tests.conformance.cases import Json
from tests.conformance.large.reference_behavior import Behavior
from tests.conformance.task_table import ALLOCATED

_SINGLE, _FULL = "random/large-204146", "random/large-495897"


def _ids(single: str, full: str) -> tuple[str, ...]:
    return (*(f"{_SINGLE}#{n}" for n in single.split()), *(f"{_FULL}#{n}" for n in full.split()))


EXPLAINED: Final[Mapping[tuple[Behavior, ...], tuple[str, ...]]] = {
    (Behavior.SECOND_SLOT,): _ids("871", "75"),
    (Behavior.COUNTED_TWICE,): _ids("", "303 376 403 501 736"),
    (Behavior.TERMINATING_REMAINS,): _ids("808 864", "5 57 82 129 368 382 386 673"),
    (Behavior.FREE_DEVICE,): _ids("", "397"),
    (Behavior.RETURNED,): _ids("68 396 429 544 572 612 678", "78 153 251"),
    (Behavior.COUNTED_TWICE, Behavior.TERMINATING_REMAINS): _ids("", "516"),
    (Behavior.COUNTED_TWICE, Behavior.TERMINATING_REMAINS, Behavior.RETURNED): _ids("481", ""),
    (Behavior.LEFT_BEHIND,): _ids("", "42 448"),
    (Behavior.LEFT_BEHIND, Behavior.TERMINATING_REMAINS): _ids("", "587"),
    (Behavior.PLACED_DEMAND,): _ids("348", "601"),
    (Behavior.FIRST_ADDED,): _ids("", "164"),
    (Behavior.SEARCHED_IN_VAIN,): _ids("", "679"),
    (Behavior.CORE_ALONE, Behavior.TERMINATING_REMAINS): _ids("288", "168"),
}
"""Cases that agree once these behaviors of the reference are imitated."""
OVER_LIMIT: Final = _ids("801", "")
"""Cases after which a queue of the reference uses more than its limit."""
UNEXPLAINED: Final = _ids("148 370 584 588 794 873", "119 252 400 414 596 721")
"""Cases whose cause is not known yet."""


def behaviors_of(case: str) -> tuple[Behavior, ...]:
    """What explains the difference of a case; empty if nothing is known to."""
    return next((behaviors for behaviors, cases in EXPLAINED.items() if case in cases), ())


def exceeds_limit(case: Json) -> bool:
    """Whether the reference lets a queue that kept its limit use more GPUs than that."""
    wanted = case["expected"]["tasks"]
    before = _used_gpus(case, lambda task: task["state"])
    after = _used_gpus(case, lambda task: wanted[task["uid"]]["status"])
    limits = {queue["uid"]: queue["gpu"]["limit"] for queue in case["queues"]}
    return any(before[queue] <= limit < after[queue] for queue, limit in limits.items() if limit >= 0)


def _used_gpus(case: Json, state: Callable[[Json], str]) -> Counter[str]:
    """GPUs of tasks that are kept or placed, by queue and ancestor."""
    parents = {queue["uid"]: queue["parent"] for queue in case["queues"]}
    used: Counter[str] = Counter()
    for job in case["jobs"]:
        for task in job["tasks"]:
            queue = job["queue"] if state(task) in (*ALLOCATED, "Pipelined") else None
            while queue is not None:
                used[queue] += task["request"]["gpu"].get("gpus", 0)
                queue = parents[queue]
    return used
