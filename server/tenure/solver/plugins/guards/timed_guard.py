"""A guard that protects pod groups as a whole until a time, from every preemptor."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from tenure.solver.model.decision import Protection
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import Guard, ProtectionReporter
from tenure.solver.plugin_api.traits import GuardExpiry


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
