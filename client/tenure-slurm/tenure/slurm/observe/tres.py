"""What a job requests of each of its nodes, from the texts of Slurm."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from tenure.slurm.observe.rows import JobRow, number

MIB: Final = 2**20
_TYPE: Final = r"(?:[:=](?P<type>[A-Za-z_][\w.-]*))?"
_GPUS: Final = re.compile(rf"(?:gres[:/])?gpu{_TYPE}(?:[:=](?P<count>\d+))?(?:\(.*\))?")
_MAX_AMOUNT: Final = 2**40
"""Maximum amount of CPUs, MiB or GPUs on a node."""
_AMOUNT: Final = re.compile(r"(?P<kind>[^=,]+)=(?P<whole>\d+)(?:\.(?P<part>\d+))?(?P<unit>[KMGTP]?)")
_COUNTS: Final = {"": 1, "K": 1_000, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_KIB: Final = {"": 2**10, "K": 1, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}
"""KiB of an amount of memory. Slurm means MiB without a unit."""
_IN_MIB: Final = frozenset({"mem", "vmem", "fs/disk"})
_CPUS: Final = re.compile(r"(?:^|,)cpu=(\d+)")
_FEATURE: Final = re.compile(r"[\w.-]+")


class Refused(ValueError):
    """A job requests what Tenure cannot place. The message says what, and what to request instead."""


class Gpus(NamedTuple):
    """GPUs of a request or a node."""

    devices: int = 0
    type: str = ""
    """"": any, or several."""


class NodeRequest(NamedTuple):
    """What a job needs on each of its nodes."""

    nodes: int
    cpus: int
    memory_mib: int
    gpus: Gpus
    features: tuple[tuple[str, ...], ...] = ()
    """Alternatives; each is the features that a node needs. Empty: any node."""


def read_gpus(text: str) -> Gpus:
    """GPUs in a list of generic resources, such as `gres:gpu:a100:2`. Raises Refused for other resources."""
    count, types = 0, set[str]()
    for part in filter(None, _split(text)):
        found = _GPUS.fullmatch(part)
        if found is None:
            raise Refused(f"generic resource {part!r} is not scheduled here; request gpu only")
        count += int(found["count"] or 1)
        types.add(found["type"] or "")
    return Gpus(count, types.pop() if len(types) == 1 else "")


@lru_cache(1_000)
def node_gpus(gres: str) -> Gpus:
    """GPUs of a node. Other generic resources, which no job can request, are ignored."""
    parts = [part for part in _split(gres) if _GPUS.fullmatch(part)]
    return read_gpus(",".join(parts))


@lru_cache(10_000)
def read_tres(text: str) -> Mapping[str, int]:
    """Amounts by resource in a list such as `cpu=2,mem=500M,node=1,gres/gpu=2`; memory in MiB, rounded up."""
    found: dict[str, int] = {}
    for part in text.split(","):
        if (amount := _AMOUNT.fullmatch(part)) is None:
            continue
        hundredths = int(amount["whole"]) * 100 + int((amount["part"] or "").ljust(2, "0")[:2])
        in_mib = amount["kind"] in _IN_MIB
        unit, scale = (_KIB[amount["unit"]], 2**10) if in_mib else (_COUNTS[amount["unit"]], 1)
        found[amount["kind"]] = -(-hundredths * unit // (100 * scale))
    return found


def read_request(job: JobRow) -> NodeRequest:
    """What a job requests of each node. Raises Refused."""
    _refuse_unsupported(job)
    nodes = _count_nodes(job)
    cpus = read_cpus(job, nodes)
    memory = read_memory(job, cpus)
    if memory is None:
        raise Refused("no memory is requested and there is no default; request --mem")
    gpus = _count_gpus(job, nodes)
    if max(cpus, memory, gpus.devices) > _MAX_AMOUNT:
        raise Refused("it requests more than any node has")
    return NodeRequest(nodes, cpus, memory, gpus, _features(job.features or ""))


def read_cpus(job: JobRow, nodes: int) -> int:
    """CPUs of a job on each of its nodes."""
    total = _CPUS.search(job.tres_req_str or "")
    return -(-int(total[1]) // nodes) if total else 1


def read_memory(job: JobRow, cpus: int) -> int | None:
    """Memory of a job on a node where it has CPUs, in MiB. None: all that the node has."""
    per_node, per_cpu = number(job.memory_per_node), number(job.memory_per_cpu)
    if per_node is not None:
        return per_node
    return None if per_cpu is None else per_cpu * cpus


def _refuse_unsupported(job: JobRow) -> None:
    reasons = {
        "heterogeneous jobs are not scheduled here": bool(number(job.het_job_id)),
        "licenses are not scheduled here": bool(job.licenses),
        "jobs in reservations are not scheduled here": bool(job.resv_name),
        "--gpus-per-socket is not scheduled here; use --gpus-per-node": bool(job.tres_per_socket),
    }
    for reason, applies in reasons.items():
        if applies:
            raise Refused(reason)


def _count_nodes(job: JobRow) -> int:
    nodes, most = number(job.node_count) or 1, number(job.max_nodes) or 0
    if most not in (0, nodes):
        raise Refused(f"node ranges are not supported ({nodes}-{most}); use --nodes={nodes}")
    if most == 0 and nodes > 1:
        raise Refused(f"the number of nodes is not fixed; use --nodes={nodes}")
    return nodes


def _count_gpus(job: JobRow, nodes: int) -> Gpus:
    if job.tres_per_node:
        return read_gpus(job.tres_per_node)
    if job.tres_per_job:
        gpus = read_gpus(job.tres_per_job)
        if nodes > 1:
            raise Refused("--gpus over several nodes is not scheduled here; use --gpus-per-node")
        return gpus
    if job.tres_per_task:
        gpus, tasks = read_gpus(job.tres_per_task), number(job.tasks) or 1
        if tasks % nodes:
            raise Refused(f"{tasks} tasks are not spread evenly over {nodes} nodes; use --gpus-per-node")
        return Gpus(gpus.devices * tasks // nodes, gpus.type)
    return Gpus()


def _features(text: str) -> tuple[tuple[str, ...], ...]:
    if not text:
        return ()
    alternatives = tuple(tuple(part.split("&")) for part in text.split("|"))
    if "|" in text and "&" in text:
        raise Refused(f"constraint {text!r} mixes & and |; use one of them")
    if not all(_FEATURE.fullmatch(name) for names in alternatives for name in names):
        raise Refused(f"constraint {text!r} is not scheduled here; join features by & or |")
    return alternatives


def _split(text: str) -> list[str]:
    """Parts of a list; commas in parentheses do not separate."""
    return re.split(r",(?![^(]*\))", text)
