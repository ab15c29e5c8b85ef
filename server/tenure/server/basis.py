"""What every answer rests on: a snapshot by its header, and a profile by its digest."""

from collections.abc import Sequence

from tenure.server.codec.violations import FieldViolation, shown
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


def based_on(snapshot: ClusterSnapshot, digest: str) -> BasedOn:
    """What ids are made from and answers echo: the header of the snapshot, and the digest of the profile."""
    return BasedOn(
        cluster_id=snapshot.cluster_id,
        node_pool=snapshot.node_pool,
        version=snapshot.version,
        now=snapshot.now,
        profile_digest=digest,
    )
