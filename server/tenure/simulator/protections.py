"""Evictions of protected work, found from the inputs and the history alone. A run must have none.

The rules are those of docs/reference/configuration.md, written again here: nothing of the solver is used.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tenure.simulator.jobs import Job
from tenure.simulator.results import Eviction
from tenure.terms.durations import format_duration, parse_duration
from tenure.v1.snapshot_pb2 import Queue

UNGUARDED: Final = frozenset(("stalegangeviction",))
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


def find_violations(
    jobs: Sequence[Job], queues: Sequence[Queue], evictions: Sequence[Eviction], minimums: MinRuntimes | None
) -> Iterator[Violation]:
    """Every eviction that a rule forbids."""
    by_name = {job.name: job for job in jobs}
    tree = {queue.name: queue for queue in queues}
    for eviction in evictions:
        if eviction.action in UNGUARDED:
            continue
        victim, winner = by_name[eviction.victim], by_name[eviction.beneficiary]
        below = eviction.left < victim.least_pods
        if victim.preemptibility == "non-preemptible":
            yield Violation(eviction, "it is non-preemptible")
        elif victim.preemptibility == "semi-preemptible" and below:
            yield Violation(eviction, "it is semi-preemptible and lost pods of its minimum")
        elif minimums is not None and below and _is_guarded(minimums, eviction.action):
            least = _minimum(tree, victim.queue, winner.queue, minimums)
            ran = eviction.time - eviction.last_start
            if ran < least:
                text = f"it ran for {format_duration(ran)} of its minimum runtime of {format_duration(least)}"
                yield Violation(eviction, text)


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
