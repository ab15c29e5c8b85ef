"""Verdicts that the guards of a profile must return, computed from the snapshot without code of the solver.

Each guard is one short function. `GuardFacts` evaluates the guards of a profile.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import DecisionGroup
from tenure.solver.model.queue import Queue
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.profile import Profile
from tenure.terms.durations import parse_duration

from tests.properties.generators.contested_clusters import ACTIONS

NOTHING, MINIMUM, ALL = range(3)
"""Protected part of a pod group, from permissive to strict."""


class GuardFact(NamedTuple):
    """Verdict of a guard about a victim."""

    guard: str
    protects: int
    until: int | None


class GuardQuery(NamedTuple):
    """Whether `asking` may evict pods of `victim`."""

    cluster: Cluster
    action: str
    asking: PodGroup
    victim: PodGroup


GuardRule = tuple[int, int | None]
Arguments = Mapping[str, str]


def preemptibility(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Non-preemptible: all pods. Semi-preemptible: the minimum. An opt-out protects from its action only."""
    victim = question.victim
    firm = victim.facts.preemptibility is Preemptibility.NON_PREEMPTIBLE or (
        victim.facts.preemptibility is Preemptibility.UNSPECIFIED and victim.facts.priority >= 100
    )
    if firm or question.action in victim.facts.opt_out_actions:
        return ALL, None
    return MINIMUM if victim.facts.preemptibility is Preemptibility.SEMI_PREEMPTIBLE else NOTHING, None


