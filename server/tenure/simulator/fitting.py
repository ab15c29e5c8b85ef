"""Jobs as pods that the nodes of a cluster can run at all, and the true reason why a job never fits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tenure.simulator.jobs import GPU_KIND_LABEL, WHOLE_GPU, BadLine, Job, Trace
from tenure.simulator.traces.amounts import CORE, GIB
from tenure.terms.formatting import format_count
from tenure.v1.snapshot_pb2 import Node


class _NodeKind(NamedTuple):
    """What nodes are alike in. GPUs and CPU are in thousandths."""

    gpu: int
    cpu: int
    memory: int
    slots: int
    """Most pods; 0: not stated."""
    gpu_kind: str


class _Pod(NamedTuple):
    """Request of one pod."""

    gpu: int
    cpu: int
    memory: int


class _Unfit(Exception):
    """The cluster can never run the job. The message says why."""


def fit_jobs(trace: Trace, nodes: Sequence[Node]) -> Trace:
    """Divide jobs into pods that fit on the nodes; leave out jobs that never fit, each with the reason.

    A job that does not say its pods has the fewest of equal size that the empty cluster can hold.
    """
    cluster = _Nodes(nodes)
    jobs: list[Job] = []
    refused: list[BadLine] = []
    known: dict[tuple[object, ...], Job | str] = {}
    for job in trace.jobs:
        key = (job.gpu_milli, job.cpu_milli, job.memory_bytes, job.pods, job.least_pods, job.gpu_kinds)
        found = known.get(key)
        if found is None:
            try:
                found = known[key] = cluster.divide(job)
            except _Unfit as reason:
                found = known[key] = str(reason)
        if isinstance(found, str):
            refused.append(BadLine(None, f"job {job.name} {found}"))
        else:
            jobs.append(
                job._replace(
                    pods=found.pods,
                    gpu_milli=found.gpu_milli,
                    cpu_milli=found.cpu_milli,
                    memory_bytes=found.memory_bytes,
                )
            )
    return replace(trace, jobs=jobs, bad_lines=[*trace.bad_lines, *refused])


class _Nodes:
    """The nodes of a cluster, by kind."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._kinds = Counter(
            _NodeKind(
                node.allocatable.gpu_milli,
                node.allocatable.cpu_milli,
                node.allocatable.memory_bytes,
                node.allocatable.pods,
                node.labels.get(GPU_KIND_LABEL, ""),
            )
            for node in nodes
        )

    def divide(self, job: Job) -> Job:
        """The job with its pods. Raises _Unfit."""
        kinds = self._allowed(job.gpu_kinds)
        if job.pods:
            return self._checked(job, kinds)
        gpus, rest = divmod(job.gpu_milli, WHOLE_GPU)
        most = 1 if rest or not gpus else gpus
        for pods in _divisors(most):
            pod = _Pod(job.gpu_milli // pods, -(-job.cpu_milli // pods), -(-job.memory_bytes // pods))
            if _places(pod, kinds) >= pods:
                return job._replace(pods=pods, gpu_milli=pod.gpu, cpu_milli=pod.cpu, memory_bytes=pod.memory)
        total = sum(kind.gpu * count for kind, count in kinds.items())
        if job.gpu_milli > total:
            raise _Unfit(_too_large(job.gpu_milli, job.gpu_kinds, total))
        pod = _Pod(job.gpu_milli // most, -(-job.cpu_milli // most), -(-job.memory_bytes // most))
        if not _places(pod, kinds):
            raise _Unfit(f"needs {_misfit(pod, kinds)}")
        raise _Unfit("cannot be divided into equal pods that the nodes can run at the same time")

    def _checked(self, job: Job, kinds: Counter[_NodeKind]) -> Job:
        pod = _Pod(job.gpu_milli, job.cpu_milli, job.memory_bytes)
        places = _places(pod, kinds)
        total = sum(kind.gpu * count for kind, count in kinds.items())
        if not places:
            hint = "; leave pods empty to have it divided" if _is_divisible(job, kinds) else ""
            owner, each = ("its pod needs", "") if job.pods == 1 else ("its pods need", " each")
            raise _Unfit(f"has pods={job.pods}: {owner} {_misfit(pod, kinds, each)}{hint}")
        if job.gpu_milli * job.least_pods > total:
            raise _Unfit(_too_large(job.gpu_milli * job.least_pods, job.gpu_kinds, total))
        if places < job.least_pods:
            raise _Unfit(
                f"needs {format_count(job.least_pods, 'pod')} of {_amounts(pod)} at the same time, and the "
                f"cluster has places for {places:,}"
            )
        return job

    def _allowed(self, wanted: tuple[str, ...]) -> Counter[_NodeKind]:
        if not wanted:
            return self._kinds
        kinds = Counter({kind: count for kind, count in self._kinds.items() if kind.gpu_kind in wanted})
        if not kinds:
            known = ", ".join(sorted({kind.gpu_kind for kind in self._kinds} - {""})) or "none"
            raise _Unfit(f"needs GPUs of kind {' or '.join(wanted)}, and the nodes have {known}")
        return kinds


def _places(pod: _Pod, kinds: Counter[_NodeKind]) -> int:
    """How many such pods the empty nodes hold."""
    return sum(count * _fits(pod, kind) for kind, count in kinds.items())


def _fits(pod: _Pod, kind: _NodeKind) -> int:
    bounds = []
    if pod.gpu % WHOLE_GPU:
        bounds.append(kind.gpu // WHOLE_GPU * (WHOLE_GPU // pod.gpu))
    elif pod.gpu:
        bounds.append(kind.gpu // pod.gpu)
    if pod.cpu:
        bounds.append(kind.cpu // pod.cpu)
    if pod.memory:
        bounds.append(kind.memory // pod.memory)
    if kind.slots:
        bounds.append(kind.slots)
    return min(bounds, default=1)


def _is_divisible(job: Job, kinds: Counter[_NodeKind]) -> bool:
    """Whether a smaller pod would fit: its GPUs alone are too many for a node."""
    return (
        job.gpu_milli > WHOLE_GPU
        and not job.gpu_milli % WHOLE_GPU
        and job.gpu_milli > max(kind.gpu for kind in kinds)
    )


def _misfit(pod: _Pod, kinds: Counter[_NodeKind], each: str = "") -> str:
    """Such as `12 GPUs, and no node has more than 8`; `each` follows the amount."""
    for amount, most, text in (
        (pod.gpu, max(kind.gpu for kind in kinds), _gpus),
        (pod.cpu, max(kind.cpu for kind in kinds), _cores),
        (pod.memory, max(kind.memory for kind in kinds), _gib),
    ):
        if amount > most:
            return f"{text(amount)}{each}, and no node has more than {text(most).split(' ')[0]}"
    return f"{_amounts(pod)}{each}, and no node has all of it"


def _too_large(gpu_milli: int, wanted: tuple[str, ...], total: int) -> str:
    of_kind = f" of kind {' or '.join(wanted)}" if wanted else ""
    return f"needs {_gpus(gpu_milli)}{of_kind}, more than the cluster offers: {total / WHOLE_GPU:g}"


def _amounts(pod: _Pod) -> str:
    parts = ((pod.gpu, _gpus), (pod.cpu, _cores), (pod.memory, _gib))
    return " and ".join(text(amount) for amount, text in parts if amount) or "nothing"


def _gpus(milli: int) -> str:
    return f"{milli / WHOLE_GPU:g} GPU{'' if milli == WHOLE_GPU else 's'}"


def _cores(milli: int) -> str:
    return f"{milli / CORE:g} CPU core{'' if milli == CORE else 's'}"


def _gib(amount: int) -> str:
    return f"{amount / GIB:g} GiB of memory"


def _divisors(number: int) -> list[int]:
    """Divisors of a number, from 1 on."""
    small = [each for each in range(1, int(number**0.5) + 1) if not number % each]
    return sorted({*small, *[number // each for each in small]})
