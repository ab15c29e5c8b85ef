"""Verdicts of guards about victims, and how they are shared between preemptors.

Shared guards, by their trait `verdicts`, are called once per key and victim, the others once per pair. So a
guard that shares nothing does not affect how often other guards are called.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from tenure.solver.framework.chains import Chains
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.points import Guard
from tenure.solver.plugin_api.traits import Expiry, GuardCacheKey, GuardExpiry, SameFor, traits_of

Verdicts = tuple[GuardVerdict | None, ...]
"""One verdict per guard, in profile order; None: the guard does not apply."""
Keys = tuple[Hashable | None, ...]
"""Keys of a preemptor, by guard; None: the guard is called for each pair."""


@final
class Sharing:
    """Name of a guard, what it guarantees about its verdicts, and its optional methods."""

    def __init__(self, guard: Any, name: str) -> None:
        """A trait without the method that it requires counts as not declared."""
        traits = traits_of(guard)
        self.name = name
        self.verdicts = traits.verdicts
        self.expiry = traits.expiry
        self.cache_key: GuardCacheKey | None = guard if hasattr(guard, "guard_cache_key") else None
        self.expiry_check: GuardExpiry | None = guard if hasattr(guard, "may_expire") else None
        if self.verdicts is SameFor.KEY and self.cache_key is None:
            self.verdicts = SameFor.PAIR
        if self.expiry is Expiry.CHECK and self.expiry_check is None:
            self.expiry = Expiry.POSSIBLE

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether a verdict for any of these may protect until a time."""
        if self.expiry is Expiry.CHECK and self.expiry_check is not None:
            return self.expiry_check.may_expire(victims)
        return self.expiry is not Expiry.NEVER


class Preemptor:
    """A preemptor, its key for each guard, and verdicts of guards that are not shared."""

    __slots__ = ("action", "has_own", "index", "keys", "number", "own", "summaries")

    summaries: "dict[int, GuardSummary]"
    """Summaries for the action, by victim. Set with the action."""
    own: dict[tuple[int, int], GuardVerdict | None]
    """Verdicts for the action that are not shared, by place of the guard and victim. Set with the action, if
    a guard is not shared.
    """

    def __init__(self, index: int, keys: Keys, number: int) -> None:
        self.index = index
        self.keys = keys
        """None: the guard is called for each pair."""
        self.number = number
        """Of the keys: preemptors with equal keys have the same number."""
        self.has_own = None in keys
        self.action: Action | None = None


class Lead(NamedTuple):
    """How long before its eviction a victim is told: guards are asked as of then (semantics R16.3)."""

    notice: int = 0
    """Nanoseconds. So much earlier may the protection end for a preemptor."""
    time: int = 0
    """Time of the snapshot and the notice."""
    pause: Rejection | None = None
    """Why it is given no notice now, after one that was withdrawn (semantics R16.7)."""


NO_LEAD: Final = Lead()


class GuardSummary:
    """Verdicts of all guards about one victim, and what follows."""

    __slots__ = ("_lead", "keeps_core", "rejection", "strictest", "verdicts")

    def __init__(
        self, group: PodGroup, verdicts: Verdicts, sharing: Sequence[Sharing], lead: Lead = NO_LEAD
    ) -> None:
        self.verdicts = verdicts
        self._lead = lead
        self.strictest = _strictest(verdicts if lead is NO_LEAD else without_ended(verdicts, lead.time))
        """Place of the first guard with the strictest scope; -1: no guard protects."""
        self.keeps_core = self.strictest >= 0
        self.rejection: Rejection | None = None
        """Why it must not lose any task."""
        if self.strictest >= 0 and (self.protects_all or not group.is_elastic):
            self.rejection = self.objection(sharing)
        elif lead.pause is not None:
            self.rejection = lead.pause

    @property
    def protects_all(self) -> bool:
        """Whether the whole pod group is protected."""
        verdict = self.verdicts[self.strictest]
        return verdict is not None and verdict.scope is ProtectionScope.ALL

    def at(self, group: PodGroup, time: int, sharing: Sequence[Sharing]) -> "GuardSummary":
        """Summary without the protections that end by a time."""
        if self.strictest < 0 and self._lead.pause is None:
            return self
        lead = self._lead
        if lead.pause is not None and (lead.pause.until or 0) <= time:
            lead = lead._replace(pause=None)
        return GuardSummary(group, without_ended(self.verdicts, time + lead.notice), sharing, lead)

    def endings(self, sharing: Sequence[Sharing]) -> list[Rejection]:
        """Protections that end, as rejections with the names of their guards."""
        return [
            Rejection(
                each.reason, each.detail, each.until - self._lead.notice, sharing[place].name, each.custom
            )
            for place, each in enumerate(self.verdicts)
            if each is not None and each.scope and each.until is not None
        ]

    def objection(self, sharing: Sequence[Sharing]) -> Rejection:
        """The strictest verdict as a rejection, with the name of its guard."""
        verdict = self.verdicts[self.strictest]
        assert verdict is not None
        until = None if verdict.until is None else verdict.until - self._lead.notice
        name = sharing[self.strictest].name
        return Rejection(verdict.reason, verdict.detail, until, name, verdict.custom)


