"""Guards that protect a pod group as a whole until a time, from every preemptor.

`nearcompletion`: it is close to its expected end, so evicting it gains little. The expected end follows from
the last start and the expected runtime, as for requeue (semantics R12.3).

`victimcooldown`: it was evicted again and again before it could do anything (semantics R14.30). The guard
`evictionbackoff` knows pairs of a victim and a preemptor; this one also protects from ever new preemptors.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.model.inherited_settings import runtime_at_start
from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import EvictionCounter, Guard, ProtectionReporter
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, GuardExpiry, SameFor, Traits
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

DEFAULT_WINDOW: Final = "10m"
_COOLDOWN: Final[Mapping[str, str]] = {"cooldown": "10m", "maxCooldown": "4h", "progress": "1h"}
"""Arguments of `victimcooldown` and their defaults."""


class TimedGuard(Guard, GuardExpiry, ProtectionReporter):
    """A guard whose verdict follows from the facts of the victim and the time.

    It has an argument `actions` for the actions that it applies to.
    """

    def __init__(self, context: PluginContext, arguments: Mapping[str, str], name: str) -> None:
        self._now = context.now
        self._groups = context.cluster.pod_groups
        self._actions = context.guarded_actions.parse(arguments.get("actions"))
        self._action_names = tuple([action.name for action in self._actions])
        self._name = name

    @abstractmethod
    def verdict(self, group: PodGroup) -> GuardVerdict:
        """Whether the pod group is protected, and until when."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """Protects the whole pod group, from every preemptor."""
        return self.verdict(self._groups[victim]) if action in self._actions else None

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether any of them is protected."""
        return any(self.verdict(self._groups[victim]).scope for victim in victims)

    def protections(self, pod_groups: Sequence[int]) -> Iterator[Protection]:
        """Protections until they end."""
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if group.is_evictable and (verdict := self.verdict(group)).scope:
                yield Protection(pod_group, self._name, self._action_names, verdict.until, verdict.source)


class NearCompletion(TimedGuard):
    """Protects pod groups that are close to their expected end.

    From its expected end on, a pod group is no longer protected, however long it still runs.

    The beginning of a protection needs no wake time, because it makes nothing possible.
    """

    ARGUMENTS: ClassVar[Parsers] = {"window": parse_duration, "actions": action_names}
    DEFAULTS: ClassVar[Mapping[str, str]] = {"window": DEFAULT_WINDOW}
    TRAITS: ClassVar = Traits(verdicts=SameFor.ANY, expiry=Expiry.CHECK)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments, "nearcompletion")
        self._queues = context.cluster.queues
        self._window = parse_duration(arguments.get("window", DEFAULT_WINDOW))
        self._source = "argument window" if "window" in arguments else "default of nearcompletion"

    def verdict(self, group: PodGroup) -> GuardVerdict:
        """Protects it while its expected end is near.

        The source is the setting of the expected runtime, or the plugin without one.
        """
        expected, source = runtime_at_start(group, self._queues)
        if expected.value is None or group.facts.last_start is None:
            return GuardVerdict(ProtectionScope.NOTHING, source or self._source)
        end = group.facts.last_start + expected.value
        has_started = group.facts.last_start <= self._now
        if not (has_started and end - self._window <= self._now < end):
            return GuardVerdict(ProtectionScope.NOTHING, source, end)
        detail = f"{group.facts.name} is close to its expected end"
        return GuardVerdict(ProtectionScope.ALL, source, end, detail, ReasonCode.NEAR_COMPLETION)


class VictimCooldown(TimedGuard, EvictionCounter):
    """Protects a pod group after its start, for longer with each eviction before which it did not run long.

    It counts these evictions. Times in the future prolong the protection.
    """

    ARGUMENTS: ClassVar[Parsers] = {
        **dict.fromkeys(_COOLDOWN, parse_duration),
        "actions": action_names,
    }
    DEFAULTS: ClassVar[Mapping[str, str]] = _COOLDOWN
    TRAITS: ClassVar = Traits(verdicts=SameFor.ANY, expiry=Expiry.CHECK, protections_only_end=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments, "victimcooldown")
        values = {name: parse_duration(arguments.get(name, text)) for name, text in _COOLDOWN.items()}
        self._cooldown, self._max_cooldown = values["cooldown"], values["maxCooldown"]
        self._progress = values["progress"]
        self._source = "argument cooldown" if "cooldown" in arguments else "default of victimcooldown"
        self._no_protection = GuardVerdict(ProtectionScope.NOTHING, self._source)

    def evictions_without_progress(self, pod_group: int) -> int:
        """1 if it ran for `progress` or made a checkpoint since its last start, else one more than before
        (semantics R14.31).
        """
        facts = self._groups[pod_group].facts
        start, saved = facts.last_start, facts.victim.last_checkpoint
        if start is not None:
            has_saved = saved is not None and start < saved <= self._now
            if has_saved or self._now - start >= self._progress:
                return 1
        return facts.evictions_without_progress + 1

    def verdict(self, group: PodGroup) -> GuardVerdict:
        """Protects it from its start until its cooldown ends."""
        count, start = group.facts.evictions_without_progress, group.facts.last_start
        if count < 1 or start is None:
            return self._no_protection
        # Bound the exponent first: the number of evictions may be huge.
        doublings = min(count - 1, self._max_cooldown.bit_length())
        end = start + min(self._cooldown << doublings, self._max_cooldown)
        if end <= self._now:
            return GuardVerdict(ProtectionScope.NOTHING, self._source, end)
        times = "once" if count == 1 else f"{count} times in a row"
        detail = f"{group.facts.name} was evicted {times} without progress and has just started again"
        return GuardVerdict(ProtectionScope.ALL, self._source, end, detail, ReasonCode.VICTIM_COOLDOWN)
