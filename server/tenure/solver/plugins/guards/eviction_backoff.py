"""Prevents pod groups from evicting each other in turn, and ineffective evictions from being repeated.

The snapshot holds an eviction record for each pair of a victim and a preemptor of earlier cycles:

- Cooldown: after a pod group was evicted for a preemptor, it cannot evict that preemptor for some time.
- Backoff: an ineffective eviction is not repeated for some time, which doubles with each consecutive failure.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.solver.plugin_api.action import Action, action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import Guard, ProtectionReporter
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, GuardCacheKey, GuardExpiry, SameFor, Traits
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

NAME: Final = "evictionbackoff"
_DURATIONS: Final[Mapping[str, str]] = {"cooldown": "5m", "backoff": "1m", "maxBackoff": "1h"}
"""Arguments and their defaults."""


def longest_protection(arguments: Mapping[str, str]) -> int:
    """Longest protection of a pair after its last event, in nanoseconds.

    Raises ValueError for an invalid duration.
    """
    return max(_duration(arguments, "cooldown"), _duration(arguments, "maxBackoff"))


def _duration(arguments: Mapping[str, str], name: str) -> int:
    return parse_duration(arguments.get(name, _DURATIONS[name]))


class _Protection(NamedTuple):
    """Result of one rule: the end in nanoseconds, the argument that sets it, and the reason."""

    until: int
    code: ReasonCode
    argument: str
    detail: str


class EvictionBackoffGuard(Guard, GuardCacheKey, GuardExpiry, ProtectionReporter):
    """Protects pod groups from eviction thrash.

    Evictions of a cycle count in that cycle. Times in the future prolong the protection.
    """

    ARGUMENTS: ClassVar[Parsers] = {**dict.fromkeys(_DURATIONS, parse_duration), "actions": action_names}
    DEFAULTS: ClassVar[Mapping[str, str]] = _DURATIONS
    TRAITS: ClassVar = Traits(verdicts=SameFor.KEY, expiry=Expiry.CHECK, protections_only_end=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._context = context
        self._history = context.eviction_history
        self._with_history = context.pod_groups_with_history
        self._now = context.now
        self._groups = context.cluster.pod_groups
        self._actions = context.guarded_actions.parse(arguments.get("actions"))
        self._action_names = tuple([action.name for action in self._actions])
        self._cooldown = _duration(arguments, "cooldown")
        self._backoff = _duration(arguments, "backoff")
        self._max_backoff = _duration(arguments, "maxBackoff")
        self._arguments = frozenset(arguments)
        self._no_protection = GuardVerdict(ProtectionScope.NOTHING, self._source("cooldown"))
        self._partners: dict[int, set[int]] | None = None

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """Protects the victim as a whole from this preemptor only."""
        return self._verdict(preemptor, victim) if action in self._actions else None

    def guard_cache_key(self, preemptor: int) -> Hashable | None:
        """Pod groups without records share verdicts: no rule applies to them."""
        return None if preemptor in self._with_history else 0

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether any of them has a record."""
        return not self._with_history.isdisjoint(victims)

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """Protections from each pod group that a rule concerns."""
        found: list[Protection] = []
        if not self._with_history:
            return found
        for pod_group in sorted([index for index in pod_groups if index in self._with_history]):
            found.extend(self._protections(pod_group))
        return found

    def _protections(self, pod_group: int) -> Iterator[Protection]:
        group = self._groups[pod_group]
        for other in sorted(self._partners_of(pod_group)) if group.is_evictable else ():
            verdict = self._verdict(other, pod_group)
            if verdict.scope:
                yield Protection(
                    pod_group,
                    NAME,
                    self._action_names,
                    verdict.until,
                    verdict.source,
                    against_pod_group=other,
                )

    def _partners_of(self, pod_group: int) -> set[int]:
        """Pod groups that it shares a record with, in either role."""
        if self._partners is None:
            self._partners = {}
            for victim, preemptor in self._history:
                self._partners.setdefault(victim, set()).add(preemptor)
                self._partners.setdefault(preemptor, set()).add(victim)
        return self._partners.get(pod_group, set())

    def _verdict(self, preemptor: int, victim: int) -> GuardVerdict:
        """By the rule that protects longest."""
        if victim not in self._with_history or preemptor not in self._with_history:
            return self._no_protection
        terms = []
        if (reverse := self._history.get((preemptor, victim))) is not None:
            terms.append(self._cooling_down(reverse))
        if (attempt := self._history.get((victim, preemptor))) is not None:
            terms.extend(self._backing_off(self._context.settled(attempt)))
        if not terms:
            return self._no_protection
        term = max(terms)
        source = self._source(term.argument)
        if term.until <= self._now:
            return GuardVerdict(ProtectionScope.NOTHING, source, term.until)
        return GuardVerdict(ProtectionScope.ALL, source, term.until, term.detail, term.code)

    def _cooling_down(self, record: EvictionRecord) -> _Protection:
        """From the last eviction until the end of the cooldown, whatever its result."""
        was_victim = self._groups[record.victim].facts.name
        was_preemptor = self._groups[record.preemptor].facts.name
        why = f"{was_victim} was recently evicted for {was_preemptor} and cannot evict it yet"
        return _Protection(
            record.last_eviction + self._cooldown, ReasonCode.EVICTION_COOLDOWN, "cooldown", why
        )

    def _backing_off(self, record: EvictionRecord) -> Iterator[_Protection]:
        """From the last failure; doubles with each consecutive failure, up to the maximum."""
        if record.consecutive_failures <= 0:
            return
        # Bound the exponent first: the number of failures may be huge.
        doublings = min(record.consecutive_failures - 1, self._max_backoff.bit_length())
        delay = min(self._backoff << doublings, self._max_backoff)
        since = record.last_eviction if record.last_failure is None else record.last_failure
        victim, preemptor = self._groups[record.victim].facts.name, self._groups[record.preemptor].facts.name
        times = "" if record.consecutive_failures == 1 else f" {record.consecutive_failures} times in a row"
        why = f"evicting {victim} for {preemptor} was ineffective{times} and is not retried yet"
        yield _Protection(since + delay, ReasonCode.EVICTION_BACKOFF, "backoff", why)

    def _source(self, argument: str) -> str:
        return f"argument {argument}" if argument in self._arguments else f"default of {NAME}"
