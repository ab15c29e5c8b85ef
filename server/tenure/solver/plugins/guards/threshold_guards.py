"""Guards that protect a pod group as a whole once it reaches a limit of evictions or of waiting time."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.model.fate import MAX_EVICTIONS, OTHER_CAUSES, AtEvictionLimit, EvictionTally
from tenure.solver.model.inherited_settings import at_eviction_limit
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import EvictionTallies, Guard, ProtectionReporter
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits
from tenure.terms.durations import format_duration, parse_duration
from tenure.terms.reasons import ReasonCode

_TRAITS: Final = Traits(verdicts=SameFor.ANY, expiry=Expiry.NEVER, protections_only_end=True)


class ThresholdGuard(Guard, ProtectionReporter):
    """A guard with an argument for its limit, and one, `actions`, for the actions that it applies to."""

    def __init__(
        self, context: PluginContext, arguments: Mapping[str, str], name: str, limit: str, reason: ReasonCode
    ) -> None:
        """`limit` is the name of the argument."""
        self._groups = context.cluster.pod_groups
        self._actions = context.guarded_actions.parse(arguments.get("actions"))
        self._action_names = tuple([action.name for action in self._actions])
        self._name = name
        self._source = f"argument {limit}" if limit in arguments else f"default of {name}"
        self._reason = reason

    @abstractmethod
    def reached(self, group: PodGroup) -> str:
        """How the pod group reached the limit; empty if it did not."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """Protects the whole pod group once it reached the limit."""
        if action not in self._actions:
            return None
        detail = self.reached(self._groups[victim])
        if not detail:
            return GuardVerdict(ProtectionScope.NOTHING, self._source)
        return GuardVerdict(ProtectionScope.ALL, self._source, None, detail, self._reason)

    def protections(self, pod_groups: Sequence[int]) -> Iterator[Protection]:
        """Protections while they run."""
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if group.is_evictable and self.reached(group):
                yield Protection(pod_group, self._name, self._action_names, None, self._source)


EVICTION_LIMIT: Final = "evictionlimit"
DEFAULT_EVICTION_LIMIT: Final = "3"


def eviction_limit(text: str) -> int:
    """A number of evictions; ValueError unless it is a whole number above zero."""
    limit = int(text) if text.isascii() and text.isdigit() else 0
    if limit < 1:
        raise ValueError(f"{text!r} is not a number of evictions; use a whole number above zero")
    return limit


DEFAULT_CAUSES: Final = ("preempt", "reclaim", "consolidation", "requeue")
"""Those of which `eviction_count` is the sum."""
IMMUNE: Final = "immune"
HOLD: Final = "hold"


def known_causes(text: str) -> tuple[str, ...]:
    """Causes of evictions, separated by commas; ValueError for none and for an unknown one."""
    found, known = action_names(text), (*DEFAULT_CAUSES, *OTHER_CAUSES)
    if not found or not set(found).issubset(known):
        raise ValueError(f"{text!r} is not a list of causes; known: {', '.join(known)}")
    return found


def consequence(text: str) -> str:
    """What follows from the limit; ValueError if it is unknown."""
    if text not in (IMMUNE, HOLD):
        raise ValueError(f"{text!r} is neither {IMMUNE} nor {HOLD}")
    return text


class EvictionLimit(ThresholdGuard, EvictionTallies):
    """Counts evictions of pod groups, and protects those that reached a number of them, or has them held.

    Each cycle that evicts or relocates pods of it counts once for each cause.
    """

    ARGUMENTS: ClassVar[Parsers] = {
        "maxEvictions": eviction_limit,
        "causes": known_causes,
        "then": consequence,
        "actions": action_names,
    }
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "maxEvictions": DEFAULT_EVICTION_LIMIT,
        "causes": ", ".join(DEFAULT_CAUSES),
        "then": IMMUNE,
    }
    TRAITS: ClassVar = _TRAITS

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments, EVICTION_LIMIT, "maxEvictions", ReasonCode.EVICTION_LIMIT)
        values = {**self.DEFAULTS, **arguments}
        self._limit = eviction_limit(values["maxEvictions"])
        self._causes = frozenset(known_causes(values["causes"]))
        self._is_default = self._causes == frozenset(DEFAULT_CAUSES)
        holds = consequence(values["then"]) == HOLD
        self._then = AtEvictionLimit.HOLD if holds else AtEvictionLimit.IMMUNE
        self._queues = context.cluster.queues

    def reached(self, group: PodGroup) -> str:
        """By the evictions so far, unless the last one was to hold it."""
        facts, limit = group.facts, self._limit
        count = self._count(group, facts.victim.evictions, facts.eviction_count)
        if count < limit or self._is_to_hold(group):
            return ""
        return f"{facts.name} reached its eviction limit ({count} of {limit})"

    def eviction_tally(self, pod_group: int, causes: Sequence[str]) -> EvictionTally:
        """One more for each cause. It is held if one that counts reaches the limit (semantics R14.33)."""
        group = self._groups[pod_group]
        counts = dict(group.facts.victim.evictions)
        for cause in causes:
            counts[cause] = min(counts.get(cause, 0) + 1, MAX_EVICTIONS)
        if self._causes.isdisjoint(causes) or not self._is_to_hold(group):
            return EvictionTally(counts, is_held=False)
        reached = self._count(group, counts, group.facts.eviction_count + 1)
        return EvictionTally(counts, is_held=reached >= self._limit)

    def _is_to_hold(self, group: PodGroup) -> bool:
        """Whether it is held at the limit, by its nearest queue that says so, else by the argument."""
        then = at_eviction_limit(group, self._queues) or self._then
        return then is AtEvictionLimit.HOLD

    def _count(self, group: PodGroup, counts: Mapping[str, int], total: int) -> int:
        """Evictions that count: of a caller that does not store causes, all."""
        found = sum([counts.get(cause, 0) for cause in self._causes])
        return max(found, total) if self._is_default else found


WAIT_LIMIT: Final = "waitlimit"
DEFAULT_WAIT_LIMIT: Final = "24h"


def wait_limit(text: str) -> int:
    """Nanoseconds of a duration above zero; ValueError otherwise."""
    limit = parse_duration(text)
    if limit == 0:
        raise ValueError(f"{text!r} would protect every pod group; use a duration above zero")
    return limit


class WaitLimit(ThresholdGuard):
    """Protects pod groups that reached a total time waited after evictions.

    Waits are the times between evictions of the whole pod group and its next starts.
    """

    ARGUMENTS: ClassVar[Parsers] = {"maxWait": wait_limit, "actions": action_names}
    DEFAULTS: ClassVar[Mapping[str, str]] = {"maxWait": DEFAULT_WAIT_LIMIT}
    TRAITS: ClassVar = _TRAITS

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments, WAIT_LIMIT, "maxWait", ReasonCode.WAIT_LIMIT)
        self._limit = wait_limit(arguments.get("maxWait", DEFAULT_WAIT_LIMIT))

    def reached(self, group: PodGroup) -> str:
        """By the total wait after evictions."""
        if group.facts.total_eviction_wait < self._limit:
            return ""
        waited, limit = format_duration(group.facts.total_eviction_wait), format_duration(self._limit)
        return f"{group.facts.name} reached its wait limit ({waited} of {limit})"
