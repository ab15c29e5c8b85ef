"""How long pod groups ran that finished by themselves, for predictions of runtimes (semantics R17.32)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.integration.ports import FinishedRun
from tenure.kubernetes.observe.derived_pod_groups import have_all_ended
from tenure.kubernetes.observe.members import Member, Members
from tenure.kubernetes.rows.pods import ENDED, SUCCEEDED, started_at, uses_resources
from tenure.v1 import snapshot_pb2 as pb

_WHOLE: Final = 1_000


class _Running(NamedTuple):
    queue: str
    start_seconds: float
    """When its first pod started, since 1970."""
    gpu_milli: int | None
    """The most that its pods requested at one time; None: a share of it depends on the node."""


class FinishedRuns:
    """Follows the pod groups whose pods run. One that ran before the adapter started counts from then on."""

    def __init__(
        self, members: Members, rows: Mapping[str, pb.PodGroup], queues: Mapping[str, pb.Queue]
    ) -> None:
        """`rows` are the rows of pod groups, by uid. Runs in other queues than these, by name, leave nothing:
        users write names of queues, and a journal holds few.
        """
        self._members, self._rows, self._queues = members, rows, queues
        self._running: dict[str, _Running] = {}
        """By uid of the pod group."""
        self._ended: set[str] = set()
        """Pod groups whose pods have ended: a Job may go on with others."""
        self._finished: list[FinishedRun] = []

    def take(self) -> list[FinishedRun]:
        """What finished since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def update(self, pod_groups: Iterable[str], now_seconds: float) -> None:
        """Follow the changed pod groups with these uids."""
        for uid in sorted(pod_groups):
            members = [self._members.by_uid[pod] for pod in self._members.of_group(uid)]
            using = [member for member in members if uses_resources(member.pod)]
            if using:
                self._follow(uid, members, using, now_seconds)
            elif (run := self._running.pop(uid, None)) is not None:
                self._ended.add(uid)
                if run.queue in self._queues and _have_finished(members) and run.gpu_milli is not None:
                    seconds = max(int(now_seconds - run.start_seconds), 0)
                    self._finished.append(FinishedRun(run.queue, run.gpu_milli, seconds, int(now_seconds)))
            if not members:
                self._ended.discard(uid)

    def _follow(
        self, uid: str, members: Sequence[Member], using: Sequence[Member], now_seconds: float
    ) -> None:
        """Pods that ended before count only if they may have run beside those that run now."""
        known, row = self._running.get(uid), self._rows.get(uid)
        if row is None:
            return
        start = min([at for at in map(_start_of, using) if at is not None], default=now_seconds)
        is_new = known is None and uid not in self._ended
        left = [each for each in members if is_new or each.pod.status.phase not in ENDED]
        gpu_milli = _gpu_milli(left)
        if known is not None:
            start = min(known.start_seconds, start)
            is_known = gpu_milli is not None and known.gpu_milli is not None
            gpu_milli = max(known.gpu_milli or 0, gpu_milli or 0) if is_known else None
        self._running[uid] = _Running(row.queue, start, gpu_milli)


def _have_finished(members: Sequence[Member]) -> bool:
    """Whether pods finished by themselves. An evicted one may succeed in its grace period, too."""
    pods = [member.pod for member in members]
    is_deleted = any(pod.metadata.deletion_timestamp is not None for pod in pods)
    return bool(pods) and not is_deleted and have_all_ended(pods, [SUCCEEDED])


def _start_of(member: Member) -> float | None:
    started = started_at(member.pod)
    return None if started is None else started.timestamp()


def _gpu_milli(members: Sequence[Member]) -> int | None:
    """What pods requested together, in thousandths of a GPU; None: a share of it depends on the node."""
    total = 0
    for member in members:
        gpu = member.interned_shape.row.gpu
        if gpu.WhichOneof("share") == "memory_mib":
            return None
        total += gpu.devices * (gpu.portion_milli or _WHOLE)
    return total
