"""Encoding of requeues and nominations: results of pod groups with an expected runtime."""

from dataclasses import replace

import pytest
from tenure.solver.model.decision import Requeue
from tenure.solver.model.requeue import Nomination, NominationResult, NominationSkipReason
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decision_pb2 as pb

from tests.codec.encoded_decisions import (
    NOW,
    NOW_S,
    RUNS,
    WAITS,
    decision,
    encode,
    encode_decisions,
    reclaim_group,
)

LATER = NOW + 60 * 10**9
STEP = Requeue(RUNS, LATER, WAITS, ("expectedruntime", "other"))
ENDED = {NominationResult.NOT_DUE, NominationResult.SKIPPED}
"""Nomination results of pod groups that are not nominated."""


def encode_requeue() -> list[pb.Decision]:
    return encode_decisions(
        replace(reclaim_group(), action="requeue", reason=ReasonCode.REQUEUED, requeues=(STEP,))
    )


def test_requeue_is_after_the_evictions_and_before_the_reservations() -> None:
    found = [step.WhichOneof("kind") for step in encode_requeue()]
    assert found == ["evict", "requeue", "reserve", "bind", "patch"]


def test_requeue_contains_pod_group_contender_end_and_nominators() -> None:
    step = encode_requeue()[1]
    assert step.requeue == pb.Requeue(
        pod_group="runs",
        not_before={"seconds": NOW_S + 60},
        contender="waits",
        nominated_by=["expectedruntime", "other"],
    )
    assert (step.reason.code, step.reason.source) == (pb.REASON_CODE_REQUEUED, "requeue")
    assert step.reason.message == (
        "Pod group runs (queue left) exceeded its expected runtime and is requeued "
        "for pod group waits (queue right)."
    )
    assert step.preconditions == pb.Preconditions(snapshot_version=7)


def test_ids_of_a_requeue_are_unique_and_reproducible() -> None:
    assert [step.id for step in encode_requeue()] == [step.id for step in encode_requeue()]
    assert len({step.id for step in encode_requeue()}) == 5


def encode_nominations(**fields: object) -> pb.Nomination:
    nomination = Nomination(**{"pod_group": RUNS, "result": NominationResult.NO_CONTENDER, **fields})
    (message,) = encode(decision(nominations=(nomination,))).nominations
    return message


@pytest.mark.parametrize("result", NominationResult, ids=lambda result: result.name.lower())
def test_every_result_has_a_message_with_its_detail(result: NominationResult) -> None:
    found = encode_nominations(result=result, detail="the detail")
    assert (found.pod_group, found.result) == ("runs", result)
    assert found.reason.message.startswith("Pod group runs (queue left) ")
    assert found.reason.message.endswith(": the detail.")
    assert found.reason.detail == "the detail"
    assert encode_nominations(result=result).reason.message == found.reason.message.replace(
        ": the detail.", "."
    )


@pytest.mark.parametrize("reason", NominationSkipReason, ids=lambda reason: reason.name.lower())
def test_every_skip_reason_is_encoded(reason: NominationSkipReason) -> None:
    assert encode_nominations(result=NominationResult.SKIPPED, skip_reason=reason).skip_reason == reason


def test_skip_reason_is_unset_without_a_skip() -> None:
    assert encode_nominations().skip_reason == pb.NOMINATION_SKIP_REASON_UNSPECIFIED


@pytest.mark.parametrize("result", NominationResult, ids=lambda result: result.name.lower())
def test_only_nominated_pod_groups_have_nominators(result: NominationResult) -> None:
    found = encode_nominations(result=result, nominated_by=("expectedruntime", "other"))
    names, source = (
        ([], "expectedruntime, other") if result in ENDED else (["expectedruntime", "other"], "requeue")
    )
    assert (list(found.nominated_by), found.reason.source) == (names, source)


@pytest.mark.parametrize("code", [ReasonCode.REQUEUED, ReasonCode.MIN_RUNTIME, ReasonCode.NEAR_COMPLETION])
def test_reason_code_is_that_of_the_rejection(code: ReasonCode) -> None:
    assert encode_nominations(code=code).reason.code == code


def test_reason_code_is_unset_without_a_contender() -> None:
    assert encode_nominations(result=NominationResult.NOT_DUE).reason.code == pb.REASON_CODE_UNSPECIFIED


def test_known_fields_are_encoded_and_unknown_ones_unset() -> None:
    bare = encode_nominations()
    assert not any(map(bare.HasField, ("overrun", "not_before")))
    assert not bare.reason.HasField("until")
    assert bare.contender == ""
    full = encode_nominations(overrun=90 * 10**9 + 1, until=LATER, contender=WAITS, not_before=LATER + 1)
    assert (full.overrun.seconds, full.overrun.nanos) == (90, 1)
    assert full.reason.until.ToNanoseconds() == LATER
    assert (full.contender, full.not_before.ToNanoseconds()) == ("waits", LATER + 1)
