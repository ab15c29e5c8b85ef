"""Requeues and nominations: what became of the pod groups that are expected to end."""

from dataclasses import replace

import pytest
from tenure.solver.model.decision import Requeue
from tenure.solver.model.reason import ReasonCode
from tenure.solver.model.requeue import Nomination, NominationResult, SkipReason
from tenure.v1 import decision_pb2 as pb

from tests.server.encoding import NOW, NOW_S, RUNS, WAITS, decision, encoded, reclaim, steps

LATER = NOW + 60 * 10**9
STEP = Requeue(RUNS, LATER, WAITS, ("expectedruntime", "other"))
ENDED = {NominationResult.NOT_DUE, NominationResult.SKIPPED}
"""Results of pod groups that nobody puts forward."""


def requeued() -> list[pb.Decision]:
    return steps(replace(reclaim(), action="requeue", reason=ReasonCode.REQUEUED, requeue=STEP))


def test_the_requeue_comes_after_the_evictions_and_before_the_holds() -> None:
    found = [step.WhichOneof("step") for step in requeued()]
    assert found == ["evict", "requeue", "hold", "bind", "patch"]


def test_a_requeue_says_who_for_whom_until_when_and_who_nominated_it() -> None:
    step = requeued()[1]
    assert step.requeue == pb.Requeue(
        pod_group="runs",
        not_before={"seconds": NOW_S + 60},
        contender="waits",
        nominated_by=["expectedruntime", "other"],
    )
    assert (step.reason.code, step.reason.source) == (pb.REASON_CODE_REQUEUED, "requeue")
    assert step.reason.message == (
        "Pod group runs (queue left) ran longer than expected and goes back to its queue "
        "for pod group waits (queue right)."
    )
    assert step.preconditions == pb.Preconditions(snapshot_version=7)


def test_ids_of_a_requeue_are_unique_and_repeatable() -> None:
    assert [step.id for step in requeued()] == [step.id for step in requeued()]
    assert len({step.id for step in requeued()}) == 5


def nominated(**said: object) -> pb.Nomination:
    what = Nomination(**{"pod_group": RUNS, "result": NominationResult.NO_CONTENDER, **said})
    (message,) = encoded(decision(nominations=(what,))).nominations
    return message


@pytest.mark.parametrize("result", NominationResult, ids=lambda result: result.name.lower())
def test_every_result_is_told_in_a_sentence_with_its_detail(result: NominationResult) -> None:
    found = nominated(result=result, detail="the detail")
    assert (found.pod_group, found.result) == ("runs", result)
    assert found.reason.message.startswith("Pod group runs (queue left) ")
    assert found.reason.message.endswith(": the detail.")
    assert nominated(result=result).reason.message == found.reason.message.replace(": the detail.", ".")


@pytest.mark.parametrize("reason", SkipReason, ids=lambda reason: reason.name.lower())
def test_every_reason_for_a_skip_is_told(reason: SkipReason) -> None:
    assert nominated(result=NominationResult.SKIPPED, skip_reason=reason).skip_reason == reason


def test_without_a_skip_there_is_no_reason_for_one() -> None:
    assert nominated().skip_reason == pb.NOMINATION_SKIP_REASON_UNSPECIFIED


@pytest.mark.parametrize("result", NominationResult, ids=lambda result: result.name.lower())
def test_only_who_is_put_forward_names_those_that_nominated_it(result: NominationResult) -> None:
    found = nominated(result=result, nominated_by=("expectedruntime", "other"))
    names, source = (
        ([], "expectedruntime, other") if result in ENDED else (["expectedruntime", "other"], "requeue")
    )
    assert (list(found.nominated_by), found.reason.source) == (names, source)


@pytest.mark.parametrize("code", [ReasonCode.REQUEUED, ReasonCode.MIN_RUNTIME, ReasonCode.NEAR_END])
def test_the_code_says_what_stood_in_the_way(code: ReasonCode) -> None:
    assert nominated(code=code).reason.code == code


def test_without_a_candidate_there_is_no_code() -> None:
    assert nominated(result=NominationResult.NOT_DUE).reason.code == pb.REASON_CODE_UNSPECIFIED


def test_what_is_known_is_told_and_what_is_not_is_unset() -> None:
    bare = nominated()
    assert not any(map(bare.HasField, ("overrun", "not_before")))
    assert not bare.reason.HasField("until")
    assert bare.contender == ""
    full = nominated(overrun=90 * 10**9 + 1, until=LATER, contender=WAITS, not_before=LATER + 1)
    assert (full.overrun.seconds, full.overrun.nanos) == (90, 1)
    assert full.reason.until.ToNanoseconds() == LATER
    assert (full.contender, full.not_before.ToNanoseconds()) == ("waits", LATER + 1)
