"""Preemptibility and opt-outs of pod groups (semantics R1.80, sections 8.1 and 8.3)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.model.verdict import GuardVerdict, Protection, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import Preemptibility as Mode
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.points import Guard, ProtectionReporter
from tenure.solver.plugin_api.traits import Expiry, SameFor, Traits
from tenure.terms.reasons import ReasonCode

NAME: Final = "preemptibility"


class PreemptibilityGuard(Guard, ProtectionReporter):
    """Protects non-preemptible pod groups, and the core of semi-preemptible ones. Part of every profile."""

    TRAITS: ClassVar = Traits(verdicts=SameFor.ANY, expiry=Expiry.NEVER, protections_only_end=True)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._groups = context.cluster.pod_groups
        self._action_names = context.guarded_actions.names
        self._passes: list[dict[int, GuardVerdict]] = [{} for _ in Mode]
        """Verdicts for preemptible pod groups, by their preemptibility and priority."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """Protects non-preemptible pod groups and the minimum of semi-preemptible ones; opt-outs first."""
        if not action.is_guarded:
            return None
        group = self._groups[victim]
        if action.name in group.facts.opt_out_actions:
            detail = f"{group.facts.name} opts out of {action.name}"
            return GuardVerdict(ProtectionScope.ALL, "its own opt-out", None, detail, ReasonCode.OPTED_OUT)
        passes = self._passing(group)
        if passes is not None:
            return passes
        scope, detail = _scope(group)
        return GuardVerdict(scope, source(group), None, detail, ReasonCode.NON_PREEMPTIBLE)

    def _passing(self, group: PodGroup) -> GuardVerdict | None:
        """Verdict for a preemptible pod group; None for others."""
        if not group.is_preemptible:
            return None
        passes, priority = self._passes[group.facts.preemptibility], group.facts.priority
        verdict = passes.get(priority)
        if verdict is None:
            verdict = GuardVerdict(ProtectionScope.NOTHING, source(group), reason=ReasonCode.NON_PREEMPTIBLE)
            passes[priority] = verdict
        return verdict

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """Protections while they run."""
        found: list[Protection] = []
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if group.facts.opt_out_actions or not group.is_preemptible:
                found.extend(self._protections(pod_group, group))
        return found

    def _protections(self, pod_group: int, group: PodGroup) -> Iterator[Protection]:
        out = tuple(action for action in self._action_names if action in group.facts.opt_out_actions)
        if out:
            yield Protection(pod_group, NAME, out, None, "its own opt-out")
        scope, _ = _scope(group)
        others = tuple(action for action in self._action_names if action not in out)
        if scope and others:
            yield Protection(pod_group, NAME, others, None, source(group), scope=scope)


def source(group: PodGroup) -> str:
    """What sets its preemptibility."""
    return "its own preemptibility" if group.facts.preemptibility else f"its priority {group.facts.priority}"


def _scope(group: PodGroup) -> tuple[ProtectionScope, str]:
    if group.is_preemptible:
        return ProtectionScope.NOTHING, ""
    if group.facts.preemptibility is Mode.SEMI_PREEMPTIBLE:
        return ProtectionScope.CORE, f"the minimum of {group.facts.name} is not preemptible"
    return ProtectionScope.ALL, f"{group.facts.name} is not preemptible"
