"""Evictions of protected work, found from the inputs and the history alone. A run must have none.

The rules are those of docs/reference/configuration.md, written again here: nothing of the solver is used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.simulator.jobs import Job
from tenure.simulator.results import Eviction, Notice
from tenure.terms.durations import format_duration, parse_duration
from tenure.terms.preemptibility import Preemptibility
from tenure.v1.snapshot_pb2 import Queue

UNGUARDED: Final = frozenset(("stalegangeviction", "timelimit"))
"""Actions that evict what cannot run anyway."""


class Violation(NamedTuple):
    """A protection that was not kept."""

    eviction: Eviction
    rule: str


@dataclass(frozen=True)
class MinRuntimes:
    """Arguments of the plugin minruntime, in nanoseconds."""

    preempt: int = 0
    reclaim: int = 0
    method: str = "lca"
    actions: frozenset[str] | None = None
    """Actions that it guards; None: all that take victims."""

    @classmethod
    def of(cls, plugins: Iterable[tuple[str, Mapping[str, str]]]) -> "MinRuntimes | None":
        """The arguments among plugins of a profile; None if the plugin is not among them."""
        for name, arguments in plugins:
            if name == "minruntime":
                actions = arguments.get("actions")
                named = None if actions is None else frozenset(part.strip() for part in actions.split(","))
                return cls(
                    parse_duration(arguments.get("defaultPreemptMinRuntime", "0s")),
                    parse_duration(arguments.get("defaultReclaimMinRuntime", "0s")),
                    arguments.get("reclaimResolveMethod", "lca"),
                    named,
                )
        return None


@dataclass(frozen=True)
class NoticesOfRun:
    """The notices that were given, and what decides how long they are. Durations are in nanoseconds."""

    given: Sequence[Notice]
    default: int = 0
    """Of jobs that set none; 0: as their queues say."""
    fallback: int = 0
    """The option defaultNotice: of jobs for which no queue sets one either."""
    longest: int = 0
    """The option maxNotice."""
    are_saving: bool = False
    """Whether jobs that do not say save their work on notice, after which they may be evicted at once."""


def find_violations(
    jobs: Sequence[Job],
    queues: Sequence[Queue],
    evictions: Sequence[Eviction],
    minimums: MinRuntimes | None,
    notices: NoticesOfRun,
) -> Iterator[Violation]:
    """Every eviction that a rule forbids."""
    by_name = {job.name: job for job in jobs}
    tree = {queue.name: queue for queue in queues}
    given: dict[str, list[Notice]] = {}
    for notice in notices.given:
        given.setdefault(notice.victim, []).append(notice)
    for eviction in evictions:
        if eviction.action in UNGUARDED:
            continue
        victim, winner = by_name[eviction.victim], by_name[eviction.beneficiary]
        below = eviction.left < victim.least_pods
        least = _notice(tree, victim, notices)
        if least and (late := _late(eviction, victim, least, notices, given.get(victim.name, ()))):
            yield Violation(eviction, late)
        if victim.preemptibility is Preemptibility.NON_PREEMPTIBLE:
            yield Violation(eviction, "it is non-preemptible")
        elif victim.preemptibility is Preemptibility.SEMI_PREEMPTIBLE and below:
            yield Violation(eviction, "it is semi-preemptible and lost pods of its minimum")
        elif minimums is not None and below and _is_guarded(minimums, eviction.action):
            least = _minimum(tree, victim.queue, winner.queue, minimums)
            ran = eviction.time - eviction.last_start
            if ran < least:
                text = f"it ran for {format_duration(ran)} of its minimum runtime of {format_duration(least)}"
                yield Violation(eviction, text)


def _notice(tree: Mapping[str, Queue], job: Job, notices: NoticesOfRun) -> int:
    """The notice of a job, in nanoseconds; 0: none."""
    of_job = notices.default if job.notice is None else job.notice
    is_set = job.notice is not None or of_job > 0
    period = of_job if is_set else _first(_path(tree, job.queue), "notice", notices.fallback)
    return min(period, notices.longest)


def _late(
    eviction: Eviction, victim: Job, least: int, notices: NoticesOfRun, given: Iterable[Notice]
) -> str | None:
    """What is wrong with the notice before an eviction; None: nothing."""
    open_since = [each.time for each in given if each.end is None or each.end >= eviction.time]
    if not open_since or min(open_since) > eviction.time:
        return f"it was not given its notice of {format_duration(least)}"
    since = eviction.time - min(open_since)
    if since >= least or victim.saves_on_notice(notices.are_saving):
        return None
    return f"it had notice for {format_duration(since)}, and its notice is {format_duration(least)}"


def _is_guarded(minimums: MinRuntimes, action: str) -> bool:
    return minimums.actions is None or action in minimums.actions


def _minimum(tree: Mapping[str, Queue], victim: str, preemptor: str, minimums: MinRuntimes) -> int:
    path = _path(tree, victim)
    if victim == preemptor:
        return _first(path, "preempt_min_runtime", minimums.preempt)
    if minimums.method == "lca":
        others = {queue.name for queue in _path(tree, preemptor)}
        top = max(i for i, queue in enumerate(path) if queue.name not in others)
        path = path[top:]
    return _first(path, "reclaim_min_runtime", minimums.reclaim)


def _path(tree: Mapping[str, Queue], name: str) -> list[Queue]:
    """The queue and its ancestors, from the leaf up."""
    path = []
    while name in tree:
        path.append(tree[name])
        name = tree[name].parent
    return path


def _first(path: Iterable[Queue], field: str, default: int) -> int:
    for queue in path:
        if queue.HasField(field):
            return int(getattr(queue, field).ToNanoseconds())
    return default
