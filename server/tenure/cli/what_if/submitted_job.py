"""A job as a person writes it, `queue=vision gpus=2 pods=4 priority=50`, as rows of a snapshot."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer
from tenure.cli.options import unknown_name_message
from tenure.terms.formatting import known_names_hint
from tenure.terms.preemptibility import SPELLINGS, parse_preemptibility

if TYPE_CHECKING:
    from tenure.v1.simulate_pb2 import SimulateRequest
    from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodShape

HINT: Final = "--with"
EXAMPLE: Final = '"queue=vision gpus=2 pods=4 priority=50"'
_JOB: Final = re.compile(r"\s*[A-Za-z_]+=")
_MAX_PODS: Final = 100_000


class Job(NamedTuple):
    """A job to submit: a gang of equal pods.

    Each pod requests `gpus` (GPUs, or a part of one) and `cpus` (cores).
    """

    queue: str
    gpus: float = 1
    pods: int = 1
    priority: int = 50
    cpus: float = 0
    name: str = ""
    preemptibility: int = 0
    """Number of the value; 0: its priority decides."""


def is_job(text: str) -> bool:
    """Whether a value of --with is a job and not a file name: it begins with `KEY=`."""
    return _JOB.match(text) is not None


def parse_job(text: str) -> Job:
    """The job in `KEY=VALUE` pairs, separated by spaces or commas. Raises BadParameter."""
    values: dict[str, Any] = {}
    for pair in text.replace(",", " ").split():
        key, _, value = pair.partition("=")
        if not value:
            raise _invalid(f"{pair!r} is not KEY=VALUE; write a job like {EXAMPLE}")
        if key not in _PARSERS:
            raise _invalid(f"{key!r} is not a key of a job; {known_names_hint(key, tuple(_PARSERS))}")
        if key in values:
            raise _invalid(f"{key} is given twice")
        try:
            values[key] = _PARSERS[key](value)
        except ValueError as error:
            raise _invalid(f"{pair}: {error}") from None
    if "queue" not in values:
        raise _invalid(f"a job needs queue=NAME, as in {EXAMPLE}")
    return Job(**values)


def add_job(request: "SimulateRequest", job: Job) -> None:
    """Submit a job at the time of the request. Raises BadParameter for an unknown queue or a taken name."""
    from tenure.v1.snapshot_pb2 import POD_STATUS_PENDING

    both = (request.snapshot, request.upserts)
    queues = {queue.name for rows in both for queue in rows.queues}
    if job.queue not in queues:
        raise _invalid(unknown_name_message("queue", job.queue, queues))
    uid = _free_name(job.name, _taken_names(both))
    created = request.now if request.HasField("now") else request.snapshot.now
    request.upserts.shapes.append(_shape(f"{HINT} {uid}", job))
    request.upserts.pod_groups.add(
        uid=uid,
        name=uid,
        queue=job.queue,
        priority=job.priority,
        min_member=job.pods,
        preemptibility=job.preemptibility,
        creation_time=created,
    )
    for number in range(job.pods):
        request.upserts.pods.add(
            uid=f"{uid}-{number}",
            pod_group=uid,
            shape=f"{HINT} {uid}",
            status=POD_STATUS_PENDING,
            creation_time=created,
        )


def _taken_names(both: "tuple[ClusterSnapshot, ...]") -> set[str]:
    """Names of pod groups, and those that a new pod group may not have because of its pods."""
    names = {name for rows in both for group in rows.pod_groups for name in (group.uid, group.name)}
    for rows in both:
        pods = (*(pod.uid for pod in rows.pods), *rows.pod_columns.uid)
        names.update(uid.rpartition("-")[0] for uid in pods)
    return names


def _free_name(wanted: str, taken: set[str]) -> str:
    """The name that is wanted, else the first free one of `job`, `job-2`, ..."""
    if wanted in taken:
        raise _invalid(f"a pod group {wanted!r} exists; use another name=NAME")
    name, number = wanted or "job", 2
    while name in taken:
        name, number = f"job-{number}", number + 1
    return name


def _shape(shape_id: str, job: Job) -> "PodShape":
    from tenure.v1.snapshot_pb2 import PodShape

    shape = PodShape(id=shape_id)
    shape.requests.cpu_milli = round(job.cpus * 1000)
    if 0 < job.gpus < 1:
        shape.gpu.devices, shape.gpu.portion_milli = 1, round(job.gpus * 1000)
    elif job.gpus:
        shape.gpu.devices = round(job.gpus)
    return shape


def _gpus(text: str) -> float:
    number = _amount(text)
    if number > 1 and number != int(number):
        raise ValueError("must be whole GPUs, or a part of one such as 0.5")
    return number


def _amount(text: str) -> float:
    if not re.fullmatch(r"[0-9]{0,6}(\.[0-9]{1,3})?", text):
        raise ValueError("must be a number such as 2 or 0.5")
    return float(text)


def _pods(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text) or not 1 <= int(text) <= _MAX_PODS:
        raise ValueError(f"must be a number of pods from 1 to {_MAX_PODS:,}")
    return int(text)


def _priority(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,10}", text) or not -(2**31) <= int(text) < 2**31:
        raise ValueError("must be a whole number such as 50")
    return int(text)


def _preemptibility(text: str) -> int:
    if not (mode := parse_preemptibility(text)):
        raise ValueError(f"must be one of {', '.join(SPELLINGS.values())}")
    return mode


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "queue": str,
    "gpus": _gpus,
    "pods": _pods,
    "priority": _priority,
    "cpus": _amount,
    "name": str,
    "preemptibility": _preemptibility,
}


def _invalid(problem: str) -> typer.BadParameter:
    return typer.BadParameter(problem, param_hint=HINT)
