"""Immunity: from a limit on nobody takes any of a pod group. What guards of this kind have in common."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from tenure.solver.framework.session import Session
from tenure.solver.model.decision import Protection
from tenure.solver.model.guard import EVICTING_ACTIONS, GuardVerdict, Scope, guarded_actions
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.workload import PodGroup


class Immunity:
    """Answers for a guard with an argument for its limit and one, `actions`, for where it has a say."""

    def __init__(
        self,
        session: Session,
        arguments: Mapping[str, str],
        name: str,
        limit: str,
        code: ReasonCode,
        told: Callable[[PodGroup], str],
    ) -> None:
        """`limit` names the argument; `told` says how a pod group has reached it, empty if it has not."""
        self._groups = session.cluster.pod_groups
        self._actions = guarded_actions(arguments.get("actions", ",".join(EVICTING_ACTIONS)))
        self._name = name
        self._source = f"argument {limit}" if limit in arguments else f"default of {name}"
        self._code = code
        self._told = told

    def guard(self, action: str, preemptor: int, victim: int) -> GuardVerdict | None:
        """All of it, once it has reached the limit."""
        if action not in self._actions:
            return None
        detail = self._told(self._groups[victim])
        if not detail:
            return GuardVerdict(self._name, Scope.NOTHING, self._source)
        return GuardVerdict(self._name, Scope.ALL, self._source, None, self._code, detail)

    def guard_kind(self, preemptor: int) -> Hashable:
        """Whoever asks, the answer is the same."""
        return "anybody"

    def may_end(self, victims: Sequence[int]) -> bool:
        """What protects for as long as a pod group runs says no time."""
        return False

    def protections(self, pod_groups: Sequence[int]) -> Iterator[Protection]:
        """For as long as they run."""
        for pod_group in pod_groups:
            group = self._groups[pod_group]
            if group.may_yield and self._told(group):
                yield Protection(pod_group, self._name, self._actions, None, self._source)
