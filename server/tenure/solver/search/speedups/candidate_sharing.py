"""Saves: collecting and checking the candidates of a queue for every preemptor.
Sound: preemptors with equal keys of the guards and of the action's rule get equal verdicts on every victim;
candidates are dropped when a commit changes the queue. Whether a shared guard protects until a time is
computed once per queue and guard key: the facts are those of the snapshot, and only pod groups that start in
this cycle are added. Guards that are not shared are called for each pair.
Switch: `candidate_sharing`. Plain: `victim_entries.CheckedCandidates`.
Compared by: tests/solver/search/speedups/test_candidate_sharing.py, and the check `differential`.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.solver.search.victim_entries import (
    CandidateRequest,
    CandidateSource,
    SkippedVictims,
    VictimChecker,
    VictimEntries,
)

ALL: Final = "all"
SPENT: Final = "spent"
"""Victims of which nothing is evictable in this cycle."""
PROTECTED: Final = -1
"""In place of a number of victims: one of them has a protection that ends."""


class SharedCandidates(CandidateSource):
    """Candidates that are collected once for all preemptors with equal keys."""

    def __init__(self, session: Session, lists: PodGroupIndex, entries: VictimEntries) -> None:
        self._session = session
        self._lists = lists
        self._entries = entries
        self._streams: dict[Hashable, CandidateStream] = {}
        self._checked: dict[Hashable, int] = {}
        """How many of the spent victims were checked, while no protection that ends was found; PROTECTED: one
        was found.
        """

    def in_order(
        self, queue: int, request: CandidateRequest, checker: VictimChecker
    ) -> Iterator[QueueTreeEntry]:
        """Candidates of a leaf queue: those that matter to the search or to its reasons."""
        has_spent = self._may_protect(SPENT, queue, request)
        key = self._key(queue, has_spent, request)
        version = self._lists.version(queue), self._session.disruptions.version(self._session.commit_count)
        stream = None if key is None else self._streams.get(key)
        if stream is None or stream.version != version:
            victims = self._lists.victims(queue) if has_spent else self._lists.evictable_victims(queue)
            stream = CandidateStream(version, victims, self._entries)
            if key is not None:
                self._streams[key] = stream
        return stream.in_order(checker)

    def may_expire(self, queue: int, request: CandidateRequest) -> bool:
        """Whether a guard protects any victim for a time only."""
        return self._may_protect(ALL, queue, request)

    def _key(self, queue: int, has_spent: bool, request: CandidateRequest) -> Hashable | None:
        """Preemptors with equal keys meet the same candidates; None: no other preemptor does."""
        guard_key = self._session.guards.cache_key(request.preemptor)
        if request.rule_key is None or guard_key is None or self._session.chains.victim_filters:
            return None
        return (request.action, queue, has_spent, request.rule_key, guard_key)

    def _may_protect(self, which: str, queue: int, request: CandidateRequest) -> bool:
        """By the guards that are shared for the preemptor, then by the others."""
        if self._session.chains.victim_filters or self._may_shared_protect(which, queue, request):
            return True
        guards = self._session.guards
        if guards.cache_key(request.preemptor) is not None:
            return False
        victims = self._lists.victim_groups(queue) if which is ALL else self._lists.spent(queue)
        return guards.delays_pair(request.action, request.preemptor, victims)

    def _may_shared_protect(self, which: str, queue: int, request: CandidateRequest) -> bool:
        guards = self._session.guards
        guard_key = guards.shared_key(request.preemptor)
        key, spent = (request.action, which, guard_key, queue), self._lists.spent(queue)
        checked = self._checked.get(key)
        if checked == PROTECTED:
            return True
        if checked == len(spent):
            return False
        if checked is None and which is ALL:
            unchecked: Sequence[int] = self._lists.victim_groups(queue)
        else:
            unchecked = spent[checked or 0 :]
        if unchecked and guards.may_expire(request.preemptor, unchecked):
            for victim in unchecked:
                self._session.stop.check()
                if guards.delays(request.action, request.preemptor, victim):
                    self._checked[key] = PROTECTED
                    return True
        self._checked[key] = len(spent)
        return False


class ProtectedCandidate(NamedTuple):
    """A pod group with a protection that ends, and the number of candidates before it."""

    place: int
    pod_group: int
    rejection: Rejection


class CandidateStream:
    """Candidates of a queue, computed on demand, worst first."""

    __slots__ = ("_entries", "_protected", "_skipped", "_victim_entries", "_victims", "version")

    def __init__(
        self,
        version: tuple[int, tuple[int, int]],
        victims: Iterator[tuple[tuple[int, ...], int]],
        entries: VictimEntries,
    ) -> None:
        """`victims` are keys and pod groups, from a list of that version; the rest of it is that of what may
        be disrupted.
        """
        self.version = version
        self._victims = victims
        self._victim_entries = entries
        self._skipped = SkippedVictims()
        self._entries: list[QueueTreeEntry] = []
        self._protected: list[ProtectedCandidate] = []

    def in_order(self, checker: VictimChecker) -> Iterator[QueueTreeEntry]:
        """All candidates; the checker receives protections as they are passed."""
        entries, protected, number, passed = self._entries, self._protected, 0, 0
        while True:
            is_there = number < len(entries) or self._draw(checker)
            while passed < len(protected) and protected[passed].place <= number:
                checker.note_protection(protected[passed].pod_group, protected[passed].rejection)
                passed += 1
            if not is_there:
                return
            yield entries[number]
            number += 1

    def _draw(self, checker: VictimChecker) -> bool:
        """Find one more candidate."""
        for key, pod_group in self._victims:
            rejection = checker.rejection(pod_group)
            if rejection is None:
                known = self._victim_entries.entry(key, pod_group, checker.keeps_core(pod_group))
                entry = self._skipped.skip_or_merge(known)
                if entry is not None:
                    self._entries.append(entry)
                    return True
            elif rejection.until is not None:
                self._protected.append(ProtectedCandidate(len(self._entries), pod_group, rejection))
        return False