def minruntime(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Protects the minimum until the minimum runtime has passed; its value depends on the action."""
    same = question.asking.facts.queue_name == question.victim.facts.queue_name
    is_preemption = {"preempt": True, "reclaim": False}.get(question.action, same)
    kind = "Preempt" if is_preemption else "Reclaim"
    field = f"{kind.lower()}_min_runtime"
    values = [getattr(queue.facts, field) for queue in _queues_that_count(question, arguments, is_preemption)]
    default = parse_duration(arguments.get(f"default{kind}MinRuntime", "0"))
    minimum = next((value for value in values if value is not None), default)
    if question.victim.facts.last_start is None or not minimum:
        return NOTHING, None
    end = question.victim.facts.last_start + minimum
    return MINIMUM if question.cluster.now < end else NOTHING, end


def _queues_that_count(question: GuardQuery, arguments: Arguments, is_preemption: bool) -> Iterator[Queue]:
    """The victim's queue and its ancestors; `lca` omits those below children of shared ancestors."""
    cluster = question.cluster
    shared = {None, *(queue.index for queue in _upwards(cluster, question.asking))}
    for queue in _upwards(cluster, question.victim):
        by_queue = arguments.get("reclaimResolveMethod") == "queue"
        if is_preemption or by_queue or queue.parent in shared:
            yield queue


def _upwards(cluster: Cluster, group: PodGroup) -> Iterator[Queue]:
    """The queue of a pod group and its ancestors."""
    at = group.queue
    while at is not None:
        yield cluster.queues[at]
        at = cluster.queues[at].parent


FOR_OTHERS: Final = ("preempt", "reclaim", "consolidation", "requeue")


def evictionlimit(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Protects all pods once the eviction limit is reached, unless the last eviction was to hold it."""
    facts, causes = question.victim.facts, arguments.get("causes", "")
    by_cause = sum(n for cause, n in facts.victim.evictions.items() if cause in (causes or FOR_OTHERS))
    count = by_cause if causes else max(by_cause, facts.eviction_count)
    often = count >= int(arguments.get("maxEvictions", "3")) and arguments.get("then") != "hold"
    return ALL if often else NOTHING, None


def waitlimit(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Protects all pods once the wait limit is reached."""
    limit = parse_duration(arguments.get("maxWait", "24h"))
    return ALL if question.victim.facts.total_eviction_wait >= limit else NOTHING, None


def victimcooldown(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Protects all pods for a time after the start that doubles with each eviction without progress."""
    facts, now = question.victim.facts, question.cluster.now
    if not facts.evictions_without_progress or facts.last_start is None:
        return NOTHING, None
    cooldown = parse_duration(arguments.get("cooldown", "10m"))
    longest = parse_duration(arguments.get("maxCooldown", "4h"))
    for _ in range(1, min(facts.evictions_without_progress, 100)):
        cooldown *= 2
    end = facts.last_start + min(cooldown, longest)
    return ALL if now < end else NOTHING, end


def nearcompletion(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Protects all pods close to the expected end."""
    victim, now = question.victim, question.cluster.now
    runtime = expected_runtime(question.cluster, victim)
    if runtime is None or victim.facts.last_start is None:
        return NOTHING, None
    end = victim.facts.last_start + runtime
    is_near = victim.facts.last_start <= now < end <= now + _window(arguments)
    return ALL if is_near else NOTHING, end


def _window(arguments: Arguments) -> int:
    return parse_duration(arguments.get("window", "10m"))


def expected_runtime(cluster: Cluster, group: PodGroup) -> int | None:
    """Expected runtime of the pod group, else of the nearest queue that sets one; None if it is invalid."""
    own = group.facts.requeue.expected_runtime
    if own.value is not None or own.problem:
        return own.value
    runtimes = (queue.facts.expected_runtime for queue in _upwards(cluster, group))
    return next((value for value in runtimes if value is not None), None) or None


def evictionbackoff(question: GuardQuery, arguments: Arguments) -> GuardRule:
    """Protects all pods from a preemptor that was evicted for the victim or evicted it without effect."""
    asking, victim = question.asking.index, question.victim.index
    ends = []
    for memory in question.cluster.eviction_history:
        if (memory.victim, memory.preemptor) == (asking, victim):
            ends.append(memory.last_eviction + parse_duration(arguments.get("cooldown", "5m")))
        if (memory.victim, memory.preemptor) == (victim, asking) and memory.last_failure is not None:
            delay = parse_duration(arguments.get("backoff", "1m")) * 2 ** (memory.consecutive_failures - 1)
            longest = parse_duration(arguments.get("maxBackoff", "1h"))
            ends.append(memory.last_failure + min(delay, longest))
    if not ends:
        return NOTHING, None
    return ALL if question.cluster.now < max(ends) else NOTHING, max(ends)


GUARDS: Final[Mapping[str, Callable[[GuardQuery, Arguments], GuardRule]]] = {
    "preemptibility": preemptibility,
    "minruntime": minruntime,
    "evictionlimit": evictionlimit,
    "waitlimit": waitlimit,
    "victimcooldown": victimcooldown,
    "nearcompletion": nearcompletion,
    "evictionbackoff": evictionbackoff,
}


class ConfiguredGuard(NamedTuple):
    """A guard of a profile, with its arguments and actions."""

    name: str
    arguments: Arguments
    actions: Collection[str]


@dataclass(frozen=True, slots=True)
class GuardFacts:
    """Protections on a cluster by the guards of a profile, in their order."""

    cluster: Cluster
    guards: Sequence[ConfiguredGuard]

    @classmethod
    def for_pair(cls, cluster: Cluster, profile: Profile) -> "GuardFacts":
        """The guards of a profile. Preemptibility is always on; it is first unless the profile lists it."""
        listed = {each.name: each.arguments for each in profile.plugins if each.name in GUARDS}
        if "preemptibility" not in listed:
            listed = {"preemptibility": {}, **listed}
        return cls(
            cluster,
            [ConfiguredGuard(name, arguments, _actions(arguments)) for name, arguments in listed.items()],
        )

    def after_group(self, groups: Iterable[DecisionGroup]) -> "GuardFacts":
        """Facts after these decision groups are stored in the eviction history."""
        memory = {(each.victim, each.preemptor): each for each in self.cluster.eviction_history}
        for group in groups:
            evicted = {self.cluster.tasks[evict.task].pod_group for evict in group.evictions}
            for victim in evicted if group.action in ACTIONS else ():
                pair = (victim, group.beneficiary)
                known = memory.get(pair, EvictionRecord(*pair, 0))
                memory[pair] = known._replace(last_eviction=self.cluster.now)
        return GuardFacts(replace(self.cluster, eviction_history=tuple(memory.values())), self.guards)

    def of(self, cluster: Cluster) -> "GuardFacts":
        """Facts on another cluster, by the same guards."""
        return GuardFacts(cluster, self.guards)

    def begins_before(self, later: int) -> bool:
        """Whether a protection by nearcompletion begins after the snapshot and not after `later`."""
        windows = [_window(guard.arguments) for guard in self.guards if guard.name == "nearcompletion"]
        starts = [
            max(group.facts.last_start, group.facts.last_start + runtime - window)
            for window in windows
            for group in self.cluster.pod_groups
            if group.facts.last_start is not None
            and (runtime := expected_runtime(self.cluster, group)) is not None
        ]
        return any(self.cluster.now < start <= later for start in starts)

    def verdicts(self, action: str, asking: int, victim: int) -> list[GuardFact]:
        """One verdict for each guard that applies to the action."""
        groups = self.cluster.pod_groups
        question = GuardQuery(self.cluster, action, groups[asking], groups[victim])
        asked = (guard for guard in self.guards if action in guard.actions)
        return [GuardFact(guard.name, *GUARDS[guard.name](question, guard.arguments)) for guard in asked]


def _actions(arguments: Arguments) -> Collection[str]:
    return [name.strip() for name in arguments.get("actions", ",".join(ACTIONS)).split(",")]
