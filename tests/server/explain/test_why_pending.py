"""Why a pod group is pending: every reason code has its text, and every remedy is verified."""

from dataclasses import replace

import pytest
from tenure.server.explain.why_pending import why_pending
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import LEAST_DOMINANT, REASONS, ReasonCode
from tenure.v1.explain_pb2 import RemedyKind

from tests.server.explain.pending_cases import CASES, DEFAULT, PendingCase, index, single_queue

FREE_CAPACITY = (ReasonCode.ALLOCATED, ReasonCode.PIPELINED, ReasonCode.VICTIMS_EVICTED)

ELSEWHERE = (ReasonCode.PROTECTED, ReasonCode.RESERVED, ReasonCode.TOPOLOGY)
"""In tests/examples/test_guard.py and tests/server/service/test_told_capacity.py."""
STOPPED = (ReasonCode.SIMILAR_FAILED, ReasonCode.NO_SOLUTION, ReasonCode.INSUFFICIENT_RESOURCES)
"""Of searches; at the end of a cycle that was not stopped, other reasons replace them (R13.40)."""


def test_table_contains_every_pending_reason() -> None:
    dominant = [row.code for row in REASONS.values() if row.dominance < LEAST_DOMINANT]
    elsewhere = {*ELSEWHERE, *STOPPED}
    assert set(CASES) == {code.name for code in (*dominant, *FREE_CAPACITY) if code not in elsewhere}


@pytest.mark.parametrize("code", CASES)
def test_reason_and_remedies_are_reported_to_every_audience(code: str) -> None:
    case = CASES[code]
    cluster = case.cluster()
    answer = why_pending(CycleReplay(cluster, case.profile), index(cluster))
    assert answer.reasons[0].code.name == code
    assert case.public in answer.text.public
    kinds = tuple(RemedyKind.Name(each.kind).removeprefix("REMEDY_KIND_") for each in answer.remedies)
    assert kinds == case.remedies


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if "WAIT" in case.remedies])
def test_pod_group_starts_at_the_reported_time_and_not_a_second_earlier(code: str) -> None:
    case = CASES[code]
    cluster = case.cluster()
    answer = why_pending(CycleReplay(cluster, case.profile), index(cluster))
    assert answer.until is not None
    for at, waits in ((answer.until - 10**9, True), (answer.until, False)):
        later = CycleReplay(replace(cluster, now=at), case.profile).outcome(index(cluster))
        assert later is not None
        assert (later.reserved + later.bound == 0) == waits


def test_blocked_reason_is_shown_to_the_tenant_and_not_to_the_public() -> None:
    cluster = CASES["BLOCKED"].cluster()
    text = why_pending(CycleReplay(cluster, DEFAULT), index(cluster)).text
    assert "a volume" not in text.public
    assert "pod job-0 cannot be placed: a volume" in text.tenant


def test_operators_see_the_candidates_of_every_action_and_why_none_is_evictable() -> None:
    cluster = CASES["MIN_RUNTIME"].cluster()
    answer = why_pending(CycleReplay(cluster, DEFAULT), index(cluster))
    assert (
        "preempt: 1 candidate, none evictable (1 has not reached its minimum runtime)."
        in answer.text.operator
    )
    assert "preempt:" not in answer.text.tenant
    assert [(each.guard, each.source) for each in answer.protections] == [("minruntime", "queue q")]


@pytest.mark.parametrize(
    ("case", "explanation"),
    [
        (
            PendingCase(lambda: single_queue().running("job", queue="q", gpus=1, node="n1").build(), ""),
            "is not pending: 1 pod running",
        ),
        (
            PendingCase(lambda: single_queue().pod_group("job", queue="q").build(), ""),
            "is not pending: 0 pods running",
        ),
    ],
)
def test_pod_group_that_is_not_pending_is_reported_as_such(case: PendingCase, explanation: str) -> None:
    cluster = case.cluster()
    answer = why_pending(CycleReplay(cluster, DEFAULT), index(cluster))
    assert explanation in answer.text.public
    assert not answer.reasons
    assert not answer.remedies


def test_reports_when_no_remedy_works() -> None:
    cluster = CASES["NO_NODE_MATCHES"].cluster()
    answer = why_pending(CycleReplay(cluster, DEFAULT), index(cluster))
    assert answer.text.public.endswith(
        "None of the tested changes would let it start now. Usual remedy: reduce the requests of its pods, "
        "relax their constraints, or add a matching node."
    )


def test_remedies_name_the_limiting_queue_to_permitted_audiences() -> None:
    cluster = (
        ClusterBuilder()
        .node("n1", gpus=8)
        .queue("top", limit=1)
        .queue("q", parent="top", limit=4)
        .pending("job", queue="q", gpus=2)
        .build()
    )
    (remedy,) = why_pending(CycleReplay(cluster, DEFAULT), index(cluster)).remedies
    assert remedy.explanation.public == "raise the GPU limit of an ancestor of its queue; it starts."
    assert remedy.explanation.tenant == "raise the GPU limit of queue top from 1 to 2 GPUs; it starts."
