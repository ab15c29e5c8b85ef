"""Protects pod groups that have not reached their minimum runtime (semantics section 7)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import ClassVar, Final, NamedTuple

from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.queue import Queue
from tenure.solver.model.requeue import NO_TERMS
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope, protection_end
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, Relation, action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import Guard, ProtectionReporter, WarningReporter
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, GuardExpiry, SameFor, Traits
from tenure.terms.durations import format_duration, parse_duration
from tenure.terms.reasons import ReasonCode

NAME: Final = "minruntime"
_UNKNOWN: Final = -1
LCA: Final = "lca"
QUEUE: Final = "queue"
_PREEMPT_VALUE: Final = attrgetter("facts.preempt_min_runtime")
_RECLAIM_VALUE: Final = attrgetter("facts.reclaim_min_runtime")
_MOST_VALUE: Final = attrgetter("facts.max_min_runtime")


def method(text: str) -> str:
    """`lca` or `queue`; ValueError otherwise."""
    if text not in (LCA, QUEUE):
        raise ValueError(f"{text!r} is not a resolve method; use lca or queue")
    return text


class ResolvedMinRuntime(NamedTuple):
    """A minimum runtime in nanoseconds, and the queue that sets it (None: the plugin's arguments).

    `is_missing`: a queue does not exist, so that the default applies. `own`: source of the pod group's own
    value, which the queue limits.
    """

    minimum: int
    queue: int | None
    is_missing: bool = False
    own: str = ""


class MinRuntime(Guard, GuardExpiry, ProtectionReporter, WarningReporter):
    """Protects pod groups that have not reached the minimum runtime of their queue.

    Gangs are protected as a whole, elastic pod groups keep their minimum (R7.30-R7.40). The preempt value
    applies within a leaf queue, the reclaim value between leaf queues, for every action (semantics R12.49 for
    requeue). A longer value of the pod group itself applies in both cases, up to what the queue permits.
    """

    ARGUMENTS: ClassVar[Parsers] = {
        "defaultPreemptMinRuntime": parse_duration,
        "defaultReclaimMinRuntime": parse_duration,
        "reclaimResolveMethod": method,
        "maxMinRuntime": parse_duration,
        "actions": action_names,
    }
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "defaultPreemptMinRuntime": "0s",
        "defaultReclaimMinRuntime": "0s",
        "reclaimResolveMethod": LCA,
        "maxMinRuntime": "0s",
    }
    TRAITS: ClassVar = Traits(verdicts=SameFor.QUEUE, expiry=Expiry.CHECK, protections_only_end=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._now = context.now
        self._ledger, self._tasks = context.ledger, context.cluster.tasks
        self._evicts_started = context.options.allow_same_cycle_eviction
        self._groups = context.cluster.pod_groups
        self._queues = context.cluster.queues
        self._actions = context.guarded_actions.parse(arguments.get("actions"))
        self._leaves: list[int] = []
        self._most = [_UNKNOWN] * (len(self._queues) + 1)
        """Longest minimum runtimes by queue, the last for pod groups without one."""
        self._permitted = [0] * (len(self._queues) + 1)
        """Longest ones that pod groups may set for themselves, where the others are known."""
        self._found: dict[int | None, list[tuple[str, ResolvedMinRuntime]]] = {}
        self._no_protections: dict[tuple[int | None, ResolvedMinRuntime], GuardVerdict] = {}
        """Verdicts for pod groups whose protection has ended, by last start and minimum."""
        self._resolver = Resolver.of(self._queues, arguments)

    def warnings(self, odd: Sequence[int]) -> Iterator[SnapshotWarning]:
        """One warning about all pod groups whose own minimum runtime their queue ignores."""
        found, resolver = list[int](), self._resolver
        for index in odd:
            own, queue = self._groups[index].facts.requeue.min_runtime.value, self._groups[index].queue
            if own is not None and own > resolver.preempt(queue).minimum and not resolver.most(queue).minimum:
                found.append(index)
        if found:
            message = (
                "its own minimum runtime is ignored: neither its queue nor the configuration permits one"
            )
            yield SnapshotWarning(WarningCode.MIN_RUNTIME_NOT_PERMITTED, tuple(found), message)

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """Protects the minimum of a victim until it reaches its minimum runtime (R7.20, R7.30, R7.31)."""
        if action not in self._actions:
            return None
        preemptor_queue, victim_queue = self._groups[preemptor].queue, self._groups[victim].queue
        is_within = action.victims_from is Relation.SAME_QUEUE
        if is_within or (action.victims_from is Relation.ANY_QUEUE and preemptor_queue == victim_queue):
            resolved = self._resolver.preempt(victim_queue)
        else:
            resolved = self._resolver.reclaim(preemptor_queue, victim_queue)
        return self._verdict(self._groups[victim], self._with_own(self._groups[victim], resolved))

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether any of them has not reached the longest minimum runtime that applies."""
        return any(self._is_young(self._groups[victim]) for victim in victims)

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """Protections from the own queue and from subtrees of other queues, the widest first."""
        found: list[Protection] = []
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if self._is_young(group) and group.is_evictable:
                found.extend(self._protections(group))
        return found

    def _is_young(self, group: PodGroup) -> bool:
        """Whether a minimum runtime that applies to it has not passed."""
        longest = self._longest(group.queue)
        if longest == 0 and self._permitted[-1 if group.queue is None else group.queue] == 0:
            return False
        requeue = group.facts.requeue
        if requeue is not NO_TERMS and requeue.min_runtime.is_set:
            longest = self._with_own(group, ResolvedMinRuntime(longest, None)).minimum
        start = self._last_start(group) if longest > 0 else None
        return start is not None and self._now < start + longest

    def _with_own(self, group: PodGroup, resolved: ResolvedMinRuntime) -> ResolvedMinRuntime:
        """The value of the pod group itself if it is longer. An invalid one is the longest permitted."""
        requeue = group.facts.requeue
        if requeue is NO_TERMS or not (wish := requeue.min_runtime).is_set:
            return resolved
        most, own = self._resolver.most(group.queue), "its own minimum runtime"
        minimum = most.minimum if wish.value is None else min(wish.value, most.minimum)
        if minimum <= resolved.minimum:
            is_void = not most.minimum and not resolved.minimum
            return resolved._replace(own=f"{own}, which is not permitted") if is_void else resolved
        if wish.value is None or wish.value > minimum:
            by = f"argument maxMinRuntime of {NAME}" if most.queue is None else self._place(most)
            own = f"{own}, limited to {format_duration(minimum)} by {by}"
        return ResolvedMinRuntime(minimum, most.queue, own=own)

    def _protections(self, group: PodGroup) -> Iterator[Protection]:
        beyond = [each for each in self._actions if each.victims_from is not Relation.SAME_QUEUE]
        is_guarded = False
        previous: ResolvedMinRuntime | None = None
        for against, of_queue in self._found[group.queue]:
            resolved = self._with_own(group, of_queue)
            verdict = self._verdict(group, resolved)
            if beyond and resolved != previous and (is_guarded or verdict.scope):
                yield self._protection(group, beyond, verdict, against)
            is_guarded = is_guarded or bool(verdict.scope)
            previous = resolved
        within = [each for each in self._actions if each.victims_from is not Relation.OTHER_QUEUES]
        verdict = self._verdict(group, self._with_own(group, self._resolver.preempt(group.queue)))
        is_both = any(each.victims_from is Relation.ANY_QUEUE for each in within)
        if within and (verdict.scope or (is_guarded and is_both)):
            yield self._protection(group, within, verdict, group.facts.queue_name)

    def _longest(self, victim: int | None) -> int:
        """The longest minimum runtime that applies to pod groups of this queue."""
        at = -1 if victim is None else victim
        most = self._most[at]
        if most == _UNKNOWN:
            self._found[victim] = list(self._reclaimers(victim))
            within = self._resolver.preempt(victim)
            most = max(r.minimum for r in (within, *(r for _, r in self._found[victim])))
            self._most[at], self._permitted[at] = most, self._resolver.most(victim).minimum
        return most

    def _reclaimers(self, victim: int | None) -> Iterator[tuple[str, ResolvedMinRuntime]]:
        """Subtrees of other queues with different values, the widest (empty name) first."""
        if victim is None:
            yield "", self._resolver.reclaim(None, None)
            return
        path, leaves = self._queues[victim].path, self._count_leaves()
        previous: ResolvedMinRuntime | None = None
        around = leaves[-1]
        for level, queue in enumerate(path):
            if around > leaves[queue]:  # other queues meet its path here
                resolved = self._resolver.reclaim_at(level, victim)
                if resolved != previous:
                    yield self._queues[path[level - 1]].facts.name if level else "", resolved
                previous = resolved
            around = leaves[queue]

    def _count_leaves(self) -> list[int]:
        """Number of leaf queues below each queue, itself included; the last is the number of all."""
        if not self._leaves:
            self._leaves = [0] * (len(self._queues) + 1)
            for queue in self._queues:
                for above in (*queue.path, -1) if queue.is_leaf else ():
                    self._leaves[above] += 1
        return self._leaves

    def _verdict(self, group: PodGroup, resolved: ResolvedMinRuntime) -> GuardVerdict:
        start = self._last_start(group)
        passes = self._no_protections.get((start, resolved))
        if passes is not None:
            return passes
        source = self._source(resolved)
        end = protection_end(start, resolved.minimum)
        if end is None or self._now >= end:
            passes = GuardVerdict(ProtectionScope.NOTHING, source, end)
            self._no_protections[start, resolved] = passes
            return passes
        detail = f"{group.facts.name} is protected by {source}"
        return GuardVerdict(ProtectionScope.CORE, source, end, detail, ReasonCode.MIN_RUNTIME)

    def _last_start(self, group: PodGroup) -> int | None:
        """Last start of a pod group: now, if it starts in this cycle and may be evicted in it (R7.22)."""
        if not self._evicts_started:
            return group.facts.last_start
        is_new = not any(self._tasks[task].placement.is_allocated for task in group.tasks)
        starts = any(self._ledger.placement(task).status is TaskStatus.BINDING for task in group.tasks)
        return self._now if is_new and starts else group.facts.last_start

    def _protection(
        self, group: PodGroup, actions: Sequence[Action], verdict: GuardVerdict, against: str
    ) -> Protection:
        scope = ProtectionScope.ALL if verdict.scope and not group.is_elastic else verdict.scope
        until = verdict.until if scope else None
        names = tuple([action.name for action in actions])
        return Protection(group.index, NAME, names, until, verdict.source, against, scope)

    def _source(self, resolved: ResolvedMinRuntime) -> str:
        return resolved.own or self._place(resolved)

    def _place(self, resolved: ResolvedMinRuntime) -> str:
        if resolved.queue is None:
            return f"default of {NAME}"
        return f"queue {self._queues[resolved.queue].facts.name}"


class Resolver:
    """Walks the queue tree. Stores results per queue and per pair of queues, never per pod group."""

    def __init__(
        self, queues: Sequence[Queue], preempt: int, reclaim: int, method: str, most: int = 0
    ) -> None:
        self._queues = queues
        self._default_preempt = preempt
        self._default_reclaim = reclaim
        self._default_most = most
        self._method = method
        self._preempt: dict[int, ResolvedMinRuntime] = {}
        self._reclaim: dict[int, dict[int, ResolvedMinRuntime]] = {}
        """By reclaimer's and victim's queue."""
        self._most: dict[int | None, ResolvedMinRuntime] = {}

    @classmethod
    def of(cls, queues: Sequence[Queue], arguments: Mapping[str, str]) -> "Resolver":
        """By the arguments of the plugin."""
        chosen = {**MinRuntime.DEFAULTS, **arguments}
        preempt, reclaim = (parse_duration(chosen[f"default{it}MinRuntime"]) for it in ("Preempt", "Reclaim"))
        most = parse_duration(chosen["maxMinRuntime"])
        return cls(queues, preempt, reclaim, chosen["reclaimResolveMethod"], most)

    def most(self, victim: int | None) -> ResolvedMinRuntime:
        """The longest minimum runtime that pod groups of a queue may set for themselves."""
        found = self._most.get(victim)
        if found is None:
            path = () if victim is None else self._queues[victim].path
            found = self._most[victim] = self._first(path, _MOST_VALUE, self._default_most)
        return found

    def preempt(self, victim: int | None) -> ResolvedMinRuntime:
        """The first value from the victim's leaf queue up to the root (semantics R7.10, R7.13)."""
        if victim is None:
            return ResolvedMinRuntime(self._default_preempt, None, is_missing=True)
        if victim not in self._preempt:
            path = self._queues[victim].path
            self._preempt[victim] = self._first(path, _PREEMPT_VALUE, self._default_preempt)
        return self._preempt[victim]

    def reclaim(self, reclaimer: int | None, victim: int | None) -> ResolvedMinRuntime:
        """The value by the configured method (semantics R7.11-R7.13)."""
        if reclaimer is None or victim is None:
            return ResolvedMinRuntime(self._default_reclaim, None, is_missing=True)
        known = self._reclaim.get(reclaimer)
        if known is None:
            known = self._reclaim[reclaimer] = {}
        resolved = known.get(victim)
        if resolved is None:
            resolved = known[victim] = self.reclaim_at(self.level(reclaimer, victim), victim)
        return resolved

    def reclaim_at(self, level: int, victim: int) -> ResolvedMinRuntime:
        """The value for reclaimers whose queue meets the victim's path at this level."""
        path = self._queues[victim].path
        if self._method == LCA:
            path = path[: level + 1]
        return self._first(path, _RECLAIM_VALUE, self._default_reclaim)

    def level(self, reclaimer: int, victim: int) -> int:
        """Depth on the victim's path at which the walk starts: one step below the lowest common ancestor.

        That is its top-level queue if there is none. A path that ends at the ancestor is walked from there.
        """
        reclaimer_path, victim_path = self._queues[reclaimer].path, self._queues[victim].path
        common = 0
        while (
            common < min(len(reclaimer_path), len(victim_path))
            and reclaimer_path[common] == victim_path[common]
        ):
            common += 1
        return min(common, len(victim_path) - 1)

    def _first(
        self, path: Sequence[int], value: Callable[[Queue], int | None], default: int
    ) -> ResolvedMinRuntime:
        for queue in reversed(path):
            minimum = value(self._queues[queue])
            if minimum is not None:
                return ResolvedMinRuntime(minimum, queue)
        return ResolvedMinRuntime(default, None)
