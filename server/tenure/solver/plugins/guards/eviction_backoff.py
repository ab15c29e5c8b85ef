"""Keeps pod groups from evicting each other in turn, and what came to nothing from being tried every cycle.

For each pair of a victim and a preemptor the snapshot brings what is remembered of earlier cycles:

- Cooldown: who was evicted for a pod group does not evict that one for a while.
- Backoff: an eviction that came to nothing is not repeated for a while, twice as long each time that
  happens in a row.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from tenure.solver.framework.eviction_result import settle
from tenure.solver.framework.session import Session
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.decision import Protection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.registry import action_names
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

NAME: Final = "evictionbackoff"
_DURATIONS: Final = {"cooldown": "5m", "backoff": "1m", "maxBackoff": "1h"}
"""Arguments and their defaults."""


def longest_protection(arguments: Mapping[str, str]) -> int:
    """Nanoseconds for which a pair may matter after its latest event; ValueError for a bad duration."""
    return max(_duration(arguments, "cooldown"), _duration(arguments, "maxBackoff"))


def _duration(arguments: Mapping[str, str], name: str) -> int:
    return parse_duration(arguments.get(name, _DURATIONS[name]))


class _Protection(NamedTuple):
    """What one of the rules says: until when (nanoseconds), by which argument, and why."""

    until: int
    code: ReasonCode
    argument: str
    detail: str


class EvictionBackoffGuard:
    """A guard. What happens in a cycle counts in that cycle; times that are yet to come protect longer."""

    ARGUMENTS: ClassVar[Parsers] = {**dict.fromkeys(_DURATIONS, parse_duration), "actions": action_names}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._session = session
        self._history = session.eviction_history
        self._now = session.cluster.now
        self._groups = session.cluster.pod_groups
        self._actions = session.registry.parse_guarded_actions(arguments.get("actions"))
        self._action_names = tuple([action.name for action in self._actions])
        self._cooldown = _duration(arguments, "cooldown")
        self._backoff = _duration(arguments, "backoff")
        self._max_backoff = _duration(arguments, "maxBackoff")
        self._arguments = frozenset(arguments)
        self._no_protection = GuardVerdict(NAME, ProtectionScope.NOTHING, self._source("cooldown"))
        self._partners: dict[int, set[int]] | None = None

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of it, from this preemptor alone."""
        return self._verdict(preemptor, victim) if action in self._actions else None

    def guard_cache_key(self, preemptor: int) -> Hashable | None:
        """Who is in nobody's memory: none of the rules applies to them."""
        return None if preemptor in self._session.groups_with_history else "unknown"

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Every rule does, for those who are in anybody's memory."""
        return not self._session.groups_with_history.isdisjoint(victims)

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """From each pod group that is kept off them; to be asked when everything is decided."""
        found: list[Protection] = []
        for pod_group in sorted(self._session.groups_with_history.intersection(pod_groups)):
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
        """Pod groups that it shares a memory with, in either role."""
        if self._partners is None:
            self._partners = {}
            for victim, preemptor in self._history:
                self._partners.setdefault(victim, set()).add(preemptor)
                self._partners.setdefault(preemptor, set()).add(victim)
        return self._partners.get(pod_group, set())

    def _verdict(self, preemptor: int, victim: int) -> GuardVerdict:
        """By the rule that protects for longer."""
        remembered = self._session.groups_with_history
        if victim not in remembered or preemptor not in remembered:
            return self._no_protection
        terms = []
        if (turn := self._history.get((preemptor, victim))) is not None:
            terms.append(self._cooling_down(turn))
        if (attempt := self._history.get((victim, preemptor))) is not None:
            terms.extend(self._backing_off(settle(self._session, attempt)))
        if not terms:
            return self._no_protection
        term = max(terms)
        source = self._source(term.argument)
        if term.until <= self._now:
            return GuardVerdict(NAME, ProtectionScope.NOTHING, source, term.until)
        return GuardVerdict(NAME, ProtectionScope.ALL, source, term.until, term.code, term.detail)

    def _cooling_down(self, record: EvictionRecord) -> _Protection:
        """For as long as the cooldown after the latest eviction, whatever came of it."""
        was_victim, was_preemptor = self._groups[record.victim].name, self._groups[record.preemptor].name
        why = f"{was_victim} was recently evicted for {was_preemptor} and cannot evict it yet"
        return _Protection(
            record.last_eviction + self._cooldown, ReasonCode.EVICTION_COOLDOWN, "cooldown", why
        )

    def _backing_off(self, record: EvictionRecord) -> Iterator[_Protection]:
        """Twice as long with each failure in a row, up to the longest backoff, after the latest one."""
        if record.consecutive_failures <= 0:
            return
        # The power is bounded first: a huge number of failures must not become a huge number.
        doublings = min(record.consecutive_failures - 1, self._max_backoff.bit_length())
        delay = min(self._backoff << doublings, self._max_backoff)
        since = record.last_eviction if record.last_failure is None else record.last_failure
        victim, preemptor = self._groups[record.victim].name, self._groups[record.preemptor].name
        times = "" if record.consecutive_failures == 1 else f" {record.consecutive_failures} times in a row"
        why = f"evicting {victim} for {preemptor} was ineffective{times} and is not retried yet"
        yield _Protection(since + delay, ReasonCode.EVICTION_BACKOFF, "backoff", why)

    def _source(self, argument: str) -> str:
        return f"argument {argument}" if argument in self._arguments else f"default of {NAME}"
