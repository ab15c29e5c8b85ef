"""Cycle results for the small snapshot and their encoded responses."""

from dataclasses import replace

from tenure.codec.decode import decode_snapshot
from tenure.codec.encode import encode_response
from tenure.solver.model import decision as model
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse, ResponseHeader
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.small_snapshot import small_snapshot

NOW_S = 1_700_000_000
NOW = NOW_S * 10**9
RUNS, WAITS = 0, 1
LEFT, RIGHT, TOP = 0, 1, 2


def decision(**changes: object) -> model.CycleResult:
    """A cycle result with these fields. All other fields are empty."""
    return replace(model.CycleResult((), (), (), (), None, (), model.SearchCounters()), **changes)


def reclaim_group(**changes: object) -> model.DecisionGroup:
    """A decision group with these decisions, by default one of every kind except requeue."""
    steps = {
        "evictions": (model.Evict(0, 0, False),),
        "reservations": (model.Reserve(2, 0, ()),),
        "bindings": (model.Bind(3, 1, ("g",)),),
        "patches": (model.Patch(RUNS, model.PatchKind.LAST_EVICTION_TIME, NOW),),
    }
    return model.DecisionGroup("reclaim", WAITS, ReasonCode.RECLAIMED, **{**steps, **changes})


def encode(
    what: model.CycleResult, snapshot: ClusterSnapshot | None = None, **based_on: object
) -> DecideResponse:
    """Encode the response to a snapshot, by default the small one."""
    message = ResponseHeader(**{"cluster_id": "test", "version": 7, "profile_digest": "abc", **based_on})
    message.now.seconds = NOW_S
    return encode_response(decode_snapshot(snapshot or small_snapshot()), what, message).parse()


def encode_decisions(group: model.DecisionGroup) -> list[pb.Decision]:
    """Encode the decisions of a cycle result with one group."""
    (message,) = encode(decision(groups=(group,))).groups
    return list(message.decisions)
