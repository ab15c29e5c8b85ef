"""Guards: protection of pod groups from eviction.

A guard returns a verdict for an action, a preemptor and a victim. What follows is computed here, for all
guards and evicting actions alike. The strictest scope wins, the first of several in profile order:

- ALL: the pod group is not a victim.
- CORE: it loses at most its surplus, at every level of its subgroups. Without surplus it is not a victim.
- NOTHING: it may be evicted. The eviction names the guard anyway.

Verdicts are shared by the trait `verdicts` of each guard. Shared guards are called once per key and victim,
the others once per pair, so a guard that shares nothing does not affect how often other guards are called.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from tenure.solver.framework.chains import Chains
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.points import Guard
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import Expiry, GuardCacheKey, GuardExpiry, SameFor, traits_of

Verdicts = tuple[GuardVerdict | None, ...]
"""One verdict per guard, in profile order; None: the guard does not apply."""


class _Sharing(NamedTuple):
    """Name of a guard, what it guarantees about its verdicts, and its optional methods."""

    name: str
    verdicts: SameFor
    expiry: Expiry
    cache_key: GuardCacheKey | None
    expiry_check: GuardExpiry | None

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether a verdict for any of these may protect until a time."""
        if self.expiry is Expiry.CHECK and self.expiry_check is not None:
            return self.expiry_check.may_expire(victims)
        return self.expiry is not Expiry.NEVER


class _Preemptor:
    """A preemptor, its key for each guard, and verdicts of guards that are not shared."""

    __slots__ = ("action", "has_own", "index", "keys", "number", "own", "summaries")

    def __init__(self, index: int, keys: tuple[Hashable | None, ...], number: int) -> None:
        self.index = index
        self.keys = keys
        """None: the guard is called for each pair."""
        self.number = number
        """Of the keys: preemptors with equal keys have the same number."""
        self.has_own = None in keys
        self.action: Action | None = None
        self.summaries: dict[int, GuardSummary] = {}
        """Summaries for the action, by victim."""
        self.own: dict[tuple[int, int], GuardVerdict | None] = {}
        """Verdicts for the action that are not shared, by place of the guard and victim."""


class GuardSummary:
    """Verdicts of all guards about one victim, and what follows."""

    __slots__ = ("keeps_core", "rejection", "strictest", "verdicts")

    def __init__(self, group: PodGroup, verdicts: Verdicts, sharing: Sequence[_Sharing]) -> None:
        self.verdicts = verdicts
        self.strictest = _strictest(verdicts)
        """Place of the first guard with the strictest scope; -1: no guard protects."""
        self.keeps_core = self.strictest >= 0
        self.rejection: Rejection | None = None
        """Why it must not lose any task."""
        if self.strictest >= 0 and (self.protects_all or not group.is_elastic):
            self.rejection = self.objection(sharing)

    @property
    def protects_all(self) -> bool:
        """Whether the whole pod group is protected."""
        verdict = self.verdicts[self.strictest]
        return verdict is not None and verdict.scope is ProtectionScope.ALL

    def objection(self, sharing: Sequence[_Sharing]) -> Rejection:
        """The strictest verdict as a rejection, with the name of its guard."""
        verdict = self.verdicts[self.strictest]
        assert verdict is not None
        return Rejection(verdict.reason, verdict.detail, verdict.until, sharing[self.strictest].name)


