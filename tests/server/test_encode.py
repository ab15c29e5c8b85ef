"""A decision becomes an answer: typed, explained, in one order, with ids that depend on the question only."""

import pytest
from tenure.server.codec.decode import decode_snapshot
from tenure.server.codec.encode import encode_decision
from tenure.solver.model import decision as model
from tenure.solver.model.reason import ReasonCode, Rejection
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import BasedOn, DecideResponse, ResourceShare

from tests.server.given import small_snapshot

NOW = 1_700_000_000 * 10**9
RUNS, WAITS = 0, 1
LEFT, RIGHT, TOP = 0, 1, 2


def decision(**changes: object) -> model.Decision:
    nothing = model.Decision((), (), (), (), None, (), model.Counters())
    return model.Decision(**{**{f: getattr(nothing, f) for f in nothing.__slots__}, **changes})


def reclaim(**changes: object) -> model.DecisionGroup:
    steps = {
        "evictions": (model.Evict(0, 0, False),),
        "holds": (model.Hold(2, 0, ()),),
        "bindings": (model.Bind(3, 1, ("g",)),),
        "patches": (model.Patch(RUNS, model.PatchKind.LAST_EVICTION_TIME),),
    }
    return model.DecisionGroup("reclaim", WAITS, ReasonCode.RECLAIMED, **{**steps, **changes})


def encoded(what: model.Decision, **based_on: object) -> DecideResponse:
    basis = {"cluster_id": "test", "version": 7, "profile_digest": "abc", **based_on}
    message = BasedOn(**basis)
    message.now.seconds = 1_700_000_000
    return encode_decision(decode_snapshot(small_snapshot()), what, message)


def steps(group: model.DecisionGroup) -> list[pb.Decision]:
    (message,) = encoded(decision(groups=(group,))).groups
    return list(message.decisions)


def test_group_lists_evictions_holds_bindings_patches() -> None:
    assert [step.WhichOneof("step") for step in steps(reclaim())] == ["evict", "hold", "bind", "patch"]
    (group,) = encoded(decision(groups=(reclaim(),))).groups
    assert (group.action, group.beneficiary) == ("reclaim", "waits")


def test_steps_say_what_to_do() -> None:
    evict, hold, bind, patch = steps(reclaim())
    assert evict.evict == pb.Evict(pod="runs-0", node="n1", beneficiary="waits")
    assert hold.hold == pb.Hold(pod="waits-0", node="n1")
    assert bind.bind == pb.Bind(pod="waits-1", node="n2", gpu_groups=["g"])
    assert patch.patch.pod_group == "runs"
    assert patch.patch.last_eviction_time.seconds == 1_700_000_000


def test_steps_say_why() -> None:
    assert [(pb.ReasonCode.Name(step.reason.code), step.reason.message) for step in steps(reclaim())] == [
        (
            "REASON_CODE_RECLAIMED",
            "Pod runs-0 of pod group runs (queue left) yields to pod group waits (queue right), "
            "whose queue is below its fair share.",
        ),
        (
            "REASON_CODE_VICTIMS_EVICTED",
            "Pod waits-0 of pod group waits (queue right) takes room on node n1 when the evicted pods "
            "are gone.",
        ),
        (
            "REASON_CODE_ALLOCATED",
            "Pod waits-1 of pod group waits (queue right) starts on node n2, where there is room.",
        ),
        ("REASON_CODE_STATE_CHANGED", "Pod group runs (queue left) has pods evicted now."),
    ]
    assert {step.reason.source for step in steps(reclaim())} == {"reclaim"}


def test_steps_say_what_must_still_be_true() -> None:
    assert [(s.preconditions.pod_uid, s.preconditions.node) for s in steps(reclaim())] == [
        ("runs-0", "n1"),
        ("waits-0", ""),
        ("waits-1", ""),
        ("", ""),
    ]
    assert {step.preconditions.snapshot_version for step in steps(reclaim())} == {7}


def test_hold_without_evictions_waits_for_release() -> None:
    (hold,) = steps(reclaim(evictions=(), bindings=(), patches=()))
    assert hold.reason.code == pb.REASON_CODE_PIPELINED
    assert "when pods that are already terminating are gone" in hold.reason.message


def test_moved_pod_is_said_to_move() -> None:
    evict, *_ = steps(reclaim(evictions=(model.Evict(0, 0, True),)))
    assert evict.evict.moves
    assert evict.reason.message.endswith("; it moves to another node.")


@pytest.mark.parametrize("kind", model.PatchKind)
def test_every_patch_fills_its_field(kind: model.PatchKind) -> None:
    (patch,) = steps(reclaim(evictions=(), holds=(), bindings=(), patches=(model.Patch(WAITS, kind),)))
    assert patch.patch.WhichOneof("change") == kind.name.lower()
    assert pb.Patch.DESCRIPTOR.fields_by_name[kind.name.lower()].number == kind


