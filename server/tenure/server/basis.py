"""What every answer rests on: a snapshot by its header, and a profile that may run other actions."""

from collections.abc import Sequence

from tenure.server.codec.violations import FieldViolation, shown
from tenure.server.digest import profile_digest
from tenure.solver.framework.profile import Profile
from tenure.solver.registry import ACTION_NAMES
from tenure.v1.decision_service_pb2 import BasedOn
from tenure.v1.snapshot_pb2 import ClusterSnapshot


def unknown_actions(actions: Sequence[str]) -> list[FieldViolation]:
    """One violation for every action that nobody knows; paths are `actions[i]`."""
    return [
        FieldViolation(f"actions[{i}]", f"unknown action {shown(name)}; known: {', '.join(ACTION_NAMES)}")
        for i, name in enumerate(actions)
        if name not in ACTION_NAMES
    ]


def based_on(snapshot: ClusterSnapshot, profile: Profile) -> BasedOn:
    """What ids are made from and answers echo; the lists of the snapshot are of no account."""
    return BasedOn(
        cluster_id=snapshot.cluster_id,
        node_pool=snapshot.node_pool,
        version=snapshot.version,
        now=snapshot.now,
        profile_digest=profile_digest(profile),
    )
