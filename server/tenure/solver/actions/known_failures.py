"""Saves: trying pod groups that would fail as one of their kind just did.
Sound: a pod group of the same queue and kind fails in the same way until something is committed. It is passed
over without being tried; and with it those behind it in its queue that would also fail and request no more,
or as much as one with which its queue just stayed the first. They would be tried one after the other: for a
request that is no larger, no queue moves back. So passing over them changes no decision, and a cycle over
many pod groups of few kinds takes time in proportion to the kinds. They have no reason of their own, so only
cycles that are not diagnosed use it, such as those of a play.
Switch: `passing_over_known_failures`. Plain: every pod group in its turn.
Compared by: tests/simulator/test_moves.py, and the check `differential`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import Share
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.search.pod_group_lists import ALONE, Key, KeyedPodGroup, PodGroupLists
from tenure.solver.search.queue_tree import QueueTreeEntry

KNOWN_FAILURES: Final = "known_failures"
"""Name of the speedup."""
_NONE: Final = frozenset[int]()
_MAX_KINDS: Final = 32
"""Kinds of a queue up to which the next of each is looked for, instead of looking at all pod groups."""


def passing_over_known_failures(profile: Profile) -> Profile:
    """The profile for cycles that are not diagnosed. It changes no decision."""
    options = profile.options
    if KNOWN_FAILURES in options.speedups:
        return profile
    return replace(profile, options=replace(options, speedups=(*options.speedups, KNOWN_FAILURES)))


@final
class KnownFailures:
    """The failures of one action since the last commit."""

    def __init__(self, session: Session, lists: PodGroupLists, is_enabled: bool) -> None:
        """Enabled only if the action treats pod groups of a kind alike."""
        self._session = session
        self._lists = lists
        self._groups = session.cluster.pod_groups
        chains = session.chains
        self.is_enabled = is_enabled and not (
            session.cluster.claims
            or session.blocked
            or chains.placement_filters
            or chains.numa_zone_selectors
            or chains.victim_filters
            or not chains.gates_by_request
        )
        self._failed: dict[int, set[int]] = {}
        """Kinds by queue."""
        self._refused: dict[int, set[int]] = {}
        """Those that may not take part in the action at all."""
        self._commits = session.commit_count
        self._latest_queue = -1
        """The queue of the entries drawn last."""
        self._latest_kinds: set[int] = set()
        """Kinds with which that queue stayed first."""

    def add(self, pod_group: int) -> None:
        """Note that a pod group was tried in vain."""
        if self.is_enabled and (kind := self._lists.kind(pod_group)) >= 0:
            queue = self._groups[pod_group].queue
            assert queue is not None
            self._discard_stale()
            self._failed.setdefault(queue, set()).add(kind)

    def covers(self, pod_group: int) -> bool:
        """Whether the next pod group would fail too."""
        if self._groups[pod_group].queue != self._latest_queue:
            self._latest_queue = -1
        if not self._failed or (kind := self._lists.kind(pod_group)) < 0:
            return False
        queue = self._groups[pod_group].queue
        self._discard_stale()
        return queue is not None and kind in self._failed.get(queue, _NONE)

    def entries(
        self,
        queue: int,
        entry: Callable[[KeyedPodGroup], QueueTreeEntry],
        rejection: Callable[[int], Rejection | None],
    ) -> Iterator[QueueTreeEntry]:
        """Pending pod groups of a leaf queue that may take part, in order, drawn on demand.

        Those that are like no other are looked at before the first is returned, as without this.
        """
        kinds = self._lists.kinds(queue)
        if kinds is not None and len(kinds) <= _MAX_KINDS:
            alone = self._lists.of_kind(queue, ALONE)
            ready = [entry(keyed) for keyed in alone if rejection(keyed[1]) is None]
            return self._drawn_by_kind(
                queue, [each for each in kinds if each != ALONE], ready, entry, rejection
            )
        rows: list[tuple[KeyedPodGroup, int, QueueTreeEntry | None]] = []
        for keyed in self._lists.pending(queue):
            kind = self._lists.kind(keyed[1])
            if kind >= 0:
                rows.append((keyed, kind, None))
            elif rejection(keyed[1]) is None:
                rows.append((keyed, kind, entry(keyed)))
        return self._drawn(queue, rows, entry, rejection)

    def _drawn(
        self,
        queue: int,
        rows: Iterable[tuple[KeyedPodGroup, int, QueueTreeEntry | None]],
        entry: Callable[[KeyedPodGroup], QueueTreeEntry],
        rejection: Callable[[int], Rejection | None],
    ) -> Iterator[QueueTreeEntry]:
        last: tuple[int, Share] | None = None
        """Kind and request of the entry before."""
        shares: dict[int, Share] = {}
        refused = self._refused.setdefault(queue, set())
        for keyed, kind, ready in rows:
            if ready is not None:
                last = None
                yield ready
                self._record_next(queue, ALONE)
                continue
            if kind in refused:
                continue
            share = shares.get(kind)
            if share is not None and last is not None and self._follows(queue, kind, share, last):
                continue
            if rejection(keyed[1]) is not None:
                refused.add(kind)
                continue
            found = entry(keyed)
            last = (kind, found.share)
            shares[kind] = found.share
            yield found
            self._record_next(queue, kind)

    def _drawn_by_kind(
        self,
        queue: int,
        kinds: Sequence[int],
        alone: Sequence[QueueTreeEntry],
        entry: Callable[[KeyedPodGroup], QueueTreeEntry],
        rejection: Callable[[int], Rejection | None],
    ) -> Iterator[QueueTreeEntry]:
        """Entries of a queue, drawn by kind: of each kind, only the next pod group is looked at."""
        last: tuple[int, Share] | None = None
        shares: dict[int, Share] = {}
        heads = [self._lists.first_of_kind(queue, kind) for kind in kinds]
        """The next of each kind, when it was last looked for."""
        refused = self._refused.setdefault(queue, set())
        at: Key | None = None
        number = 0
        while True:
            first: KeyedPodGroup | None = None
            first_kind = ALONE
            self._discard_stale()
            failed = self._failed.get(queue, _NONE)
            may_follow = last is not None and last[0] in failed
            for place, kind in enumerate(kinds):
                head = heads[place]
                if head is None or kind in refused:
                    continue
                if may_follow and kind in failed and last is not None:
                    share = shares.get(kind)
                    if share is not None and self._follows(queue, kind, share, last):
                        continue
                if at is not None and head[0] <= at:
                    head = heads[place] = self._lists.first_of_kind(queue, kind, at)
                if head is not None and (first is None or head[0] < first[0]):
                    first, first_kind = head, kind
            if number < len(alone) and (first is None or alone[number].key < first[0]):
                at, last = alone[number].key, None
                number += 1
                yield alone[number - 1]
                self._record_next(queue, ALONE)
            elif first is None:
                return
            elif rejection(first[1]) is not None:
                at = first[0]
                refused.add(first_kind)
            else:
                at, found = first[0], entry(first)
                last = (first_kind, found.share)
                shares[first_kind] = found.share
                yield found
                self._record_next(queue, first_kind)

    def _follows(self, queue: int, kind: int, share: Share, last: tuple[int, Share]) -> bool:
        """Whether an entry would fail directly after the one before it fails."""
        self._discard_stale()
        failed = self._failed.get(queue, _NONE)
        if kind not in failed or last[0] not in failed:
            return False
        if queue == self._latest_queue and kind in self._latest_kinds:
            return True
        most = last[1]
        return share[0] <= most[0] and share[1] <= most[1] and share[2] <= most[2]

    def _discard_stale(self) -> None:
        if self._commits != self._session.commit_count:
            self._failed.clear()
            self._commits = self._session.commit_count
            self._latest_queue = -1

    def _record_next(self, queue: int, kind: int) -> None:
        """Record the entry drawn next. Of several in a row of one queue, the first one is not recorded."""
        self._discard_stale()
        if self._latest_queue == queue:
            self._latest_kinds.add(kind)
        else:
            self._latest_queue = queue
            self._latest_kinds.clear()
