"""Who may be interrupted at all: preemptibility and opt-outs (semantics R1.80, sections 8.1 and 8.3)."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload import Preemptibility as Mode
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.profile import Parsers
from tenure.terms.reasons import ReasonCode

NAME: Final = "preemptibility"


class PreemptibilityGuard:
    """A guard that is always on, whatever the profile says."""

    ARGUMENTS: ClassVar[Parsers] = {}
    PROTECTIONS_ONLY_END: ClassVar = True

    def __init__(self, session: Session, arguments: Mapping[str, str]) -> None:
        self._groups = session.cluster.pod_groups
        self._action_names = session.registry.guarded_names
        self._passes: list[dict[int, GuardVerdict]] = [{} for _ in Mode]
        """What it says of preemptible pod groups, by their own word and priority."""

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of non-preemptible pod groups, the minimum of semi-preemptible ones; opt-outs come first."""
        if not action.is_guarded:
            return None
        group = self._groups[victim]
        if action.name in group.opt_out_actions:
            detail = f"{group.name} opts out of {action.name}"
            return GuardVerdict(
                NAME, ProtectionScope.ALL, "its own opt-out", None, ReasonCode.OPTED_OUT, detail
            )
        passes = self._passing(group)
        if passes is not None:
            return passes
        scope, detail = _scope(group)
        return GuardVerdict(NAME, scope, source(group), None, ReasonCode.NON_PREEMPTIBLE, detail)

    def _passing(self, group: PodGroup) -> GuardVerdict | None:
        """What it says of a preemptible pod group; None: it is not."""
        if not group.is_preemptible:
            return None
        passes, priority = self._passes[group.preemptibility], group.priority
        says = passes.get(priority)
        if says is None:
            says = GuardVerdict(
                NAME, ProtectionScope.NOTHING, source(group), None, ReasonCode.NON_PREEMPTIBLE, ""
            )
            passes[priority] = says
        return says

    def guard_cache_key(self, preemptor: int) -> Hashable:
        """Whoever asks, the answer is the same."""
        return "anybody"

    def may_expire(self, victims: Sequence[int]) -> bool:
        """Time does not matter."""
        return False

    def protections(self, pod_groups: Sequence[int]) -> Iterable[Protection]:
        """For as long as they run."""
        found: list[Protection] = []
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if group.opt_out_actions or self._passing(group) is None:
                found.extend(self._protections(pod_group, group))
        return found

    def _protections(self, pod_group: int, group: PodGroup) -> Iterator[Protection]:
        out = tuple(action for action in self._action_names if action in group.opt_out_actions)
        if out:
            yield Protection(pod_group, NAME, out, None, "its own opt-out")
        scope, _ = _scope(group)
        others = tuple(action for action in self._action_names if action not in out)
        if scope and others:
            yield Protection(pod_group, NAME, others, None, source(group), scope=scope)


def source(group: PodGroup) -> str:
    """Who says how preemptible it is."""
    return "its own preemptibility" if group.preemptibility else f"its priority {group.priority}"


def _scope(group: PodGroup) -> tuple[ProtectionScope, str]:
    if group.is_preemptible:
        return ProtectionScope.NOTHING, ""
    if group.preemptibility is Mode.SEMI_PREEMPTIBLE:
        return ProtectionScope.CORE, f"the minimum of {group.name} is not preemptible"
    return ProtectionScope.ALL, f"{group.name} is not preemptible"
