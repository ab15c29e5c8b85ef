"""What a job needs on each of its nodes: the totals that Slurm itself counts for it, divided by its nodes.

A job that leaves the number of its nodes open gets the smallest one for which its nodes can hold equal parts.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tenure.slurm.observe.constraints import Alternatives, ConstraintError, read_constraint
from tenure.slurm.observe.rows import JobRow, NodeRow, number
from tenure.slurm.observe.tres import Gpus, Refused, node_gpus, read_gpus, read_tres

_MAX_AMOUNT: Final = 2**40
"""Maximum amount of CPUs, MiB or GPUs on a node."""
_MAX_NODES: Final = 100_000


class NodeRequest(NamedTuple):
    """What a job needs on each of its nodes."""

    nodes: int
    cpus: int
    memory_mib: int
    gpus: Gpus
    features: Alternatives = ()
    """Alternatives; each is the features that a node needs. Empty: any node."""
    counted: tuple[tuple[str, int], ...] = ()
    """Features that a number of nodes need."""


class Capacity(NamedTuple):
    """What nodes have, whatever is in use of it."""

    kinds: Sequence[tuple[int, int, int, int]] = ()
    """CPUs, MiB and GPUs of nodes, and how many nodes have them."""
    features: Mapping[str, int] = {}
    """How many nodes have a feature."""
    mixed_types: frozenset[str] = frozenset()
    """Types of GPUs of nodes that have several types."""

    def holds(self, nodes: int, cpus: int, memory_mib: int, gpus: int) -> bool:
        """Whether so many nodes have that much each."""
        found = (
            count
            for has, mib, devices, count in self.kinds
            if has >= cpus and mib >= memory_mib and devices >= gpus
        )
        return sum(found) >= nodes


UNKNOWN: Final = Capacity()


def read_capacity(nodes: Sequence[NodeRow]) -> Capacity:
    """What these nodes have."""
    kinds: dict[tuple[int, int, int], int] = {}
    features: dict[str, int] = {}
    mixed: set[str] = set()
    for node in nodes:
        gpus = node_gpus(node.gres or "")
        kind = (node.cpus, node.real_memory, gpus.devices)
        kinds[kind] = kinds.get(kind, 0) + 1
        for feature in node.features:
            features[feature] = features.get(feature, 0) + 1
        if len(gpus.types) > 1:
            mixed.update(name for name, _ in gpus.types)
    return Capacity([(*kind, count) for kind, count in sorted(kinds.items())], features, frozenset(mixed))


def read_request(job: JobRow, capacity: Capacity = UNKNOWN, named: int = 0) -> NodeRequest:
    """What a job requests of each node; `named` nodes are named by its user. Raises Refused."""
    if number(job.het_job_id):
        raise Refused("heterogeneous jobs are not scheduled here; submit one job with the larger request")
    try:
        constraint = read_constraint(job.features or "", lambda name: capacity.features.get(name, 0))
    except ConstraintError as error:
        raise Refused(str(error)) from None
    gpus = _count_gpus(job)
    counted = sum(count for _, count in constraint.counted)
    least, most = _node_range(job, max(named, counted))
    nodes = least
    while capacity.kinds and nodes < most and not capacity.holds(nodes, *_part(job, gpus, nodes)):
        nodes += 1
    if capacity.kinds and not capacity.holds(nodes, *_part(job, gpus, nodes)):
        nodes = least
    cpus, memory, devices = _part(job, gpus, nodes)
    if max(cpus, memory, devices) > _MAX_AMOUNT:
        raise Refused("it requests more than any node has")
    parts = 1 if job.tres_per_node else nodes
    types = tuple((name, -(-count // parts)) for name, count in gpus.types)
    return NodeRequest(nodes, cpus, memory, Gpus(devices, types), constraint.every, constraint.counted)


def least_nodes(job: JobRow) -> int:
    """The smallest number of nodes that the user of a job permits. `node_count` is an estimate of Slurm."""
    counted = read_tres(job.tres_req_str or "").get("node") or number(job.node_count) or 1
    of_node = number(job.tasks_per_node) or 0
    return max(counted, -(-(number(job.tasks) or 1) // of_node) if of_node else 1)


def part_of_node(job: JobRow, nodes: int) -> tuple[int, int]:
    """CPUs and MiB of a job on each of so many nodes: what Slurm gave it, or what it requests."""
    given = read_tres(job.tres_alloc_str or "")
    if "cpu" in given:
        return -(-given["cpu"] // nodes), -(-given.get("mem", 0) // nodes)
    cpus, memory, _ = _part(job, Gpus(), nodes)
    return cpus, memory


def _node_range(job: JobRow, named: int) -> tuple[int, int]:
    """The fewest and the most nodes."""
    least, most = max(number(job.node_count) or 1, named), number(job.max_nodes) or 0
    if most and most < least:
        raise Refused(f"{least} nodes are named; use --nodes={least}" if named else f"use --nodes={least}")
    return least, min(most or max(least, number(job.tasks) or 1, _total_gpus(job)), _MAX_NODES)


def _total_gpus(job: JobRow) -> int:
    """GPUs that a job requests whatever its number of nodes; 0: none."""
    return _read(job.tres_per_job).devices if job.tres_per_job and not job.tres_per_node else 0


def _part(job: JobRow, gpus: Gpus, nodes: int) -> tuple[int, int, int]:
    """CPUs, MiB and GPUs on each of so many nodes. `gpus` are those of all nodes, unless each has its own."""
    devices = gpus.devices if job.tres_per_node else -(-gpus.devices // nodes)
    totals, tasks = read_tres(job.tres_req_str or ""), max(number(job.tasks) or 1, 1)
    total = totals.get("cpu", 1)
    is_even = total % tasks == 0
    cpus = -(-tasks // nodes) * (total // tasks) if is_even else -(-total // nodes)
    of_gpu = _read(job.cpus_per_tres).devices if job.cpus_per_tres else 0
    cpus = max(cpus, number(job.minimum_cpus_per_node) or 0, of_gpu * devices)
    per_node, per_cpu = number(job.memory_per_node), number(job.memory_per_cpu)
    per_gpu = _read(job.memory_per_tres).devices if job.memory_per_tres else 0
    if per_node:  # 0, as newer versions print it for --mem=0, is all that a node has
        memory = per_node
    elif per_gpu:
        memory = per_gpu * devices
    elif per_cpu:
        memory = per_cpu * cpus
    else:
        memory = -(-totals.get("mem", 0) // (totals.get("node") or 1))
    return cpus, memory, devices


def _count_gpus(job: JobRow) -> Gpus:
    """GPUs of a job on all nodes, or with --gres and --gpus-per-node on each."""
    if job.tres_per_node:
        return _read(job.tres_per_node)
    if job.tres_per_job:
        return _read(job.tres_per_job)
    gpus, tasks = _read(job.tres_per_task), number(job.tasks) or 1
    if gpus.devices:
        return Gpus(gpus.devices * tasks, tuple((name, count * tasks) for name, count in gpus.types))
    total = read_tres(job.tres_req_str or "").get("gres/gpu", 0)
    if job.tres_per_socket:
        gpus = _read(job.tres_per_socket)
        sockets = (number(job.sockets_per_node) or 1) * (number(job.node_count) or 1)
        factor = -(-total // gpus.devices) if total and gpus.devices else sockets
        return Gpus(gpus.devices * factor, tuple((name, count * factor) for name, count in gpus.types))
    return Gpus(total)


def _read(text: str | None) -> Gpus:
    return read_gpus(text or "")
