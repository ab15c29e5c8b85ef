"""Protections of running pod groups, for the response and for the time of the next cycle."""

from collections.abc import Set
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.verdict import Protection
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.resolution.slot_map import SlotChange


class _Protected:
    """Running pod groups with a guard's verdict, as of the last cycle."""

    def __init__(self) -> None:
        self.now: int | None = None
        """Time of that cycle; None: there was none."""
        self.pod_groups: Set[int] = frozenset()
        """The protected pod groups, and those that changed since."""

    @classmethod
    def of(cls, _: Cluster) -> "_Protected":
        """Before the first cycle."""
        return cls()

    def follow(self, _: Cluster, change: SlotChange) -> None:
        """Add the pod groups that changed."""
        self.pod_groups = self.pod_groups | change.pod_groups

    def copy(self) -> "_Protected":
        """Independent copy."""
        other = _Protected()
        other.now, other.pod_groups = self.now, self.pod_groups
        return other


_PROTECTED: Final = Derived(_Protected.of, _Protected.follow, _Protected.copy)


def collect_protections(session: Session) -> tuple[Protection, ...]:
    """Protections of every pod group that keeps running, by uid.

    A pod group that starts in this cycle is protected from its new start on, which the next response reports.
    Protections usually only end as time passes, so an unchanged pod group gets no new ones.
    """
    moved = session.moved_pod_groups()
    candidates = _protection_candidates(session, moved)
    ran = sorted(candidates if candidates is session.phases.running else session.phases.running & candidates)
    allocated = session.ledger.allocated
    running = [index for index in ran if allocated[index]]
    found = session.chains.protections(running)
    found.sort(key=_protected_pod_group)
    last = session.derived_data.get(_PROTECTED, session.cluster)
    last.now, last.pod_groups = session.cluster.now, moved.union([each.pod_group for each in found])
    if len(running) < len(ran):
        last.pod_groups = last.pod_groups.union([index for index in ran if not allocated[index]])
    return tuple(found)


def _protected_pod_group(protection: Protection) -> int:
    return protection.pod_group


def _protection_candidates(session: Session, moved: set[int]) -> Set[int]:
    last = session.derived_data.get(_PROTECTED, session.cluster)
    if last.now is None or last.now > session.cluster.now:
        return session.phases.running
    if not session.chains.protections_only_end:
        return session.phases.running
    return last.pod_groups | moved | session.groups_with_history
