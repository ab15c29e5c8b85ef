"""Keeps pod groups from evicting each other in turn, and what came to nothing from being tried every cycle.

For each pair of a victim and a preemptor the snapshot brings what is remembered of earlier cycles:

- Cooldown: who was evicted for a pod group does not evict that one for a while.
- Backoff: an eviction that came to nothing is not repeated for a while, twice as long each time that
  happens in a row.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from tenure.solver.framework.aftermath import settled
from tenure.solver.framework.profile import Parsers
from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.duration import format_duration, parse_duration
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope, guarded_actions
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.reason import ReasonCode

NAME: Final = "evictionmemory"
_DURATIONS: Final = {"cooldown": "5m", "backoff": "1m", "maxBackoff": "1h"}
"""Arguments and their defaults."""


def longest_protection(arguments: Mapping[str, str]) -> int:
    """Nanoseconds for which a pair may matter after its latest event; ValueError for a bad duration."""
    return max(_duration(arguments, "cooldown"), _duration(arguments, "maxBackoff"))


def _duration(arguments: Mapping[str, str], name: str) -> int:
    return parse_duration(arguments.get(name, _DURATIONS[name]))


class _Term(NamedTuple):
    """What one of the rules says: until when (nanoseconds), by which argument, and why."""

    until: int
    code: ReasonCode
    argument: str
    why: str


class EvictionMemoryGuard:
    """A guard. What happens in a cycle counts in that cycle; times that are yet to come protect longer."""

    ARGUMENTS: ClassVar[Parsers] = {**dict.fromkeys(_DURATIONS, parse_duration), "actions": guarded_actions}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._session = session
        self._memory = session.memory
        self._now = session.cluster.now
        self._groups = session.cluster.pod_groups
        self._actions = guarded_actions(arguments.get("actions", ",".join(EVICTING_ACTIONS)))
        self._cooldown = _duration(arguments, "cooldown")
        self._backoff = _duration(arguments, "backoff")
        self._max_backoff = _duration(arguments, "maxBackoff")
        self._given = frozenset(arguments)
        self._nothing = GuardVerdict(NAME, Scope.NOTHING, self._source("cooldown"))
        self._partners: dict[int, set[int]] | None = None

    def guard(self, action: str, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of it, from this preemptor alone."""
        return self._verdict(preemptor, victim) if action in self._actions else None

    def guard_kind(self, preemptor: int) -> Hashable | None:
        """Who is in nobody's memory: none of the rules applies to them."""
        return None if preemptor in self._session.remembered else "unknown"

    def may_end(self, victims: Sequence[int]) -> bool:
        """Every rule does, for those who are in anybody's memory."""
        return not self._session.remembered.isdisjoint(victims)

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """From each pod group that is kept off them; to be asked when everything is decided."""
        found: list[Protection] = []
        for pod_group in sorted(self._session.remembered.intersection(pod_groups)):
            found.extend(self._protections(pod_group))
        return found

    def _protections(self, pod_group: int) -> Iterator[Protection]:
        group = self._groups[pod_group]
        for other in sorted(self._partners_of(pod_group)) if group.may_yield else ():
            verdict = self._verdict(other, pod_group)
            if verdict.scope:
                yield Protection(
                    pod_group,
                    NAME,
                    self._actions,
                    verdict.until,
                    verdict.source,
                    against_pod_group=other,
                )

    def _partners_of(self, pod_group: int) -> set[int]:
        """Pod groups that it shares a memory with, in either role."""
        if self._partners is None:
            self._partners = {}
            for victim, preemptor in self._memory:
                self._partners.setdefault(victim, set()).add(preemptor)
                self._partners.setdefault(preemptor, set()).add(victim)
        return self._partners.get(pod_group, set())

    def _verdict(self, preemptor: int, victim: int) -> GuardVerdict:
        """By the rule that protects for longer."""
        remembered = self._session.remembered
        if victim not in remembered or preemptor not in remembered:
            return self._nothing
        terms = []
        if (turn := self._memory.get((preemptor, victim))) is not None:
            terms.append(self._cooling_down(turn))
        if (attempt := self._memory.get((victim, preemptor))) is not None:
            terms.extend(self._backing_off(settled(self._session, attempt)))
        if not terms:
            return self._nothing
        term = max(terms)
        source = self._source(term.argument)
        if term.until <= self._now:
            return GuardVerdict(NAME, Scope.NOTHING, source, term.until)
        detail = f"{term.why} for another {format_duration(term.until - self._now)}"
        return GuardVerdict(NAME, Scope.ALL, source, term.until, term.code, detail)

    def _cooling_down(self, memory: EvictionMemory) -> _Term:
        """For as long as the cooldown after the latest eviction, whatever came of it."""
        was_victim, was_preemptor = self._groups[memory.victim].name, self._groups[memory.preemptor].name
        why = f"{was_victim} was evicted for {was_preemptor}, and does not evict it in turn"
        return _Term(memory.last_eviction + self._cooldown, ReasonCode.EVICTION_COOLDOWN, "cooldown", why)

    def _backing_off(self, memory: EvictionMemory) -> Iterator[_Term]:
        """Twice as long with each failure in a row, up to the longest backoff, after the latest one."""
        if memory.failures <= 0:
            return
        # The power is bounded first: a huge number of failures must not become a huge number.
        doublings = min(memory.failures - 1, self._max_backoff.bit_length())
        delay = min(self._backoff << doublings, self._max_backoff)
        since = memory.last_eviction if memory.last_failure is None else memory.last_failure
        victim, preemptor = self._groups[memory.victim].name, self._groups[memory.preemptor].name
        times = "" if memory.failures == 1 else f" {memory.failures} times in a row"
        why = f"evicting {victim} for {preemptor} came to nothing{times}, and is not repeated"
        yield _Term(since + delay, ReasonCode.EVICTION_BACKOFF, "backoff", why)

    def _source(self, argument: str) -> str:
        return f"argument {argument}" if argument in self._given else f"default of {NAME}"
