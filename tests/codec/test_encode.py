"""A cycle result is encoded with reasons, in a fixed order, with ids that depend on the request only."""

import pytest
from tenure.solver.model import decision as model
from tenure.solver.model.rejection import Rejection
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse, ResourceShare

from tests.codec.encoded_decisions import (
    LEFT,
    NOW,
    RIGHT,
    RUNS,
    TOP,
    WAITS,
    decision,
    encode,
    encode_decisions,
    reclaim_group,
)


def test_group_lists_evictions_reservations_bindings_and_patches_in_order() -> None:
    assert [step.WhichOneof("kind") for step in encode_decisions(reclaim_group())] == [
        "evict",
        "reserve",
        "bind",
        "patch",
    ]
    (group,) = encode(decision(groups=(reclaim_group(),))).groups
    assert (group.action, group.beneficiary) == ("reclaim", "waits")


def test_decisions_contain_their_action() -> None:
    evict, hold, bind, patch = encode_decisions(reclaim_group())
    assert evict.evict == pb.Evict(pod="runs-0", node="n1", preemptor="waits", pod_group="runs")
    assert hold.reserve == pb.Reserve(pod="waits-0", node="n1", pod_group="waits")
    assert bind.bind == pb.Bind(pod="waits-1", node="n2", gpu_groups=["g"])
    assert patch.patch.pod_group == "runs"
    assert patch.patch.last_eviction_time.seconds == 1_700_000_000


def test_decisions_contain_their_reason() -> None:
    assert [
        (pb.ReasonCode.Name(step.reason.code), step.reason.message)
        for step in encode_decisions(reclaim_group())
    ] == [
        (
            "REASON_CODE_RECLAIMED",
            "Pod runs-0 of pod group runs (queue left) is evicted for pod group waits (queue right), "
            "whose queue is below its fair share.",
        ),
        (
            "REASON_CODE_VICTIMS_EVICTED",
            "Pod waits-0 of pod group waits (queue right) is assigned to node n1 when the evicted pods "
            "have terminated.",
        ),
        (
            "REASON_CODE_ALLOCATED",
            "Pod waits-1 of pod group waits (queue right) is bound to node n2.",
        ),
        ("REASON_CODE_FIELD_UPDATED", "Pod group runs (queue left) was evicted."),
    ]
    assert {step.reason.source for step in encode_decisions(reclaim_group())} == {"reclaim"}


def test_decisions_contain_their_preconditions() -> None:
    assert [(s.preconditions.pod_uid, s.preconditions.node) for s in encode_decisions(reclaim_group())] == [
        ("runs-0", "n1"),
        ("waits-0", ""),
        ("waits-1", ""),
        ("", ""),
    ]
    assert {step.preconditions.snapshot_version for step in encode_decisions(reclaim_group())} == {7}


def test_reservation_without_evictions_is_pipelined() -> None:
    (hold,) = encode_decisions(reclaim_group(evictions=(), bindings=(), patches=()))
    assert hold.reason.code == pb.REASON_CODE_PIPELINED
    assert "when terminating pods have released their resources" in hold.reason.message


def test_eviction_of_a_relocated_pod_is_marked() -> None:
    evict, *_ = encode_decisions(reclaim_group(evictions=(model.Evict(0, 0, True),)))
    assert evict.evict.relocating
    assert evict.reason.message.endswith("; it restarts on another node.")


@pytest.mark.parametrize(
    "code",
    [
        ReasonCode.RECLAIMED,
        ReasonCode.PREEMPTED,
        ReasonCode.CONSOLIDATED,
        ReasonCode.REQUEUED,
        ReasonCode.STALE_GANG,
    ],
)
def test_every_reason_of_an_eviction_has_a_message(code: ReasonCode) -> None:
    group = model.DecisionGroup("x", WAITS, code, (model.Evict(0, 0, False),), (), (), ())
    (evict,) = encode_decisions(group)
    assert evict.reason.code == code
    assert evict.reason.message.startswith("Pod runs-0 of pod group runs (queue left) ")


