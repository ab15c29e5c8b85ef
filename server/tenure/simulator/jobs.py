"""Jobs of a trace, and what is wrong with a trace."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.terms.durations import SECOND
from tenure.terms.formatting import format_count
from tenure.terms.preemptibility import SPELLINGS, Preemptibility, parse_preemptibility

WHOLE_GPU: Final = 1000
"""Thousandths of a GPU."""
DEFAULT_PRIORITY: Final = 50
"""Such that a pod group that sets no preemptibility is preemptible (semantics R1.80)."""
DEFAULT_MODE: Final = Preemptibility.PREEMPTIBLE
ONE_QUEUE: Final = "all"
"""Queue of the jobs of a trace that names none."""
GPU_KIND_LABEL: Final = "nvidia.com/gpu.product"
"""Label of a node that states the kind of its GPUs."""
FROM_ZERO: Final = -1
"""Checkpoint interval of a job that keeps no work when it is evicted."""
MAX_SECONDS: Final = 10**10
"""Latest time in a trace, in seconds; some three centuries."""
MAX_GPUS: Final = 10**6
"""Largest number of GPUs, pods or processors of one job."""
MODE_TEXTS: Final = ", ".join(map(str.lower, SPELLINGS.values()))
"""Values of preemptibility in traces, for messages."""


class TraceError(ValueError):
    """A trace cannot be read at all. The message names the file, the problem and the fix."""


class Job(NamedTuple):
    """One job. Times and durations are in nanoseconds."""

    name: str
    """Unique in the trace."""
    queue: str
    submit: int
    """Since the Unix epoch."""
    runtime: int
    """Alone and without interruption."""
    gpu_milli: int
    """Thousandths of a GPU of each pod. Amounts are those of the whole job while `pods` is 0."""
    pods: int = 0
    """0: as many as needed, by the size of a node (`fitting.fit_jobs`)."""
    min_member: int = 0
    """Pods without which it does not run; 0: all."""
    priority: int = DEFAULT_PRIORITY
    preemptibility: Preemptibility = DEFAULT_MODE
    cpu_milli: int = 0
    memory_bytes: int = 0
    """Of each pod."""
    expected_runtime: int = 0
    """What its owner says; 0: nothing."""
    checkpoint_interval: int | None = None
    """None: that of the run. 0: it keeps all work. FROM_ZERO: it keeps none."""
    notice: int | None = None
    """How long before an eviction it is given notice. None: that of the run, else of its queue."""
    checkpoint_on_notice: bool | None = None
    """Whether it saves its work when it is given notice. None: as the run says."""
    time_limit: int = 0
    """How long it may run from each start; 0: as its queue says."""
    gpu_kinds: tuple[str, ...] = ()
    """Kinds of GPUs that it can use; empty: any."""

    def saves_on_notice(self, default: bool) -> bool:
        """Whether it saves its work when it is given notice; `default` is what the run says."""
        return default if self.checkpoint_on_notice is None else self.checkpoint_on_notice

    @property
    def least_pods(self) -> int:
        """Pods without which it does not run."""
        return self.min_member or self.pods

    @property
    def total_gpu_milli(self) -> int:
        """Thousandths of a GPU of all pods."""
        return self.gpu_milli * (self.pods or 1)


class BadLine(NamedTuple):
    """A part of a trace that is not played, and why."""

    line: int | None
    """Its number; None: a job that the cluster cannot run."""
    problem: str
    unit: str = "line"
    """What has this number: a line, or a record of decisions."""

    @property
    def where(self) -> str:
        """Such as `line 3`; empty for a job, which the problem names."""
        return "" if self.line is None else f"{self.unit} {self.line}"

    def to_json(self) -> dict[str, str | int]:
        """For a file."""
        return {**({} if self.line is None else {self.unit: self.line}), "problem": self.problem}


@dataclass(frozen=True)
class Trace:
    """Jobs in order of submission, and what is left out."""

    jobs: Sequence[Job]
    bad_lines: Sequence[BadLine] = ()
    notes: Sequence[str] = field(default=())
    """How the trace was read: rules that were applied to it, for people."""
    node_gpus: int | None = None
    """GPUs or processors of a node, if the trace says so."""
    nodes: int | None = None

    @property
    def queues(self) -> list[str]:
        """Names of the queues, sorted."""
        return sorted({job.queue for job in self.jobs})


def left_out_text(bad_lines: Iterable[BadLine]) -> str:
    """How many lines, records and jobs are left out, for people."""
    counts = Counter("job" if bad.line is None else bad.unit for bad in bad_lines)
    return " and ".join(format_count(number, unit) for unit, number in counts.items()) + " left out"


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Jobs by submission; those of the same time stay in the order of the trace."""
    return sorted(jobs, key=lambda job: job.submit)


def seconds(text: str) -> int:
    """Nanoseconds of a text with whole or decimal seconds. Raises ValueError."""
    whole, _, fraction = text.strip().partition(".")
    if (
        not whole.isascii()
        or not whole.isdigit()
        or (fraction and not (fraction.isascii() and fraction.isdigit()))
    ):
        raise ValueError(f"{text!r} is not a number of seconds")
    value = int(whole) * SECOND + int(fraction[:9].ljust(9, "0") or 0)
    if value > MAX_SECONDS * SECOND:
        raise ValueError(f"{text!r} is more than {MAX_SECONDS} seconds")
    return value


def read_mode(text: str) -> Preemptibility:
    """Preemptibility as it is written in traces. Raises ValueError."""
    mode = parse_preemptibility(text)
    if not mode:
        raise ValueError(f"preemptibility {text!r} is not one of {MODE_TEXTS}")
    return mode


def mode_text(mode: Preemptibility) -> str:
    """Preemptibility as traces spell it, such as `non-preemptible`."""
    return SPELLINGS[mode].lower()


def count(text: str, what: str, least: int = 0) -> int:
    """A whole number of GPUs, pods or processors. Raises ValueError."""
    stripped = text.strip()
    if not stripped.isascii() or not stripped.isdigit() or not least <= int(stripped[:20]) <= MAX_GPUS:
        raise ValueError(f"{what} {text!r} is not a whole number from {least} to {MAX_GPUS}")
    return int(stripped)


def read_kinds(text: str) -> tuple[str, ...]:
    """Kinds of GPUs of a text such as `T4|P100`, sorted; empty: any."""
    return tuple(sorted({kind.strip() for kind in text.split("|")} - {""}))
