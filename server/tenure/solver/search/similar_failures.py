"""Skip pod groups that request no less than one that just failed (semantics R5.80-R5.86)."""

from collections.abc import Iterator

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Vector
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet
from tenure.solver.model.workload_parts import TaskShape, TopologyConstraint
from tenure.solver.plugin_api.action import Action

Request = tuple[Vector, int, int, int]
"""Of a task: resources, devices, portions of them in thousandths, and their memory in MiB."""
Requests = list[Request]


class SimilarFailures:
    """Easiest failed pod group per kind of constraints (and queue)."""

    def __init__(self, session: Session, action: Action, *, by_queue: bool) -> None:
        self._session = session
        self._action = action
        self._by_queue = by_queue
        self._failed: dict[object, tuple[int, Requests]] = {}
        """Pod group and its requests, by signature."""
        self._shapes: dict[int, tuple[int, Request]] = {}
        """Number of the constraints of a shape, and its request, by its index."""
        self._numbers: dict[object, int] = {}
        """By constraints."""

    def failed_like(self, pod_group: int, tasks: list[int]) -> int | None:
        """The failed pod group that was as easy or easier, if there is one (semantics R5.83)."""
        failed = self._failed.get(self._signature(pod_group, tasks))
        if failed is None or _is_easier(self._requests(tasks), failed[1]):
            return None
        return failed[0]

    def describe(self, pod_group: int, tasks: list[int]) -> str | None:
        """Why it is not searched for: a failure like it, which is named within queue and namespace only."""
        failed = self.failed_like(pod_group, tasks)
        if failed is None:
            return None
        groups = self._session.cluster.pod_groups
        group, other = groups[pod_group], groups[failed]
        who = (
            "another pod group of its queue" if group.queue == other.queue else "a pod group of another queue"
        )
        if group.may_name(other):
            who = f"pod group {other.facts.name}"
        return f"{who} with no larger request was just found unschedulable"

    def add(self, pod_group: int, tasks: list[int], *, has_protected: bool) -> None:
        """Note that a search failed; stores the pod group if it is easier (semantics R5.84).

        `has_protected`: guards protect victims for a time. That, and disruption budgets, apply to preemptors
        of the same queue only.
        """
        if (has_protected or self._session.disruptions.were_met) and not self._by_queue:
            return
        signature, requests = self._signature(pod_group, tasks), self._requests(tasks)
        failed = self._failed.get(signature)
        if failed is None or _is_no_harder(requests, failed[1]):
            self._failed[signature] = (pod_group, requests)

    def _signature(self, pod_group: int, tasks: list[int]) -> object:
        """Comparable properties of a pod group: queue, priority, quota, constraints, topology; no amounts.

        Where pods depend on each other, their namespace and labels are among their constraints.
        """
        group = self._session.cluster.pod_groups[pod_group]
        constraints = frozenset([self._constraints(group, task) for task in tasks])
        topology = tuple(_constraints(group.root))
        queue = group.queue if self._by_queue else None
        is_firm = self._session.cores.has_firm_request(pod_group, tasks)
        may_override = self._session.disruptions.may_override(self._action, pod_group)
        return (queue, group.facts.priority, is_firm, may_override, constraints, topology)

    def _requests(self, tasks: list[int]) -> Requests:
        return sorted([self._shape(task)[1] for task in tasks])

    def _constraints(self, group: PodGroup, task: int) -> object:
        number = self._shape(task)[0]
        if not self._session.chains.pod_dependencies:
            return number
        return number, group.facts.namespace, self._session.cluster.tasks[task].facts.labels

    def _shape(self, task: int) -> tuple[int, Request]:
        """Number of the constraints of its shape, and its request."""
        shape = self._session.cluster.tasks[task].shape
        known = self._shapes.get(shape.index)
        if known is None:
            constraints = (shape.constraints, shape.is_guaranteed, shape.shared_claims)
            number = self._numbers.setdefault(constraints, len(self._numbers))
            known = self._shapes[shape.index] = (number, _amounts(shape))
        return known


def _amounts(shape: TaskShape) -> Request:
    gpu = shape.gpu
    return (shape.request, gpu.devices, gpu.portion_milli if gpu.devices else 0, gpu.memory_mib)


def _constraints(member: PodSet | SubGroupSet) -> Iterator[TopologyConstraint | None]:
    """Topology constraints of the whole subgroup tree."""
    yield member.topology
    if isinstance(member, SubGroupSet):
        for inner in member.members:
            yield from _constraints(inner)


def _is_easier(requests: Requests, failed: Requests) -> bool:
    """Fewer tasks, or less at the first difference."""
    if len(requests) != len(failed):
        return len(requests) < len(failed)
    for request, other in zip(requests, failed, strict=True):
        if request != other:
            return _is_at_most(request, other)
    return False


def _is_no_harder(requests: Requests, failed: Requests) -> bool:
    pairs = zip(requests, failed, strict=False)
    return len(requests) <= len(failed) and all(_is_at_most(request, other) for request, other in pairs)


def _is_at_most(a: Request, b: Request) -> bool:
    for amount, other in zip(a[0], b[0], strict=True):
        if amount > other:
            return False
    return a[1] <= b[1] and a[2] <= b[2] and a[3] <= b[3]
