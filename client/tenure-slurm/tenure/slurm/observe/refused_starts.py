"""Jobs that Slurm did not start, or would not start: they wait until something changed for them.

Such a job is not offered to the server for a start. So no job is requeued for it, and no node is kept free.
What has to change depends on why Slurm refused it:

limit      limits of users, accounts and QOS: a job of the same user, account or QOS ended, or limits changed
request    no node, or no partition, takes such a job: nodes changed
place      its nodes were in use for Slurm: a job on them ended, or nodes changed. So too if Slurm
           kept the job held: only the gate turns what the adapter sets into a release
silence    Slurm did not say whether it would start the job: as for a place. Until then the job is offered for
           a start on free nodes, and no job is requeued for it

For each of them, the job itself may be edited, or a growing pause is over: what Slurm judges by does not all
show in its listings, such as a partition that is up again, or used time that decays. A new attempt evicts
nothing before Slurm has answered.
"""

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, NamedTuple

from tenure.slurm.observe.cluster import HOLDING, RELEASING, Reading, Run, job_key
from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.reservations import active_by_node
from tenure.slurm.observe.rows import JobRow, NodeRow

FIRST_PAUSE_SECONDS: Final = 30
LONGEST_PAUSE_SECONDS: Final = 600
KEPT_HELD: Final = (
    "Slurm keeps the job held, as it does without Tenure's job_submit.lua: print it again and run "
    "scontrol reconfigure"
)
_UNDECIDED: Final = frozenset(
    {"", "None", "Priority", "Cleaning", "BeginTime", "JobHeldAdmin", "JobHeldUser"}
)
_MAY_START: Final = ("Resources", "ReqNodeNotAvail")
_IN_USE: Final = re.compile(
    r"\(?(Resources|ReqNodeNotAvail,[ _]*May[ _]be[ _]reserved[ _]for[ _]other[ _]job)\)?"
)
"""What Slurm says of a job that only waits for jobs on its nodes. It also says ReqNodeNotAvail of nodes that
are reserved, or away: they would not start the job without these jobs either."""
_LIMIT: Final = re.compile(r"(QOS|Assoc|Max|AccountingPolicy|JobArrayTaskLimit|Licenses)")
_REQUEST: Final = re.compile(r"(BadConstraints|Partition|Invalid|AccountNotAllowed|Dependency)")
_USE_FLAGS: Final = frozenset({"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED"})
"""States of a node that only say how much of it is in use."""


class RefusalKind(Enum):
    """What has to change before the job is offered again."""

    LIMIT = "limit"
    REQUEST = "request"
    PLACE = "place"


def kind_of(reason: str) -> RefusalKind | None:
    """What a reason of squeue for a released job says about its start; None: Slurm may start it yet."""
    word = reason.partition(",")[0].strip("()")
    if word in _UNDECIDED or word in _MAY_START:
        return None
    if _LIMIT.match(word):
        return RefusalKind.LIMIT
    return RefusalKind.REQUEST if _REQUEST.match(word) else RefusalKind.PLACE


def is_in_use(reason: str) -> bool:
    """Whether Slurm would start a job on its nodes if they were free."""
    return _IN_USE.fullmatch(reason) is not None


def has_judged(reason: str) -> bool:
    """Whether Slurm has tried to start a released job, and says why it did not."""
    return reason.partition(",")[0].strip("()") not in _UNDECIDED


class Wait(NamedTuple):
    """Why a job waits for Slurm, and not for the decisions of the server."""

    text: str
    """A sentence about the job."""
    kind: RefusalKind | None
    """What has to change. None: it is offered, but no other job is requeued for it."""


class _Refusal(NamedTuple):
    text: str
    kind: RefusalKind | None
    """None: Slurm did not say."""
    request: tuple[object, ...] | None
    """As in the first listing afterwards, which has what was set to place the job. None: not listed yet."""
    nodes: frozenset[str]
    until: int
    """When it is tried again at the latest, in seconds since 1970."""


