"""Why a pod group has no leaf queue: it names none, its queue does not exist, or that has child queues."""

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.terms.reasons import ReasonCode


def invalid_queue(cluster: Cluster, group: PodGroup) -> Rejection:
    """The rejection of a pod group without a leaf queue; its detail names the queue."""
    name = group.facts.queue_name
    problem = queue_problem(cluster, group)
    return Rejection(ReasonCode.INVALID_QUEUE, problem.replace("its queue", f"queue {name}", 1))


def queue_problem(cluster: Cluster, group: PodGroup) -> str:
    """Which of the problems it is, as a clause without names."""
    name = group.facts.queue_name
    if not name:
        return "it names no queue"
    if any(queue.facts.parent_name == name for queue in cluster.queues):
        return "its queue has child queues, and takes no pod groups itself"
    return "its queue does not exist"
