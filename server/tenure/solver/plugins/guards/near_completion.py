"""Protects pod groups that are close to their expected end: evicting them gains little.

The expected end follows from the last start and the expected runtime, as for requeue (semantics R12.3).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.model.decision import Protection
from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action, action_names
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import Guard, ProtectionReporter
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.traits import Expiry, GuardExpiry, SameFor, Traits
from tenure.terms.durations import parse_duration
from tenure.terms.reasons import ReasonCode

NAME: Final = "nearcompletion"
DEFAULT_WINDOW: Final = "10m"


class NearCompletion(Guard, GuardExpiry, ProtectionReporter):
    """Protects pod groups that are close to their expected end.

    From its expected end on, a pod group is no longer protected, however long it still runs.

    The beginning of a protection needs no wake time, because it makes nothing possible.
    """

    ARGUMENTS: ClassVar[Parsers] = {"window": parse_duration, "actions": action_names}
    DEFAULTS: ClassVar[Mapping[str, str]] = {"window": DEFAULT_WINDOW}
    TRAITS: ClassVar = Traits(verdicts=SameFor.ANY, expiry=Expiry.CHECK)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._now = context.now
        self._groups = context.cluster.pod_groups
        self._queues = context.cluster.queues
        self._actions = context.guarded_actions.parse(arguments.get("actions"))
        self._action_names = tuple([action.name for action in self._actions])
        self._window = parse_duration(arguments.get("window", DEFAULT_WINDOW))
        self._source = "argument window" if "window" in arguments else f"default of {NAME}"

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """Protects the whole pod group while its expected end is near."""
        return self._verdict(self._groups[victim]) if action in self._actions else None

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Whether any of them is close to its expected end."""
        return any(self._verdict(self._groups[victim]).scope for victim in victims)

    def protections(self, pod_groups: Sequence[int]) -> Iterator[Protection]:
        """Protections until the expected ends."""
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            verdict = self._verdict(group)
            if group.is_evictable and verdict.scope:
                yield Protection(pod_group, NAME, self._action_names, verdict.until, verdict.source)

    def _verdict(self, group: PodGroup) -> GuardVerdict:
        """The source is the setting of the expected runtime, or the plugin without one."""
        expected, source = expected_runtime(group, self._queues)
        if expected.value is None or group.facts.last_start is None:
            return GuardVerdict(ProtectionScope.NOTHING, source or self._source)
        end = group.facts.last_start + expected.value
        has_started = group.facts.last_start <= self._now
        if not (has_started and end - self._window <= self._now < end):
            return GuardVerdict(ProtectionScope.NOTHING, source, end)
        detail = f"{group.facts.name} is close to its expected end"
        return GuardVerdict(ProtectionScope.ALL, source, end, detail, ReasonCode.NEAR_COMPLETION)