@pytest.mark.parametrize("kind", model.OutcomeKind)
def test_every_outcome_is_encoded_with_its_detail(kind: model.OutcomeKind) -> None:
    reason = Rejection(ReasonCode.OVER_LIMIT, "queue top would exceed its GPU limit", NOW + 1, "proportion")
    (outcome,) = encode(decision(outcomes=(model.PodGroupOutcome(WAITS, kind, reason, 1, 2, 3),))).outcomes
    assert (outcome.pod_group, outcome.kind) == ("waits", kind)
    assert (outcome.bound, outcome.reserved, outcome.pending) == (1, 2, 3)
    assert outcome.reason.message.startswith("Pod group waits (queue right) ")
    assert outcome.reason.message.endswith(": queue top would exceed its GPU limit.")
    assert outcome.reason.detail == "queue top would exceed its GPU limit"
    assert (outcome.reason.source, outcome.reason.until.nanos) == ("proportion", 1)


def test_lists_have_a_fixed_order() -> None:
    nothing = Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "")
    share = (0, 0, 0)
    answer = encode(
        decision(
            outcomes=tuple(
                model.PodGroupOutcome(g, model.OutcomeKind.BOUND, nothing, 0, 0, 0) for g in (WAITS, RUNS)
            ),
            protections=(
                model.Protection(WAITS, "g", ("reclaim",), None, "s"),
                model.Protection(RUNS, "g", ("reclaim",), NOW, "s", "b"),
                model.Protection(RUNS, "g", ("reclaim",), None, "s", "a"),
                model.Protection(RUNS, "g", ("preempt", "reclaim"), None, "s"),
                model.Protection(RUNS, "f", ("reclaim",), None, "s"),
            ),
            queues=tuple(model.QueueStatus(q, share, share, share, share) for q in (TOP, LEFT, RIGHT)),
        )
    )
    assert [outcome.pod_group for outcome in answer.outcomes] == ["runs", "waits"]
    assert [(p.pod_group, p.guard, list(p.actions), p.against) for p in answer.protections] == [
        ("runs", "f", ["reclaim"], ""),
        ("runs", "g", ["preempt", "reclaim"], ""),
        ("runs", "g", ["reclaim"], "a"),
        ("runs", "g", ["reclaim"], "b"),
        ("waits", "g", ["reclaim"], ""),
    ]
    assert [queue.name for queue in answer.queues] == ["left", "right", "top"]


def test_next_wake_time_is_unset_unless_time_can_change_the_response() -> None:
    assert not encode(decision()).HasField("next_wake_time")
    assert encode(decision(next_wake_time=NOW)).next_wake_time.ToNanoseconds() == NOW


def test_counters_and_shares_are_copied() -> None:
    counters = {
        "generated": 1,
        "simulated": 2,
        "duplicate": 3,
        "victims_considered": 4,
        "placement_attempts": 5,
    }
    status = model.QueueStatus(TOP, (1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12))
    answer = encode(decision(counters=model.SearchCounters(**counters), queues=(status,)))
    assert {field.name: value for field, value in answer.counters.ListFields()} == counters
    assert answer.queues[0].fair_share == ResourceShare(cpu_milli=1, memory_bytes=2, gpu_milli=3)
    assert answer.queues[0].allocated_before == ResourceShare(cpu_milli=4, memory_bytes=5, gpu_milli=6)
    assert answer.queues[0].allocated_after == ResourceShare(cpu_milli=7, memory_bytes=8, gpu_milli=9)
    assert answer.queues[0].requested == ResourceShare(cpu_milli=10, memory_bytes=11, gpu_milli=12)


def ids(answer: DecideResponse) -> list[str]:
    return [group.id for group in answer.groups] + [s.id for group in answer.groups for s in group.decisions]


def test_ids_are_unique_and_reproducible() -> None:
    what = decision(groups=(reclaim_group(), reclaim_group()))
    assert ids(encode(what)) == ids(encode(what))
    assert len(set(ids(encode(what)))) == 2 + 8


@pytest.mark.parametrize(
    "changed", [{"cluster_id": "b"}, {"node_pool": "b"}, {"version": 8}, {"profile_digest": "b"}]
)
def test_ids_depend_on_state_and_profile(changed: dict[str, object]) -> None:
    what = decision(groups=(reclaim_group(),))
    assert not set(ids(encode(what))) & set(ids(encode(what, **changed)))
