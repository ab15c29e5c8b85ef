"""Protects pod groups that were evicted again and again before they could do anything (semantics R14.30).

The guard `evictionbackoff` knows pairs of a victim and a preemptor. This one protects a victim from
everybody, also from ever new preemptors.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import EvictionCounter
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits
from tenure.solver.plugins.guards.timed_guard import TimedGuard
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

NAME: Final = "victimcooldown"
_DURATIONS: Final[Mapping[str, str]] = {"cooldown": "10m", "maxCooldown": "4h", "progress": "1h"}
"""Arguments and their defaults."""


class VictimCooldown(TimedGuard, EvictionCounter):
    """Protects a pod group after its start, for longer with each eviction before which it did not run long.

    It counts these evictions. Times in the future prolong the protection.
    """

    ARGUMENTS: ClassVar[Parsers] = {**dict.fromkeys(_DURATIONS, parse_duration), "actions": action_names}
    DEFAULTS: ClassVar[Mapping[str, str]] = _DURATIONS
    TRAITS: ClassVar = Traits(verdicts=SameFor.ANY, expiry=Expiry.CHECK, protections_only_end=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments, NAME)
        values = {name: parse_duration(arguments.get(name, text)) for name, text in _DURATIONS.items()}
        self._cooldown, self._max_cooldown = values["cooldown"], values["maxCooldown"]
        self._progress = values["progress"]
        self._source = "argument cooldown" if "cooldown" in arguments else f"default of {NAME}"
        self._no_protection = GuardVerdict(ProtectionScope.NOTHING, self._source)

    def evictions_without_progress(self, pod_group: int) -> int:
        """1 if it ran for `progress` since its last start, else one more than before (semantics R14.31)."""
        facts = self._groups[pod_group].facts
        if facts.last_start is not None and self._now - facts.last_start >= self._progress:
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
