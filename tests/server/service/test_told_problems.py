"""Sentences say which problem it is, and promise nothing that cannot come about."""

from collections.abc import Iterator
from typing import Any

import pytest
from tenure.client import Client
from tenure.server.explain.audience_text import AudienceNames
from tenure.server.explain.remedy_messages import remedy_message
from tenure.solver.diagnosis.remedies import Remedy, RemedyKind
from tenure.solver.diagnosis.what_if import TrialResult
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.testing import ClusterBuilder
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decision_pb2 import REASON_CODE_INVALID_QUEUE

from tests.requirements.cluster import NOW, ClusterText
from tests.server.servers import run_server


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=100) as client:
        yield client


def why_pending(client: Client, cluster: ClusterText) -> pb.ExplainResponse:
    return client.explain(pb.ExplainRequest(snapshot=cluster.snapshot, why_pending={"pod_group": "job"}))


def in_queue(queue: str) -> ClusterText:
    cluster = ClusterText().node(gpus=2).queue("top", quota=2).queue("leaf", "top", quota=2)
    return cluster.waits("job", queue)


PROBLEMS = {
    "missing": ("does not exist", "queue missing does not exist"),
    "top": ("has child queues", "queue top has child queues, and takes no pod groups itself"),
}


@pytest.mark.parametrize("queue", PROBLEMS)
def test_invalid_queue_says_which_problem_it_is(client: Client, queue: str) -> None:
    short, full = PROBLEMS[queue]
    others = [other for name, (other, _) in PROBLEMS.items() if name != queue]
    (outcome,) = client.decide(in_queue(queue).snapshot).outcomes
    assert outcome.reason.code == REASON_CODE_INVALID_QUEUE
    assert full in outcome.reason.message
    found = why_pending(client, in_queue(queue)).explanation
    assert full in found.operator
    for text in (found.operator, found.tenant, found.public):
        assert short in text
        assert not any(other in text for other in others)


def later(cluster: ClusterText) -> ClusterText:
    """Nothing is checked before its time; then another reason shows."""
    cluster.group("job").not_before_time.seconds = NOW + 600
    return cluster


def queue(**more: Any) -> ClusterText:
    return ClusterText().node(gpus=4).queue("q", quota=4, **more)


IMPOSSIBLE = {
    "its queue does not exist": later(in_queue("missing")),
    "its queue has child queues": later(in_queue("top")),
    "no node is as large": later(queue().waits("job", "q", gpus=5)),
    "no node has its label": later(queue().waits("job", "q", zone="z")),
    "it is larger than the limit": (
        queue(limit=2, preempt_min_runtime="2h")
        .runs("old", "q", pods=2)
        .waits("job", "q", pods=3, priority=75)
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_end_of_other_work_is_no_hope_where_it_cannot_help(client: Client, case: str) -> None:
    found = why_pending(client, IMPOSSIBLE[case]).explanation
    for text in (found.operator, found.tenant, found.public):
        assert "It does not start by waiting." in text


def test_end_of_other_work_is_hope_where_it_can_help(client: Client) -> None:
    cluster = queue(limit=2, preempt_min_runtime="2h").runs("old", "q", pods=2, mode="NON_PREEMPTIBLE")
    found = why_pending(client, later(cluster.waits("job", "q", pods=2, priority=75))).explanation
    assert "It does not start by waiting, unless other work ends." in found.public


def test_remedy_never_counts_no_pods() -> None:
    cluster = ClusterBuilder().node("n1", gpus=1).queue("q").pending("job", queue="q", gpus=1).build()
    names = AudienceNames(cluster, 0)
    for evicted, told in ((0, "already"), (1, "1 pod of other pod groups is evicted"), (2, "2 pods")):
        result = TrialResult(OutcomeKind.WAITING_FOR_VICTIMS, evicted)
        text = remedy_message(cluster, names, Remedy(RemedyKind.REDUCE_MINIMUM, result, 1)).explanation
        assert told in text.operator
        assert "0 pods" not in text.operator
