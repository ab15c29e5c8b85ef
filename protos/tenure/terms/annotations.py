"""Annotations of Kubernetes objects, and options of Slurm jobs, that Tenure reads or writes, a row for each.

The adapters read and write by this table, the server reads the rows that are sent unchanged, and the tables
of docs/reference/annotations.md are generated from it. A new annotation of a known kind is a row.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple


class ValueKind(Enum):
    """How a text becomes the value of a field. An unreadable text is a warning."""

    DURATION = auto()
    """Not negative; unreadable counts as `otherwise`, else as unset."""
    PROTECTING_DURATION = auto()
    """Not negative; unreadable counts as the longest one."""
    TIME = auto()
    """RFC 3339; unreadable counts as unset."""
    COUNT = auto()
    """A number from 0; unreadable counts as unset."""
    FLAG = auto()
    """True or false; unreadable counts as `otherwise`."""
    CHOICE = auto()
    """A value of the enum of the field, in lower case; unreadable counts as `otherwise`."""
    OTHER = auto()
    """A form of its own, which a module of the adapter reads and writes."""


class Writer(Enum):
    """Who writes an annotation."""

    USER = auto()
    ADAPTER = auto()


class Annotation(NamedTuple):
    """One annotation. The texts are cells of its page; an empty one: it has no effect on such objects."""

    key: str
    kind: ValueKind
    field: str = ""
    """Field of the message PodGroup or Queue, or of QueueResource; empty: none."""
    on_pod_group: str = ""
    """Value on a pod group and on what stands for one: owners, and pods without a pod group."""
    on_queue: str = ""
    on_other: str = ""
    """Value on owners and pods alone, on pods with a pod group, or on resource claims."""
    invalid: str = "treated as unset"
    """Effect of an invalid value."""
    otherwise: str = ""
    """What an unreadable choice, flag or duration counts as."""
    unit: str = ""
    """What a count counts."""
    writer: Writer = Writer.USER
    other_keys: tuple[str, ...] = ()
    """Other spellings, which count without the key, the first one that is set first."""
    is_label: bool = False
    """Whether it may also be a label."""
    is_sent: bool = False
    """Whether its text is sent in PodGroup.annotations: the server parses it, and warns."""
    is_cost: bool = False
    """Whether it says what an eviction costs (semantics R14.10 to R14.14)."""
    is_job_option: bool = False
    """Whether jobs of Slurm have it as an option in their comment."""

    @property
    def name(self) -> str:
        """Name without the prefix, such as `on-evict`."""
        return self.key.rpartition("/")[2]

    @property
    def keys(self) -> tuple[str, ...]:
        """All spellings, the first one that counts first."""
        return (self.key, *self.other_keys)


_KAI: Final = "kai.scheduler/"
_TENURE: Final = "tenure.scheduler/"
_K = ValueKind
_ADAPTER: Final = Writer.ADAPTER

ANNOTATIONS: Final = (
    Annotation(
        f"{_KAI}preemptibility",
        _K.OTHER,
        "preemptibility",
        (
            "`Preemptible`, `Non-Preemptible` or `Semi-Preemptible`, in any case, with or without the "
            "hyphen (Volcano's: `true` or `false`); also as a label"
        ),
        invalid="non-preemptible",
        other_keys=("volcano.sh/preemptable",),
        is_label=True,
        is_sent=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_KAI}safe-to-consolidate",
        _K.OTHER,
        "opt_out_actions",
        (
            "`false`: consolidation never moves it, and where a reclaim moves it, its queue loses what it "
            "has ([R8.50](semantics.md#r8-50)); `true`: nothing changes"
        ),
        invalid="ignored",
    ),
    Annotation(
        f"{_KAI}expected-runtime",
        _K.DURATION,
        "expected_runtime",
        "duration above zero",
        "expected runtime of its pod groups that set none themselves; `0s`: they have none",
        invalid="never past its expected runtime",
        otherwise="0s",
        is_sent=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_KAI}requeue-delay",
        _K.DURATION,
        "requeue_delay",
        "duration",
        "requeue delay of its pod groups that set none themselves",
        is_sent=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_KAI}min-runtime",
        _K.DURATION,
        "min_runtime",
        "duration, as far as the [queue permits](configuration.md#minimum-runtime)",
        invalid="the longest one permitted",
        is_sent=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_KAI}max-min-runtime",
        _K.DURATION,
        "max_min_runtime",
        on_queue="longest minimum runtime that its pod groups may set for themselves",
    ),
    Annotation(
        f"{_TENURE}on-evict",
        _K.CHOICE,
        "on_evict",
        (
            "`requeue`, `hold`, `delete` or `suspend`: [what becomes of it](guards.md#what-becomes-of-"
            "a-victim) when it is evicted"
        ),
        "what becomes of its pod groups when they are evicted and set nothing themselves",
        invalid="`requeue`",
        otherwise="requeue",
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}suspendable",
        _K.FLAG,
        "suspendable",
        "`true`: the adapter may suspend its owner",
        invalid="not suspendable",
        otherwise="false",
    ),
    Annotation(
        f"{_TENURE}hold",
        _K.OTHER,
        "held_by",
        (
            "`true`, `admin` if an administrator holds it, or `dependency` if it waits for another "
            "workload: it is not scheduled until the annotation is removed"
        ),
        invalid="held",
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}depends-on",
        _K.OTHER,
        "depends_on",
        (
            "names of the pod groups of its namespace that it waits for, at most 64, separated by "
            "commas: for sentences only"
        ),
        invalid="named as it is",
    ),
    Annotation(
        f"{_TENURE}time-limit",
        _K.DURATION,
        "time_limit",
        "duration that it may run, counted from its start ([time limits](configuration.md#time-limits))",
        "longest time that its pod groups may run",
    ),
    Annotation(
        f"{_TENURE}on-time-limit",
        _K.CHOICE,
        "on_time_limit",
        "`hold`, `requeue`, `delete` or `suspend`: what becomes of it then",
        "what becomes of its pod groups at their time limit",
        invalid="`hold`",
        otherwise="hold",
    ),
    Annotation(
        f"{_TENURE}not-before",
        _K.OTHER,
        "not_before_time",
        "time before which it is not scheduled",
        invalid="held",
    ),
    Annotation(
        f"{_TENURE}released",
        _K.OTHER,
        "release_time",
        "time, not in the future: ends a hold since an eviction that is not later",
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}last-checkpoint-time",
        _K.TIME,
        "last_checkpoint_time",
        "time of the last checkpoint",
        is_cost=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}checkpoint-interval",
        _K.DURATION,
        "checkpoint_interval",
        "duration between checkpoints, counted from the start; used without the time above",
        is_cost=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}restart-cost",
        _K.DURATION,
        "restart_cost",
        "duration from a start until the pods compute again",
        is_cost=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}eviction-cost",
        _K.COUNT,
        "eviction_cost",
        "what an eviction costs besides, in GPU-seconds: `0` to `1073741824`",
        unit="GPU-seconds",
        is_cost=True,
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}shrink-loses-work",
        _K.FLAG,
        "shrink_loses_work",
        (
            "`true`: all pods lose their work since the last checkpoint when some beyond the minimum "
            "are evicted"
        ),
        invalid="true",
        otherwise="true",
        is_cost=True,
    ),
    Annotation(
        f"{_TENURE}notice",
        _K.PROTECTING_DURATION,
        "notice",
        (
            "duration: how long before an eviction its pods [are given notice](guards.md#notice-before-"
            "an-eviction), up to `maxNotice`"
        ),
        "notice of its pod groups that set none themselves",
        invalid="the longest one permitted",
        is_job_option=True,
    ),
    Annotation(
        f"{_TENURE}checkpoint-on-notice",
        _K.FLAG,
        "checkpoint_on_notice",
        (
            "`true`: it saves its work when its pods are given notice, and then sets "
            "`tenure.scheduler/last-checkpoint-time`; it can be evicted before its notice is over"
        ),
        invalid="false: its notice is not shortened",
        otherwise="false",
        is_job_option=True,
    ),
    Annotation(
        f"{_KAI}preemption-delay",
        _K.OTHER,
        "preemption_delay",
        "duration: how long after creation or eviction it cannot evict other pod groups",
    ),
    Annotation(
        f"{_KAI}staleness-grace-period",
        _K.OTHER,
        "staleness_grace_period",
        "duration that it may run below its minimum before it is evicted; negative: for ever",
    ),
    Annotation(
        f"{_KAI}topology",
        _K.OTHER,
        "topology_constraint",
        on_other="name of the `Topology` of the levels below",
    ),
    Annotation(
        f"{_KAI}topology-required-placement",
        _K.OTHER,
        "topology_constraint",
        on_other="level, or its alias, at which all pods of the derived pod group must share a domain",
    ),
    Annotation(
        f"{_KAI}topology-preferred-placement",
        _K.OTHER,
        "topology_constraint",
        on_other="level, or its alias, at which they share a domain if possible",
    ),
    Annotation(
        f"{_KAI}segment-size",
        _K.OTHER,
        on_other="not supported: pods with it wait, and say so",
    ),
    Annotation(
        f"{_KAI}segment-topology-required-placement",
        _K.OTHER,
        on_other="not supported, likewise",
    ),
    Annotation(
        f"{_KAI}segment-topology-preferred-placement",
        _K.OTHER,
        on_other="not supported, likewise",
    ),
    Annotation(
        f"{_KAI}gpu-compute-sharing-mode",
        _K.OTHER,
        on_other="not supported, likewise",
    ),
    Annotation(
        f"{_KAI}skip-podgrouper",
        _K.OTHER,
        on_other="`true`: no pod group is derived for the pod; it waits until it names one",
    ),
    Annotation(
        "ray.io/priority-class-name",
        _K.OTHER,
        "priority",
        "priority class, if the field `spec.priorityClassName` is empty; also as a label",
        invalid="priority of the default class, else 50",
        other_keys=("priorityClassName", "runai/priority-class"),
        is_label=True,
    ),
    Annotation(
        f"{_KAI}queue",
        _K.OTHER,
        "queue",
        "leaf queue, if the field `spec.queue` is empty; also as a label",
        invalid="the pods stay pending",
        other_keys=("scheduling.volcano.sh/queue-name",),
        is_label=True,
    ),
    Annotation(
        f"{_TENURE}at-eviction-limit",
        _K.CHOICE,
        "at_eviction_limit",
        on_queue=(
            "`immune` or `hold`: what happens to its pod groups at the limit of "
            "[`evictionlimit`](guards.md#fields-and-patches)"
        ),
        otherwise="immune",
    ),
    Annotation(
        f"{_TENURE}class-limits",
        _K.OTHER,
        "class_limits",
        on_queue=(
            "GPUs by class of nodes, such as `h100=4, a100=16`: [limits](configuration.md#bounds-of-"
            "queues) for nodes of one class"
        ),
    ),
    Annotation(
        f"{_TENURE}class-quotas",
        _K.OTHER,
        "class_limits",
        on_queue="GPUs by class of nodes: quotas, for non-preemptible pods",
    ),
    Annotation(
        f"{_TENURE}lending-limit",
        _K.OTHER,
        "lending_limit",
        on_queue=(
            "how much of its unused quota others may use, in the units of the queue, such as `gpu=2, "
            "cpu=16000, memory=64000`"
        ),
    ),
    Annotation(
        f"{_TENURE}max-running", _K.COUNT, "max_running", on_queue="how many of its pod groups may run"
    ),
    Annotation(
        f"{_TENURE}user-limits",
        _K.OTHER,
        on_queue=(
            "limit of the queue of [each user](../operate/security.md#queues-of-users) below it, in the"
            " units of the queue, such as `gpu=2`"
        ),
    ),
    Annotation(
        f"{_TENURE}user-quotas",
        _K.OTHER,
        on_queue="quota of the queue of each user below it, likewise",
    ),
    Annotation(
        f"{_TENURE}user-max-running",
        _K.OTHER,
        on_queue="how many pod groups of each user below it may run",
    ),
    Annotation(
        f"{_KAI}last-start-timestamp",
        _K.TIME,
        "last_start_time",
        "time, at most that since which the minimum of its pods runs",
        writer=_ADAPTER,
    ),
    Annotation(f"{_KAI}last-eviction-timestamp", _K.TIME, "last_eviction_time", "time", writer=_ADAPTER),
    Annotation(f"{_KAI}stale-podgroup-timestamp", _K.TIME, "stale_since", "time", writer=_ADAPTER),
    Annotation(
        f"{_KAI}requeue-not-before",
        _K.TIME,
        "requeue_not_before",
        "time; an invalid value prevents requeue",
        writer=_ADAPTER,
        is_sent=True,
    ),
    Annotation(f"{_TENURE}eviction-count", _K.COUNT, "eviction_count", "number", writer=_ADAPTER),
    Annotation(
        f"{_TENURE}total-eviction-wait", _K.DURATION, "total_eviction_wait", "duration", writer=_ADAPTER
    ),
    Annotation(
        f"{_TENURE}evictions-without-progress",
        _K.COUNT,
        "evictions_without_progress",
        "number; written if the profile lists `victimcooldown`",
        writer=_ADAPTER,
    ),
    Annotation(f"{_TENURE}last-notice-timestamp", _K.TIME, "last_notice_time", "time", writer=_ADAPTER),
    Annotation(
        f"{_TENURE}held-by",
        _K.OTHER,
        "held_by",
        "`evicted`, or another reason in lower case with hyphens",
        writer=_ADAPTER,
    ),
    Annotation(
        f"{_TENURE}evictions",
        _K.OTHER,
        "evictions",
        "numbers by cause, such as `preempt=1,reclaim=2`; written if the profile lists `evictionlimit`",
        writer=_ADAPTER,
    ),
    Annotation(
        f"{_TENURE}backfill-for",
        _K.OTHER,
        "backfill_for",
        "uids, such as `a,b`; written if the profile lists the plugin `reservation`",
        writer=_ADAPTER,
    ),
    Annotation(
        f"{_TENURE}grant",
        _K.OTHER,
        "grant",
        "what it was given resources under, as JSON of the message `Grant`",
        writer=_ADAPTER,
    ),
    Annotation(
        f"{_TENURE}signature",
        _K.OTHER,
        on_pod_group="number and digest: proves that the adapter wrote the others for this pod group",
        writer=_ADAPTER,
    ),
    Annotation(
        f"{_TENURE}evict-time",
        _K.OTHER,
        on_other=(
            "time at which the pod is evicted; earlier only if all victims of the decision ended or "
            "saved their work; the adapter writes it with the condition "
            "`tenure.scheduler/EvictionNotice` when it gives notice, and removes both when the notice "
            "is withdrawn"
        ),
        writer=_ADAPTER,
    ),
    Annotation(
        f"{_TENURE}device-allocator",
        _K.OTHER,
        on_other="the adapter that allocated its devices, and frees them when their decision is given up",
        writer=_ADAPTER,
    ),
)
_BY_NAME: Final[Mapping[str, Annotation]] = {each.name: each for each in ANNOTATIONS}


def annotation(name: str) -> Annotation:
    """The row of an annotation, by its name without the prefix."""
    return _BY_NAME[name]


def key_of(name: str) -> str:
    """The key of an annotation, by its name without the prefix."""
    return _BY_NAME[name].key


def written_by(writer: Writer) -> Iterator[Annotation]:
    """Annotations that users, or adapters, write on pod groups and queues."""
    return (each for each in ANNOTATIONS if each.writer is writer and not each.on_other)