class RefusedStarts:
    """Refusals by key of the job. For the thread that reconciles."""

    def __init__(self) -> None:
        self._refusals: dict[str, _Refusal] = {}
        self._pauses: dict[str, int] = {}
        """The last pause of each job, in seconds."""
        self._held: dict[tuple[str, int], JobRow] = {}
        """Jobs that had nodes in the last listing, by key and number of the run."""
        self._nodes: dict[str, tuple[object, ...]] = {}
        self._limits: object = None

    def add(self, run: Run, reason: str, nodes: Iterable[str], now: int) -> str:
        """Remember why Slurm does not start a job, and return it as a sentence about the job."""
        kind = kind_of(reason) or RefusalKind.PLACE
        is_limit = kind is RefusalKind.LIMIT
        text = f"Slurm's limit {reason} is reached" if is_limit else f"Slurm did not start the job: {reason}"
        return self._add(run, text, kind, nodes, now)

    def add_hold(self, run: Run, nodes: Iterable[str], now: int) -> str:
        """Remember that Slurm kept a job held that was released. Returns that."""
        return self._add(run, KEPT_HELD, RefusalKind.PLACE, nodes, now)

    def add_silence(self, run: Run, reason: str, nodes: Iterable[str], seconds: float, now: int) -> str:
        """Remember that Slurm did not say in so many seconds whether it would start the job. Returns that."""
        last = f" ({reason})" if reason else ""
        text = (
            f"Slurm did not say within {seconds:.0f} s whether it would start the job{last}, so no other job "
            "yields to it; lower batch_sched_delay or remove defer"
        )
        return self._add(run, text, None, nodes, now)

    def _add(self, run: Run, text: str, kind: RefusalKind | None, nodes: Iterable[str], now: int) -> str:
        pause = min(2 * self._pauses.get(run.key, FIRST_PAUSE_SECONDS // 2), LONGEST_PAUSE_SECONDS)
        self._pauses[run.key] = pause
        self._refusals[run.key] = _Refusal(text, kind, None, frozenset(nodes), now + pause)
        return text

    def find(self, run: Run) -> Wait | None:
        """Why a pending job is not offered; None: it is."""
        known = self._refusals.get(run.key) if run.job.state == "PENDING" else None
        return None if known is None else Wait(known.text, known.kind)

    @property
    def recheck_seconds(self) -> int | None:
        """When a pause ends, in seconds since 1970; None: there is none."""
        return min((one.until for one in self._refusals.values()), default=None)

    def observe(self, reading: Reading, now: int) -> None:
        """Forget refusals for whose jobs something changed since the last listing."""
        listed = {job_key(job): job for job in reading.jobs}
        held = {
            (job_key(job), job.restart_cnt): job
            for job in reading.jobs
            if job.state in HOLDING or job.state in RELEASING
        }
        ended = [job for key, job in self._held.items() if key not in held]
        reserved = active_by_node(reading.reservations)
        nodes = {row.name: _offer(row, reserved.get(row.name, ())) for row in reading.nodes}
        limits = reading.associations
        have_limits_changed = self._limits is not None and limits != self._limits
        have_nodes_changed = bool(self._nodes) and nodes != self._nodes
        self._held, self._nodes, self._limits = held, nodes, limits
        for key, refusal in list(self._refusals.items()):
            job = listed.get(key) or listed.get(key.partition("_")[0])
            has_place_changed = have_nodes_changed or _any_on(refusal.nodes, ended)
            changed = {
                RefusalKind.LIMIT: have_limits_changed or _any_alike(job, ended),
                RefusalKind.REQUEST: have_nodes_changed,
                RefusalKind.PLACE: has_place_changed,
                None: has_place_changed,
            }
            if job is None or job.state != "PENDING" or now >= refusal.until or changed[refusal.kind]:
                del self._refusals[key]
            elif refusal.request is None:
                self._refusals[key] = refusal._replace(request=request_of(job))
            elif refusal.request != request_of(job):
                del self._refusals[key]
        for key in [key for key in self._pauses if key not in listed and key.partition("_")[0] not in listed]:
            del self._pauses[key]


def request_of(job: JobRow) -> tuple[object, ...]:
    """What a user can edit and Slurm judges, but the nodes, which the adapter sets."""
    return (
        job.tres_req_str,
        job.time_limit,
        job.partition,
        job.account,
        job.qos,
        job.features,
        job.dependency,
        job.licenses,
        job.resv_name,
        job.minimum_cpus_per_node,
        job.minimum_tmp_disk_per_node,
    )


def _offer(node: NodeRow, reservations: Sequence[str]) -> tuple[object, ...]:
    """What a node has, whatever is in use of it."""
    states = node.all_states - _USE_FLAGS
    return (
        node.cpus,
        node.real_memory,
        node.gres,
        tuple(node.features),
        tuple(node.partitions),
        states,
        reservations,
    )


def _any_alike(job: JobRow | None, ended: Sequence[JobRow]) -> bool:
    if job is None:
        return True
    return any(
        job.user_id == other.user_id or job.account == other.account or job.qos == other.qos
        for other in ended
    )


def _any_on(nodes: frozenset[str], ended: Iterable[JobRow]) -> bool:
    return any(not nodes.isdisjoint(_nodes_of(job)) for job in ended)


def _nodes_of(job: JobRow) -> Sequence[str]:
    try:
        return expand(job.nodes or "")
    except HostListError:
        return ()
