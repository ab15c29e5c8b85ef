"""Guards: the one list of what keeps a pod group from being evicted.

Every guard answers one question, `guard(action, preemptor, victim)`. What their answers mean is decided
here, for all of them and all evicting actions alike:

- ALL: the pod group is no victim.
- CORE: it loses no more than what goes beyond its minimum, at every level of its sub groups; a pod group
  that has nothing beyond its minimum is no victim.
- NOTHING: the guard lets it pass; an eviction names the guard all the same.
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
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import Expiry, GuardCacheKey, GuardExpiry, SameFor, traits_of

Verdicts = tuple[GuardVerdict, ...]


class _Sharing(NamedTuple):
    """What a guard guarantees about its verdicts, and its optional methods."""

    verdicts: SameFor
    expiry: Expiry
    cache_key: GuardCacheKey | None
    expiry_check: GuardExpiry | None


class GuardSummary:
    """What all guards say about one victim, and what follows from it."""

    __slots__ = ("rejection", "strictest", "verdicts")

    def __init__(self, group: PodGroup, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.strictest = _strictest(verdicts)
        """The first of those that protect it most; None: it may lose everything."""
        self.rejection: Rejection | None = None
        """Why it may not lose anything at all."""
        strictest = self.strictest
        if strictest is not None and (strictest.scope is ProtectionScope.ALL or not group.is_elastic):
            self.rejection = _rejection(strictest)


class Guards:
    """Asks the guards of all plugins, in the order of the profile, once per victim and kind of preemptor."""

    def __init__(
        self, pod_groups: PersistentVector[PodGroup], chains: Chains, placements: Sequence[Placement]
    ) -> None:
        self._pod_groups = pod_groups
        self._chains = chains
        self._placements = placements
        self._sharing: tuple[_Sharing, ...] = ()
        self._latest: tuple[int, Action, dict[int, GuardSummary]] | None = None
        self._latest_keys: tuple[int, tuple[Hashable | None, ...], int | None] | None = None
        """The latest preemptor, its key for each guard, and the number of all of them."""
        self._cache_keys: dict[tuple[Hashable, ...], int] = {}
        """Numbers of the kinds, in the order in which they were met."""
        self._known: dict[tuple[Action, int], dict[int, GuardSummary]] = {}
        self._shared: dict[tuple[Action, int, Hashable], dict[int, GuardVerdict | None]] = {}
        """Verdicts by action, place of the guard and key; then by victim. For preemptors without a number."""

    def fill(self) -> None:
        """Read the traits of the guards. Called after the chains were filled or cleared."""
        self._sharing = tuple([_sharing_of(guard) for guard in self._chains.guards])

    def verdicts(self, action: Action, preemptor: int, victim: int) -> Verdicts:
        """What every guard that has a say in the action says about the victim."""
        return self.summary(action, preemptor, victim).verdicts

    def summary(self, action: Action, preemptor: int, victim: int) -> GuardSummary:
        """The same, and what follows."""
        known = self._summaries_for(action, preemptor)
        if known is None:
            return self._pair_summary(action, preemptor, victim)
        found = known.get(victim)
        if found is None:
            verdicts = []
            for guard in self._chains.guards:
                verdict = guard.guard(action, preemptor, victim)
                if verdict is not None:
                    verdicts.append(verdict)
            found = known[victim] = GuardSummary(self._pod_groups[victim], tuple(verdicts))
        return found

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether any of these may be protected for a time only."""
        for sharing in self._sharing:
            if sharing.expiry is Expiry.POSSIBLE:
                return True
            check = sharing.expiry_check
            if sharing.expiry is Expiry.CHECK and check is not None and check.may_expire(victims):
                return True
        return False

    def cache_key(self, preemptor: int) -> int | None:
        """Preemptors of a kind, a number, meet the same protection; None: this one stands alone."""
        return self._keys_of(preemptor)[2]

    def _keys_of(self, preemptor: int) -> tuple[int, tuple[Hashable | None, ...], int | None]:
        latest = self._latest_keys
        if latest is None or latest[0] != preemptor:
            keys = self._cache_keys_of(preemptor)
            number = None if None in keys else self._cache_keys.setdefault(keys, len(self._cache_keys))
            latest = self._latest_keys = (preemptor, keys, number)
        return latest

    def _cache_keys_of(self, preemptor: int) -> tuple[Hashable | None, ...]:
        """The key of the preemptor for each guard, in their order; None: the guard is called per pair."""
        keys: list[Hashable | None] = []
        for sharing in self._sharing:
            if sharing.verdicts is SameFor.ANY:
                keys.append(0)
            elif sharing.verdicts is SameFor.QUEUE:
                keys.append(("queue", self._pod_groups[preemptor].queue))
            elif sharing.cache_key is not None and sharing.verdicts is SameFor.KEY:
                keys.append(sharing.cache_key.guard_cache_key(preemptor))
            else:
                keys.append(None)
        return tuple(keys)

    def invalidate(self) -> None:
        """What is remembered of evictions changed, and with it perhaps the kind of a preemptor."""
        self._latest = None
        self._latest_keys = None

    def _summaries_for(self, action: Action, preemptor: int) -> dict[int, GuardSummary] | None:
        """Results by victim that preemptors of the same kind got; None for one that stands alone."""
        latest = self._latest
        if latest is not None and latest[0] == preemptor and latest[1] is action:
            return latest[2]
        kind = self.cache_key(preemptor)
        if kind is None:
            return None
        known = self._known.setdefault((action, kind), {})
        self._latest = (preemptor, action, known)
        return known

    def _pair_summary(self, action: Action, preemptor: int, victim: int) -> GuardSummary:
        """The summary for this pair alone: guards with a key for the preemptor share their verdicts."""
        keys, verdicts = self._keys_of(preemptor)[1], []
        for place, guard in enumerate(self._chains.guards):
            key = keys[place]
            if key is None:
                verdict = guard.guard(action, preemptor, victim)
            else:
                shared = self._shared.setdefault((action, place, key), {})
                if victim not in shared:
                    shared[victim] = guard.guard(action, preemptor, victim)
                verdict = shared[victim]
            if verdict is not None:
                verdicts.append(verdict)
        return GuardSummary(self._pod_groups[victim], tuple(verdicts))

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        """Whether the victim may lose anything at all; the first guard that protects it most objects."""
        return self.summary(action, preemptor, victim).rejection

    def keeps_core(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the victim must keep its minimum."""
        return self.summary(action, preemptor, victim).strictest is not None

    def allows_scenario(self, action: Action, scenario: Scenario) -> Rejection | None:
        """No victim loses its minimum that must keep it (semantics R7.40).

        Every task listed counts as lost, even one that is placed again, and a terminating one does not
        count as left: in doubt the scenario is rejected (stricter than semantics R7.41).
        """
        for victim, tasks in scenario.victims().items():
            strictest = self.summary(action, scenario.preemptor, victim).strictest
            if strictest is None:
                continue
            if strictest.scope is ProtectionScope.ALL or self._breaks_minimum(
                self._pod_groups[victim], tasks
            ):
                return _rejection(strictest)
        return None

    def _breaks_minimum(self, group: PodGroup, tasks: Sequence[int]) -> bool:
        """Whether the pod group meets its minimum with these tasks and not without them.

        One that does not meet it anyway loses from pod sets that stay above their own minimum only.
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


def _sharing_of(guard: Any) -> _Sharing:
    """A trait without the method that it requires counts as not declared."""
    traits = traits_of(guard)
    cache_key: GuardCacheKey | None = guard if hasattr(guard, "guard_cache_key") else None
    expiry_check: GuardExpiry | None = guard if hasattr(guard, "may_expire") else None
    verdicts, expiry = traits.verdicts, traits.expiry
    if verdicts is SameFor.KEY and cache_key is None:
        verdicts = SameFor.PAIR
    if expiry is Expiry.CHECK and expiry_check is None:
        expiry = Expiry.POSSIBLE
    return _Sharing(verdicts, expiry, cache_key, expiry_check)


def _strictest(verdicts: Verdicts) -> GuardVerdict | None:
    strictest = None
    for verdict in verdicts:
        scope = verdict.scope
        if scope is ProtectionScope.ALL:
            return verdict
        if scope is ProtectionScope.CORE:
            strictest = strictest or verdict
    return strictest


def _rejection(verdict: GuardVerdict) -> Rejection:
    return Rejection(verdict.code, verdict.detail, verdict.until, verdict.guard)