@pytest.mark.parametrize(
    "code", [ReasonCode.RECLAIMED, ReasonCode.PREEMPTED, ReasonCode.CONSOLIDATED, ReasonCode.STALE_GANG]
)
def test_every_kind_of_eviction_has_its_sentence(code: ReasonCode) -> None:
    group = model.DecisionGroup("x", WAITS, code, (model.Evict(0, 0, False),), (), (), ())
    (evict,) = steps(group)
    assert evict.reason.code == code
    assert evict.reason.message.startswith("Pod runs-0 of pod group runs (queue left) ")


@pytest.mark.parametrize("kind", model.OutcomeKind)
def test_every_outcome_is_told_with_its_detail(kind: model.OutcomeKind) -> None:
    reason = Rejection(ReasonCode.OVER_LIMIT, "queue top would exceed its GPU limit", NOW + 1, "proportion")
    (outcome,) = encoded(decision(outcomes=(model.Outcome(WAITS, kind, reason, 1, 2, 3),))).outcomes
    assert (outcome.pod_group, outcome.kind) == ("waits", kind)
    assert (outcome.bound, outcome.held, outcome.pending) == (1, 2, 3)
    assert outcome.reason.message.startswith("Pod group waits (queue right) ")
    assert outcome.reason.message.endswith(": queue top would exceed its GPU limit.")
    assert (outcome.reason.source, outcome.reason.until.nanos) == ("proportion", 1)


def test_lists_are_in_one_order() -> None:
    nothing = Rejection(ReasonCode.NO_ROOM, "")
    share = (0, 0, 0)
    answer = encoded(
        decision(
            outcomes=tuple(
                model.Outcome(g, model.OutcomeKind.BOUND, nothing, 0, 0, 0) for g in (WAITS, RUNS)
            ),
            protections=(
                model.Protection(WAITS, "g", "reclaim", None, "s"),
                model.Protection(RUNS, "g", "reclaim", NOW, "s", "b"),
                model.Protection(RUNS, "g", "reclaim", None, "s", "a"),
                model.Protection(RUNS, "g", "preempt", None, "s"),
            ),
            queues=tuple(model.QueueStatus(q, share, share, share) for q in (TOP, LEFT, RIGHT)),
        )
    )
    assert [outcome.pod_group for outcome in answer.outcomes] == ["runs", "waits"]
    assert [(p.pod_group, p.action, p.against) for p in answer.protections] == [
        ("runs", "preempt", ""),
        ("runs", "reclaim", "a"),
        ("runs", "reclaim", "b"),
        ("waits", "reclaim", ""),
    ]
    assert [queue.name for queue in answer.queues] == ["left", "right", "top"]


def test_unlimited_protection_and_no_wake_are_unset() -> None:
    answer = encoded(decision(protections=(model.Protection(RUNS, "g", "reclaim", None, "s"),)))
    assert not answer.protections[0].HasField("until")
    assert not answer.HasField("next_wake_time")
    assert encoded(decision(next_wake=NOW)).next_wake_time.seconds == 1_700_000_000


def test_counters_and_shares_are_copied() -> None:
    counters = {"emitted": 1, "simulated": 2, "duplicate": 3, "victims_popped": 4, "placements": 5}
    status = model.QueueStatus(TOP, (1, 2, 3), (4, 5, 6), (7, 8, 9))
    answer = encoded(decision(counters=model.Counters(**counters), queues=(status,)))
    assert {field.name: value for field, value in answer.counters.ListFields()} == counters
    assert answer.queues[0].fair_share == ResourceShare(cpu_milli=1, memory_bytes=2, gpu_milli=3)
    assert answer.queues[0].allocated_before == ResourceShare(cpu_milli=4, memory_bytes=5, gpu_milli=6)
    assert answer.queues[0].allocated_after == ResourceShare(cpu_milli=7, memory_bytes=8, gpu_milli=9)


def ids(answer: DecideResponse) -> list[str]:
    return [group.id for group in answer.groups] + [s.id for group in answer.groups for s in group.decisions]


def test_ids_are_unique_and_repeatable() -> None:
    what = decision(groups=(reclaim(), reclaim()))
    assert ids(encoded(what)) == ids(encoded(what))
    assert len(set(ids(encoded(what)))) == 2 + 8


@pytest.mark.parametrize(
    "changed", [{"cluster_id": "b"}, {"node_pool": "b"}, {"version": 8}, {"profile_digest": "b"}]
)
def test_ids_depend_on_what_the_answer_is_based_on(changed: dict[str, object]) -> None:
    what = decision(groups=(reclaim(),))
    assert not set(ids(encoded(what))) & set(ids(encoded(what, **changed)))
