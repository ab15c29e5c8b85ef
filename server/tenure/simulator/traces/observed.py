"""A pod group as records see it: its size, the times in which it ran, and the job that it is played as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tenure.codec.annotations import preemptibility_of
from tenure.simulator.history import Moment
from tenure.simulator.jobs import FROM_ZERO, WHOLE_GPU, Job
from tenure.simulator.settings import RunSettings
from tenure.v1.snapshot_pb2 import Pod, PodGroup, PodShape, PodStatus

ENDED: Final = (PodStatus.POD_STATUS_SUCCEEDED, PodStatus.POD_STATUS_FAILED)


@dataclass
class Observed:
    """A pod group as the records saw it. Times are in nanoseconds."""

    row: PodGroup
    number: int
    """Record in which it was first seen."""
    submit: int
    pods: int = 0
    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_bytes: int = 0
    problem: str = ""
    """Why it cannot be played."""
    started: int | None = None
    """Since when it runs; None: it does not."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Times in which it ran."""
    moments: list[Moment] = field(default_factory=list)
    is_done: bool = False


def measure(seen: Observed, pods: Sequence[Pod], shapes: Mapping[str, PodShape]) -> None:
    """Note the size of the job: its pods that need GPUs, or all if none does."""
    found = [shapes[pod.shape] for pod in pods if pod.shape in shapes and pod.status not in ENDED]
    if any(shape.gpu.memory_mib for shape in found):
        seen.problem = "a pod asks for a part of a GPU by its memory"
        return
    sizes = {_gpu_milli(shape) for shape in found} - {0}
    if len(sizes) > 1:
        seen.problem = "its pods ask for different numbers of GPUs"
        return
    gpu_milli = sizes.pop() if sizes else 0
    found = [shape for shape in found if _gpu_milli(shape) == gpu_milli]
    if len(found) > seen.pods:
        seen.pods, seen.gpu_milli = len(found), gpu_milli
        seen.cpu_milli = max(shape.requests.cpu_milli for shape in found)
        seen.memory_bytes = max(shape.requests.memory_bytes for shape in found)


def _gpu_milli(shape: PodShape) -> int:
    return shape.gpu.portion_milli * max(shape.gpu.devices, 1) or shape.gpu.devices * WHOLE_GPU


def minimum(row: PodGroup, pods: int) -> int:
    """Pods without which the pod group does not run; all of one with subgroups."""
    if row.sub_groups:
        return max(pods, 1)
    return max(row.min_member, 1)


def job_of(seen: Observed, name: str, runtime: int) -> Job:
    """The job of a pod group that can be played."""
    row = seen.row
    return Job(
        name=name,
        queue=row.queue,
        submit=seen.submit,
        runtime=runtime,
        gpu_milli=seen.gpu_milli,
        pods=seen.pods,
        min_member=min(minimum(row, seen.pods), seen.pods),
        priority=row.priority,
        preemptibility=preemptibility_of(row).mode,
        cpu_milli=seen.cpu_milli,
        memory_bytes=seen.memory_bytes,
        expected_runtime=row.expected_runtime.ToNanoseconds(),
        notice=row.notice.ToNanoseconds() if row.HasField("notice") else None,
        checkpoint_on_notice=row.checkpoint_on_notice or None,
        time_limit=row.time_limit.ToNanoseconds(),
    )


def kept_work(spans: Sequence[tuple[int, int]], settings: RunSettings) -> int:
    """Work that a job had done at the end of the last span, in nanoseconds."""
    saved = done = 0
    for number, (start, end) in enumerate(spans):
        done = saved + max(end - start - (settings.restart_overhead if number else 0), 0)
        interval = settings.checkpoint_interval
        if interval == FROM_ZERO:
            saved = 0
        else:
            saved = saved + (done - saved) // interval * interval if interval else done
    return done
