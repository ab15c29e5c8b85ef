"""The engine: a question to an answer, as messages. Pure: no clock, no transport, no state."""

from collections.abc import Sequence
from dataclasses import replace

from tenure.server.codec.decode import decode_snapshot
from tenure.server.codec.encode import encode_decision
from tenure.server.codec.violations import FieldViolation, InvalidSnapshot, shown
from tenure.server.digest import profile_digest
from tenure.solver.cycle import decide
from tenure.solver.framework.profile import Profile
from tenure.solver.model.cluster import Cluster
from tenure.solver.registry import ACTION_NAMES
from tenure.v1.decision_service_pb2 import BasedOn, DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot


class Engine:
    """Decides with one profile. May be used by several threads at a time."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def decide(self, request: DecideRequest) -> DecideResponse:
        """The answer to a request; equal requests give equal bytes.

        Raises InvalidSnapshot with every violating field: paths are those within the snapshot, but for
        "snapshot" itself and "actions[i]".
        """
        cluster = _checked_cluster(request)
        actions = tuple(request.actions) or self._profile.actions
        profile = replace(self._profile, actions=actions)
        based_on = _based_on(request.snapshot, profile)
        return encode_decision(cluster, decide(cluster, profile), based_on)


def _checked_cluster(request: DecideRequest) -> Cluster:
    violations = list(_unknown_actions(request.actions))
    if not request.HasField("snapshot"):
        raise InvalidSnapshot([FieldViolation("snapshot", "is required"), *violations])
    try:
        cluster = decode_snapshot(request.snapshot)
    except InvalidSnapshot as invalid:
        raise InvalidSnapshot([*invalid.violations, *violations]) from None
    if violations:
        raise InvalidSnapshot(violations)
    return cluster


def _unknown_actions(actions: Sequence[str]) -> list[FieldViolation]:
    return [
        FieldViolation(f"actions[{i}]", f"unknown action {shown(name)}; known: {', '.join(ACTION_NAMES)}")
        for i, name in enumerate(actions)
        if name not in ACTION_NAMES
    ]


def _based_on(snapshot: ClusterSnapshot, profile: Profile) -> BasedOn:
    return BasedOn(
        cluster_id=snapshot.cluster_id,
        node_pool=snapshot.node_pool,
        version=snapshot.version,
        now=snapshot.now,
        profile_digest=profile_digest(profile),
    )
