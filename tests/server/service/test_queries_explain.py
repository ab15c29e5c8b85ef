"""Explain over a real connection: responses, errors, and no side effects."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tenure.client import Client, DeadlineExceeded, InvalidSnapshot
from tenure.client.snapshot_file import read_snapshot
from tenure.server.explain import Explainer
from tenure.solver.diagnosis.remedies import RemedyKind
from tenure.solver.registry import default_profile
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decision_pb2 import ReasonCode
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.server.servers import run_server
from tests.server.telemetry.captured_telemetry import count_metrics, log_lines

SAMPLE = Path(__file__).parents[3] / "server/tenure/cli/samples/two-departments.yaml"
PROFILE = default_profile()
QUESTIONS: dict[str, dict[str, dict[str, object]]] = {
    "why pending": {"why_pending": {"pod_group": "nightly-eval"}},
    "why this victim": {"why_victim": {"pod_group": "sweep"}},
    "why not that one": {"why_not_victim": {"pod_group": "finetune", "preemptor": "distill"}},
    "protected until": {"protected_until": {"pod_group": "finetune"}},
    "victim ranks": {"victim_ranks": {"queue": "research"}},
    "when it starts": {"when_starts": {"pod_groups": ["nightly-eval"]}},
    "when all start": {"when_starts": {}},
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def sample() -> ClusterSnapshot:
    return read_snapshot(str(SAMPLE))


def explain(**question: object) -> pb.ExplainResponse:
    return Explainer(PROFILE).explain(pb.ExplainRequest(snapshot=sample(), **question))


@pytest.mark.parametrize("name", QUESTIONS)
def test_response_equals_the_explainer_for_inline_and_pushed_state(client: Client, name: str) -> None:
    question = QUESTIONS[name]
    inline = client.explain(pb.ExplainRequest(snapshot=sample(), **question))
    state = client.put_snapshot(name, sample())
    assert inline == client.explain(pb.ExplainRequest(state=state, **question)) == explain(**question)
    assert all(getattr(inline.explanation, reader) for reader in ("public", "tenant", "operator"))


def test_response_has_structured_reasons_remedies_and_times() -> None:
    answer = explain(why_pending={"pod_group": "nightly-eval"})
    assert answer.reasons[0].code == ReasonCode.Value("REASON_CODE_WITHIN_FAIR_SHARE")
    kinds = [(pb.RemedyKind.Name(each.kind), each.evicted_pods) for each in answer.remedies]
    assert kinds == [("REMEDY_KIND_RAISE_PRIORITY", 1), ("REMEDY_KIND_ADD_NODES", 0)]
    protected = explain(protected_until={"pod_group": "finetune"})
    assert protected.until.ToJsonString() == "2025-03-03T10:42:00Z"
    assert {each.guard for each in protected.protections} == {"minruntime"}


def test_kinds_of_remedies_have_the_numbers_of_the_contract() -> None:
    named = {f"REMEDY_KIND_{kind.name}": kind.value for kind in RemedyKind}
    assert {"REMEDY_KIND_UNSPECIFIED": 0, **named} == dict(pb.RemedyKind.items())


def test_time_of_the_request_overrides_the_snapshot_time() -> None:
    later = pb.ExplainRequest(snapshot=sample(), **QUESTIONS["protected until"])
    later.now.FromJsonString("2025-03-03T10:42:00Z")
    assert "is not protected" in Explainer(PROFILE).explain(later).explanation.public


FAULTS: dict[str, tuple[dict[str, object], list[str]]] = {
    "no question": ({}, ["question: is required"]),
    "an unknown name": (
        {"why_pending": {"pod_group": "nobody"}},
        ["why_pending.pod_group: there is no pod group with uid 'nobody'"],
    ),
    "no name": ({"why_victim": {}}, ["why_victim.pod_group: is required"]),
    "two unknown names": (
        {"why_not_victim": {"pod_group": "a"}},
        [
            "why_not_victim.pod_group: there is no pod group with uid 'a'",
            "why_not_victim.preemptor: is required",
        ],
    ),
    "an unknown queue": (
        {"victim_ranks": {"queue": "north"}},
        ["victim_ranks.queue: there is no queue with name 'north'"],
    ),
    "unknown pod groups of several": (
        {"when_starts": {"pod_groups": ["nightly-eval", "b", ""]}},
        [
            "when_starts.pod_groups[1]: there is no pod group with uid 'b'",
            "when_starts.pod_groups[2]: is required",
        ],
    ),
    "a bad time": (
        {"now": {"nanos": -1}, **QUESTIONS["why pending"]},
        ["now: -1 nanoseconds are not a part of a second"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_violations_name_their_field(client: Client, name: str) -> None:
    fields, faults = FAULTS[name]
    with pytest.raises(InvalidSnapshot) as caught:
        client.explain(pb.ExplainRequest(snapshot=sample(), **fields))
    assert list(map(str, caught.value.violations)) == faults


@pytest.mark.parametrize("request_of", [{}, {"snapshot": ClusterSnapshot()}])
def test_request_without_snapshot_is_rejected(client: Client, request_of: dict[str, object]) -> None:
    with pytest.raises(InvalidSnapshot) as caught:
        client.explain(pb.ExplainRequest(**request_of, **QUESTIONS["why pending"]))
    assert all(violation.field.startswith("snapshot") for violation in caught.value.violations)


def test_explain_has_no_side_effects(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    state = client.put_snapshot("explained", sample())
    before = client.decide_state(state)
    count_metrics()
    with caplog.at_level(logging.DEBUG):
        for question in QUESTIONS.values():
            client.explain(pb.ExplainRequest(state=state, **question))
    assert count_metrics() == {}
    assert log_lines(caplog.records) == []
    assert client.decide_state(state) == before


def test_expired_request_ends_with_deadline_exceeded(client: Client) -> None:
    question = pb.ExplainRequest(snapshot=sample(), **QUESTIONS["why pending"])
    with pytest.raises(DeadlineExceeded):
        client.explain(question, timeout=0.001)