class SharedVerdicts:
    """Calls the guards of all plugins, and stores their verdicts."""

    def __init__(self, pod_groups: PersistentVector[PodGroup], chains: Chains) -> None:
        self._pod_groups = pod_groups
        self._chains = chains
        self.leads: Mapping[int, Lead] = {}
        """Leads of victims with a notice."""
        self._sharing: Final = tuple(
            [Sharing(chains.unwrapped(guard), chains.name(guard)) for guard in chains.guards]
        )
        self._latest: Preemptor | None = None
        self._numbers: dict[Keys, int] = {}
        """Numbers of keys, in the order of their first use."""
        keyed = [each.cache_key for each in self._sharing if each.verdicts is SameFor.KEY]
        self._keyed: Final = [each for each in keyed if each is not None]
        """Guards with a key for each preemptor."""
        self._by_queue: dict[tuple[int | None, Keys], tuple[Keys, int]] = {}
        """Keys of all guards, and their number, by queue and keys of these guards."""
        self._known: dict[tuple[Action, int], dict[int, GuardSummary]] = {}
        """Summaries by action and number of the keys, then by victim; for preemptors with all keys."""
        self._shared: dict[tuple[Action, int, Hashable], dict[int, GuardVerdict | None]] = {}
        """Verdicts by action, place of the guard and key, then by victim; for other preemptors."""

    def set_leads(self, leads: Mapping[int, Lead]) -> None:
        """Set the leads of victims; verdicts that were found without them are found again."""
        self.leads = leads
        self._latest = None
        self._known.clear()
        self._shared.clear()

    def _preemptor(self, action: Action, preemptor: int) -> Preemptor:
        """The preemptor with the summaries that it may use."""
        cached = self._keys_of(preemptor)
        if cached.action is not action:
            cached.action = action
            if cached.has_own:
                cached.summaries, cached.own = {}, {}
            else:
                cached.summaries = self._known.setdefault((action, cached.number), {})
        return cached

    def _keys_of(self, preemptor: int) -> Preemptor:
        latest = self._latest
        if latest is None or latest.index != preemptor:
            own = tuple([each.guard_cache_key(preemptor) for each in self._keyed])
            place = (self._pod_groups[preemptor].queue, own)
            known = self._by_queue.get(place)
            if known is None:
                keys = tuple([self._key(each, preemptor) for each in self._sharing])
                known = self._by_queue[place] = keys, self._numbers.setdefault(keys, len(self._numbers))
            latest = self._latest = Preemptor(preemptor, known[0], known[1])
        return latest

    def _key(self, sharing: Sharing, preemptor: int) -> Hashable | None:
        if sharing.verdicts is SameFor.ANY:
            return 0
        if sharing.verdicts is SameFor.QUEUE:
            return ("queue", self._pod_groups[preemptor].queue)
        if sharing.verdicts is SameFor.KEY and sharing.cache_key is not None:
            return sharing.cache_key.guard_cache_key(preemptor)
        return None

    def _verdict(
        self, place: int, guard: Guard, action: Action, cached: Preemptor, victim: int
    ) -> GuardVerdict | None:
        """Verdict of one guard: shared by its key, or of the pair."""
        key = cached.keys[place]
        if key is None:
            if (place, victim) not in cached.own:
                cached.own[place, victim] = guard.guard(action, cached.index, victim)
            return cached.own[place, victim]
        shared = self._shared.setdefault((action, place, key), {})
        if victim not in shared:
            shared[victim] = guard.guard(action, cached.index, victim)
        return shared[victim]

    def summarize(self, victim: int, verdicts: Sequence[GuardVerdict | None]) -> GuardSummary:
        """What follows from verdicts about a victim, which may be told before it is evicted."""
        lead = self.leads.get(victim, NO_LEAD) if self.leads else NO_LEAD
        return GuardSummary(self._pod_groups[victim], tuple(verdicts), self._sharing, lead)

    def cache_key(self, preemptor: int) -> int | None:
        """Preemptors with equal keys meet the same protection; None: a guard is called for each pair."""
        cached = self._keys_of(preemptor)
        return None if cached.has_own else cached.number

    def shared_key(self, preemptor: int) -> int:
        """Preemptors with equal keys meet the same protection by the guards that are shared for them."""
        return self._keys_of(preemptor).number

    def is_pair_finding(self, preemptor: int, guard: str) -> bool:
        """Whether a verdict of the guard was for the pair, so that it says nothing about other preemptors."""
        cached = self._keys_of(preemptor)
        if not cached.has_own:
            return False
        return any(each.name == guard and cached.keys[i] is None for i, each in enumerate(self._sharing))

    def may_expire(self, preemptor: int, victims: Sequence[int]) -> bool:
        """Whether a guard that is shared for the preemptor may protect any of these until a time."""
        keys, leads = self._keys_of(preemptor).keys, self.leads
        if leads and any(leads[victim].pause is not None for victim in victims if victim in leads):
            return True
        for place, sharing in enumerate(self._sharing):
            if keys[place] is not None and sharing.may_expire(victims):
                return True
        return False

    def delays_pair(self, action: Action, preemptor: int, victims: Sequence[int]) -> bool:
        """Whether a guard that is not shared protects any of the victims from the preemptor until a time."""
        cached = self._preemptor(action, preemptor)
        if not cached.has_own:
            return False
        for place, guard in enumerate(self._chains.guards):
            if cached.keys[place] is None and self._sharing[place].may_expire(victims):
                for victim in victims:
                    verdict = self._verdict(place, guard, action, cached, victim)
                    if verdict is not None and verdict.scope and verdict.until is not None:
                        return True
        return False

    def invalidate(self) -> None:
        """Eviction records changed, and with them perhaps the keys of a preemptor and verdicts of pairs."""
        self._latest = None


def without_ended(verdicts: Verdicts, time: int) -> Verdicts:
    """Verdicts without the protections that end by a time, in nanoseconds."""
    return tuple(
        [
            None if each is None or (each.until is not None and each.until <= time) else each
            for each in verdicts
        ]
    )


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
