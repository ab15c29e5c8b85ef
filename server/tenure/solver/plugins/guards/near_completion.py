"""Protects pod groups that are close to their expected end: evicting them gains little.

The expected end follows from the last start and the expected runtime, as for requeue (semantics R12.3).
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits
from tenure.solver.plugins.guards.timed_guard import TimedGuard
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

NAME: Final = "nearcompletion"
DEFAULT_WINDOW: Final = "10m"


class NearCompletion(TimedGuard):
    """Protects pod groups that are close to their expected end.

    From its expected end on, a pod group is no longer protected, however long it still runs.

    The beginning of a protection needs no wake time, because it makes nothing possible.
    """

    ARGUMENTS: ClassVar[Parsers] = {"window": parse_duration, "actions": action_names}
    DEFAULTS: ClassVar[Mapping[str, str]] = {"window": DEFAULT_WINDOW}
    TRAITS: ClassVar = Traits(verdicts=SameFor.ANY, expiry=Expiry.CHECK)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        super().__init__(context, arguments, NAME)
        self._queues = context.cluster.queues
        self._window = parse_duration(arguments.get("window", DEFAULT_WINDOW))
        self._source = "argument window" if "window" in arguments else f"default of {NAME}"

    def verdict(self, group: PodGroup) -> GuardVerdict:
        """Protects it while its expected end is near.

        The source is the setting of the expected runtime, or the plugin without one.
        """
        expected, source = expected_runtime(group, self._queues)
        if expected.value is None or group.facts.last_start is None:
            return GuardVerdict(ProtectionScope.NOTHING, source or self._source)
        end = group.facts.last_start + expected.value
        has_started = group.facts.last_start <= self._now
        if not (has_started and end - self._window <= self._now < end):
            return GuardVerdict(ProtectionScope.NOTHING, source, end)
        detail = f"{group.facts.name} is close to its expected end"
        return GuardVerdict(ProtectionScope.ALL, source, end, detail, ReasonCode.NEAR_COMPLETION)
