"""Claims that allow one pod (`ReadWriteOncePod`): which of their pods comes first.

First are pods that use resources of a node, then the oldest waiting one of each scheduler. They are found
once for each claim whose pods changed, however many pods name it.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Final, NamedTuple

from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.rows.pods import ENDED, uses_resources
from tenure.kubernetes.volumes.matching import ClaimName


class _First(NamedTuple):
    """The pods of a claim that come first, by uid."""

    using: tuple[str, ...]
    """The first two that use resources."""
    waiting: Mapping[str, str]
    """The oldest one that waits, by name of its scheduler."""


_NOBODY: Final = _First((), {})


class SingleUsers:
    """Follows the pods of such claims. For one thread."""

    def __init__(
        self,
        users: Mapping[ClaimName, Set[str]],
        pods: Mapping[str, Pod],
        is_for_one: Callable[[ClaimName], bool],
    ) -> None:
        """`users` are uids by claim and `pods` pods by uid, which the caller updates."""
        self._users, self._pods, self._is_for_one = users, pods, is_for_one
        self._first: dict[ClaimName, _First] = {}
        self._changed: set[ClaimName] = set()

    def note(self, name: ClaimName) -> None:
        """Note that pods of a claim changed, came or went."""
        self._changed.add(name)

    def take_changes(self, claims: Iterable[ClaimName]) -> set[str]:
        """Look at the noted claims and at changed ones; return pods for which others come first now."""
        found: set[str] = set()
        for name in self._changed.union(claims):
            before = self._first.pop(name, _NOBODY)
            if self._is_for_one(name):
                now = self._first[name] = self._find(name)
                if now != before:
                    found |= self._users.get(name, frozenset())
        self._changed.clear()
        return found

    def other_user(self, pod: Pod, name: ClaimName) -> str:
        """Name of another pod that uses a claim, or is older and waits for it; "": there is none."""
        first, own = self._first.get(name, _NOBODY), pod.metadata.uid
        other = next((uid for uid in first.using if uid != own), "")
        oldest = first.waiting.get(pod.spec.scheduler_name, own)
        if not other and oldest != own and _age(self._pods[oldest]) < _age(pod):
            other = oldest
        return self._pods[other].metadata.name if other else ""

    def _find(self, name: ClaimName) -> _First:
        using: list[str] = []
        waiting: dict[str, str] = {}
        for uid in sorted(self._users.get(name, ())):
            pod = self._pods[uid]
            if uses_resources(pod):
                using.append(uid)
            elif _is_waiting(pod):
                before = waiting.setdefault(pod.spec.scheduler_name, uid)
                if _age(pod) < _age(self._pods[before]):
                    waiting[pod.spec.scheduler_name] = uid
        return _First(tuple(using[:2]), waiting)


def _is_waiting(pod: Pod) -> bool:
    waits = not pod.spec.node_name and pod.status.phase not in ENDED and not pod.spec.scheduling_gates
    return waits and pod.metadata.deletion_timestamp is None


def _age(pod: Pod) -> tuple[float, str]:
    created = pod.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0), pod.metadata.uid