class Guards:
    """Calls the guards of all plugins, in profile order."""

    def __init__(
        self, pod_groups: PersistentVector[PodGroup], chains: Chains, placements: Sequence[Placement]
    ) -> None:
        self._pod_groups = pod_groups
        self._chains = chains
        self._placements = placements
        self._sharing: tuple[_Sharing, ...] = ()
        self._latest: _Preemptor | None = None
        self._numbers: dict[tuple[Hashable | None, ...], int] = {}
        """Numbers of keys, in the order of their first use."""
        self._known: dict[tuple[Action, int], dict[int, GuardSummary]] = {}
        """Summaries by action and number of the keys, then by victim; for preemptors with all keys."""
        self._shared: dict[tuple[Action, int, Hashable], dict[int, GuardVerdict | None]] = {}
        """Verdicts by action, place of the guard and key, then by victim; for other preemptors."""

    def fill(self) -> None:
        """Read the traits of the guards. Called after the chains were filled or cleared."""
        chains = self._chains
        self._sharing = tuple([_sharing_of(guard, chains.name(guard)) for guard in chains.guards])

    def verdicts(self, action: Action, preemptor: int, victim: int) -> tuple[GuardVerdict, ...]:
        """Verdicts of all guards that apply to the action, with the names of the guards."""
        found = self.summary(action, preemptor, victim).verdicts
        named = zip(found, self._sharing, strict=True)
        return tuple([each._replace(guard=guard.name) for each, guard in named if each is not None])

    def summary(self, action: Action, preemptor: int, victim: int) -> GuardSummary:
        """Verdicts of all guards about the victim, and what follows."""
        asking = self._preemptor(action, preemptor)
        found = asking.summaries.get(victim)
        if found is None:
            if asking.has_own:
                verdicts = [
                    self._verdict(place, guard, action, asking, victim)
                    for place, guard in enumerate(self._chains.guards)
                ]
            else:
                verdicts = [guard.guard(action, preemptor, victim) for guard in self._chains.guards]
            found = GuardSummary(self._pod_groups[victim], tuple(verdicts), self._sharing)
            asking.summaries[victim] = found
        return found

    def _preemptor(self, action: Action, preemptor: int) -> _Preemptor:
        """The preemptor with the summaries that it may use."""
        asking = self._keys_of(preemptor)
        if asking.action is not action:
            asking.action = action
            if asking.has_own:
                asking.summaries, asking.own = {}, {}
            else:
                asking.summaries = self._known.setdefault((action, asking.number), {})
        return asking

    def _keys_of(self, preemptor: int) -> _Preemptor:
        latest = self._latest
        if latest is None or latest.index != preemptor:
            keys = tuple([self._key(each, preemptor) for each in self._sharing])
            number = self._numbers.setdefault(keys, len(self._numbers))
            latest = self._latest = _Preemptor(preemptor, keys, number)
        return latest

    def _key(self, sharing: _Sharing, preemptor: int) -> Hashable | None:
        if sharing.verdicts is SameFor.ANY:
            return 0
        if sharing.verdicts is SameFor.QUEUE:
            return ("queue", self._pod_groups[preemptor].queue)
        if sharing.verdicts is SameFor.KEY and sharing.cache_key is not None:
            return sharing.cache_key.guard_cache_key(preemptor)
        return None

    def _verdict(
        self, place: int, guard: Guard, action: Action, asking: _Preemptor, victim: int
    ) -> GuardVerdict | None:
        """Verdict of one guard: shared by its key, or of the pair."""
        key = asking.keys[place]
        if key is None:
            if (place, victim) not in asking.own:
                asking.own[place, victim] = guard.guard(action, asking.index, victim)
            return asking.own[place, victim]
        shared = self._shared.setdefault((action, place, key), {})
        if victim not in shared:
            shared[victim] = guard.guard(action, asking.index, victim)
        return shared[victim]

    def cache_key(self, preemptor: int) -> int | None:
        """Preemptors with equal keys meet the same protection; None: a guard is called for each pair."""
        asking = self._keys_of(preemptor)
        return None if asking.has_own else asking.number

    def shared_key(self, preemptor: int) -> int:
        """Preemptors with equal keys meet the same protection by the guards that are shared for them."""
        return self._keys_of(preemptor).number

    def is_pair_finding(self, preemptor: int, guard: str) -> bool:
        """Whether a verdict of the guard was for the pair, so that it says nothing about other preemptors."""
        asking = self._keys_of(preemptor)
        if not asking.has_own:
            return False
        return any(each.name == guard and asking.keys[i] is None for i, each in enumerate(self._sharing))

    def is_pair_core(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the victim must keep its core because of such a verdict."""
        asking = self._keys_of(preemptor)
        if not asking.has_own:
            return False
        strictest = self.summary(action, preemptor, victim).strictest
        return strictest >= 0 and asking.keys[strictest] is None

    def may_expire(self, preemptor: int, victims: Sequence[int]) -> bool:
        """Whether a guard that is shared for the preemptor may protect any of these until a time."""
        keys = self._keys_of(preemptor).keys
        for place, sharing in enumerate(self._sharing):
            if keys[place] is not None and sharing.may_expire(victims):
                return True
        return False

    def delays(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the guards that are shared for the preemptor protect the victim until a time."""
        asking = self._preemptor(action, preemptor)
        if not asking.has_own:
            rejection = self.summary(action, preemptor, victim).rejection
        else:
            verdicts = [
                None if asking.keys[place] is None else self._verdict(place, guard, action, asking, victim)
                for place, guard in enumerate(self._chains.guards)
            ]
            group = self._pod_groups[victim]
            rejection = GuardSummary(group, tuple(verdicts), self._sharing).rejection
        return rejection is not None and rejection.until is not None

    def delays_pair(self, action: Action, preemptor: int, victims: Sequence[int]) -> bool:
        """Whether a guard that is not shared protects any of the victims from the preemptor until a time."""
        asking = self._preemptor(action, preemptor)
        if not asking.has_own:
            return False
        for place, guard in enumerate(self._chains.guards):
            if asking.keys[place] is None and self._sharing[place].may_expire(victims):
                for victim in victims:
                    verdict = self._verdict(place, guard, action, asking, victim)
                    if verdict is not None and verdict.scope and verdict.until is not None:
                        return True
        return False

    def invalidate(self) -> None:
        """Eviction records changed, and with them perhaps the keys of a preemptor and verdicts of pairs."""
        self._latest = None

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        """Why the victim must not lose any task: the strictest verdict."""
        return self.summary(action, preemptor, victim).rejection

    def keeps_core(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the victim must keep its minimum."""
        return self.summary(action, preemptor, victim).keeps_core

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """Rejection of a scenario in which a victim loses a protected minimum (semantics R7.40).

        Every listed task counts as lost, even a relocated one, and a terminating task does not count as left
        (stricter than semantics R7.41).
        """
        for victim, tasks in scenario.victims().items():
            summary = self.summary(action, scenario.preemptor, victim)
            if not summary.keeps_core:
                continue
            if summary.protects_all or self._breaks_minimum(self._pod_groups[victim], tasks):
                return summary.objection(self._sharing)
        return None

    def _breaks_minimum(self, group: PodGroup, tasks: Sequence[int]) -> bool:
        """Whether the pod group meets its minimum with these tasks and not without them.

        A pod group that does not meet it anyway may lose tasks of pod sets that stay above their own minimum.
        """
        listed, left, before = set(tasks), {}, {}
        for pod_set in group.pod_sets:
            stays = [t for t in pod_set.tasks if t not in listed]
            left[pod_set.index] = sum(self._placements[t].status.is_active_allocated for t in stays)
            before[pod_set.index] = left[pod_set.index] + len(pod_set.tasks) - len(stays)
        if group.root.is_met(before):
            return not group.root.is_met(left)
        losing = [s for s in group.pod_sets if left[s.index] < before[s.index]]
        return any(not pod_set.is_met(left) for pod_set in losing)


def _sharing_of(guard: Any, name: str) -> _Sharing:
    """A trait without the method that it requires counts as not declared."""
    traits = traits_of(guard)
    cache_key: GuardCacheKey | None = guard if hasattr(guard, "guard_cache_key") else None
    expiry_check: GuardExpiry | None = guard if hasattr(guard, "may_expire") else None
    verdicts, expiry = traits.verdicts, traits.expiry
    if verdicts is SameFor.KEY and cache_key is None:
        verdicts = SameFor.PAIR
    if expiry is Expiry.CHECK and expiry_check is None:
        expiry = Expiry.POSSIBLE
    return _Sharing(name, verdicts, expiry, cache_key, expiry_check)


def _strictest(verdicts: Verdicts) -> int:
    """Place of the first verdict with the strictest scope; -1 if none protects."""
    strictest = -1
    for place, verdict in enumerate(verdicts):
        if verdict is None:
            continue
        if verdict.scope is ProtectionScope.ALL:
            return place
        if verdict.scope is ProtectionScope.CORE and strictest < 0:
            strictest = place
    return strictest
