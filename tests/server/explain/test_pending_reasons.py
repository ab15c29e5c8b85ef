"""Why a pod group waits: every reason code has its sentence, and remedies that really help."""

from dataclasses import replace

import pytest
from tenure.server.explain.pending import why_pending
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.model.reason import DOMINANCE, ReasonCode
from tenure.solver.testing import ClusterBuilder
from tenure.v1.explain_pb2 import RemedyKind

from tests.server.explain.waiting import CASES, DEFAULT, Case, alone, index

ROOM = (ReasonCode.ALLOCATED, ReasonCode.PIPELINED, ReasonCode.VICTIMS_EVICTED)


def test_every_reason_that_a_waiting_pod_group_can_have_is_in_the_table() -> None:
    assert set(CASES) == {code.name for code in (*DOMINANCE, *ROOM)}


@pytest.mark.parametrize("code", CASES)
def test_the_reason_is_told_to_everybody_with_what_would_help(code: str) -> None:
    case = CASES[code]
    cluster = case.cluster()
    answer = why_pending(Inquiry.of(cluster, case.profile), index(cluster))
    assert answer.facts[0].code.name == code
    assert case.public in answer.text.public
    kinds = tuple(RemedyKind.Name(each.kind).removeprefix("REMEDY_KIND_") for each in answer.remedies)
    assert kinds == case.remedies


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if "WAIT" in case.remedies])
def test_waiting_until_the_time_of_the_answer_helps_and_a_second_less_does_not(code: str) -> None:
    case = CASES[code]
    cluster = case.cluster()
    answer = why_pending(Inquiry.of(cluster, case.profile), index(cluster))
    assert answer.until is not None
    for at, waits in ((answer.until - 10**9, True), (answer.until, False)):
        later = Inquiry.of(replace(cluster, now=at), case.profile).outcome(index(cluster))
        assert later is not None
        assert (later.held == 0) == waits


def test_a_blocked_pod_is_explained_in_the_words_of_the_caller_to_its_owner_only() -> None:
    cluster = CASES["BLOCKED"].cluster()
    text = why_pending(Inquiry.of(cluster, DEFAULT), index(cluster)).text
    assert "a volume" not in text.public
    assert "pod job-0 cannot be placed: a volume" in text.tenant


def test_operators_read_whom_it_may_ask_by_every_action_and_why_in_vain() -> None:
    cluster = CASES["MIN_RUNTIME"].cluster()
    answer = why_pending(Inquiry.of(cluster, DEFAULT), index(cluster))
    assert "By preempt it may ask 1 pod group: 1 within the minimum runtime." in answer.text.operator
    assert "By preempt" not in answer.text.tenant
    assert [(each.guard, each.source) for each in answer.protections] == [("minruntime", "queue q")]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            Case(lambda: alone().running("job", queue="q", gpus=1, node="n1").build(), ""),
            "does not wait: 1 pod of it run",
        ),
        (Case(lambda: alone().pod_group("job", queue="q").build(), ""), "does not wait: 0 pods of it run"),
    ],
)
def test_who_does_not_wait_is_told_so(case: Case, said: str) -> None:
    cluster = case.cluster()
    answer = why_pending(Inquiry.of(cluster, DEFAULT), index(cluster))
    assert said in answer.text.public
    assert not answer.facts
    assert not answer.remedies


def test_when_nothing_helps_that_is_said() -> None:
    cluster = CASES["NO_NODE_MATCHES"].cluster()
    answer = why_pending(Inquiry.of(cluster, DEFAULT), index(cluster))
    assert answer.text.public.endswith("None of the changes that were tried would help.")


def test_remedies_name_the_queue_that_objects_to_those_who_may_know_it() -> None:
    cluster = (
        ClusterBuilder()
        .node("n1", gpus=8)
        .queue("top", limit=1)
        .queue("q", parent="top", limit=4)
        .pending("job", queue="q", gpus=2)
        .build()
    )
    (remedy,) = why_pending(Inquiry.of(cluster, DEFAULT), index(cluster)).remedies
    assert remedy.explanation.public == "raise the GPU limit of a queue above its own; then it starts."
    assert remedy.explanation.tenant == "raise the GPU limit of queue top from 1 to 2 GPUs; then it starts."
