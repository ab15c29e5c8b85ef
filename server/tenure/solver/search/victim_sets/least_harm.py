"""Whether a set of victims does the least harm there can be, by bounds (semantics R14.19)."""

from typing import Final, NamedTuple, final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU, WHOLE_GPU
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.search.node_order import AllowedNodes, bits
from tenure.solver.search.search_result import SearchState
from tenure.terms.durations import SECOND


class LeastHarm(NamedTuple):
    """What every set of victims of a search disrupts at least."""

    pods: int
    gpu_milli: int


NOTHING_KNOWN: Final = LeastHarm(1, 0)


@final
class HarmBounds:
    """Bounds by amounts of GPUs, for searches whose tasks have one shape of whole devices."""

    def __init__(self, session: Session, allowed: AllowedNodes) -> None:
        self._session = session
        self._allowed = allowed
        self._most_gpus = 0
        """Of any node; 0: not known yet."""
        self._most_held = 0
        """GPUs in thousandths that a pod may hold at most; 0: not known yet."""
        self._youngest: int | None = None
        """Least age of a running pod group in seconds; None: not known yet."""

    def of(self, state: SearchState) -> LeastHarm:
        """Bounds of a search, in the state before any victim is evicted.

        A pod frees slots on its own node alone. Each task that has no slot now needs as many GPUs of victims
        as the node with most free ones is short of.
        """
        cluster, tasks = self._session.cluster, state.search.tasks
        shape = cluster.tasks[tasks[0]].shape
        request, infos = shape.request_vector[GPU], self._session.ledger.node_infos
        if request <= 0 or shape.shares_devices or any(cluster.tasks[t].shape is not shape for t in tasks):
            return NOTHING_KNOWN
        missing, most_free = len(tasks), 0
        for node in bits(state.feasible & self._allowed.of(shape)):
            free = infos[node].idle.gpu + infos[node].releasing.gpu
            missing -= max(free, 0) // request
            most_free = max(most_free, free % request if free > 0 else 0)
        if missing <= 0:
            return NOTHING_KNOWN  # something else than GPUs is missing
        if not self._most_gpus:  # once a cycle, if at all
            self._most_gpus = max([node.allocatable[GPU] for node in cluster.nodes], default=0)
        most_on_node = max(self._most_gpus // request, 1)
        return LeastHarm(-(-missing // most_on_node), missing * (request - most_free))

    def least_pods(self, state: SearchState) -> int:
        """Number of pods that every set of victims disrupts at least, also by what a pod can hold."""
        least = self.of(state)
        if not least.gpu_milli:
            return least.pods
        if not self._most_held:
            self._most_held = max(self._find_most_held(), 1)
        return max(least.pods, -(-least.gpu_milli // self._most_held))

    def least_lost(self, gpu_milli: int) -> int:
        """GPUs in thousandths times seconds that pods with so many GPUs ran at least: the least age of a
        pod group for each. Without a start, or with a later one, it is 0.
        """
        if self._youngest is None:
            session = self._session
            groups, now = session.cluster.pod_groups, session.cluster.now
            starts = [groups[index].facts.last_start for index in session.phases.running]
            known = [start for start in starts if start is not None]
            is_known = len(known) == len(starts) and max(known, default=now) < now
            self._youngest = (now - max(known)) // SECOND if is_known and known else 0
        return gpu_milli * self._youngest

    def _find_most_held(self) -> int:
        cluster = self._session.cluster
        if self._session.options.allow_same_cycle_eviction:
            shapes = set(range(len(cluster.shapes)))
        else:
            shapes = {task.shape.index for task in cluster.tasks if task.placement.is_allocated}
        return max([_most_of(cluster.shapes[index]) for index in sorted(shapes)], default=0)


def _most_of(shape: TaskShape) -> int:
    """GPUs in thousandths that a pod of the shape holds at most; shares by memory as whole devices."""
    shared = shape.gpu.devices * WHOLE_GPU if shape.gpu.is_shared else 0
    return max(shape.request_vector[GPU], shared) + shape.all_claimed_gpu_milli
