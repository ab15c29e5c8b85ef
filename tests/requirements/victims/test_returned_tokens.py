"""Tokens of eviction rates come back for evictions that the cluster refuses (R15.9)."""

from typing import Final

import pytest
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.report_pb2 import (
    APPLY_STATUS_APPLIED,
    APPLY_STATUS_FAILED,
    APPLY_STATUS_PRECONDITION_FAILED,
    DecisionResult,
    ReportResultsRequest,
)

from tests.requirements.answers import evicted
from tests.requirements.cluster import ClusterText
from tests.requirements.profiles import Servers

RATES: Final = """
options:
  evictionRates:
  - {name: pods, rate: 1/h, burst: 2}
  - {name: groups, rate: 1/h, burst: 2, unit: podGroups}
  - {name: others, rate: 1/h, burst: 2, scope: victimQueue, queue: other}
"""


def contested() -> ClusterText:
    """Both pods of a gang must go."""
    cluster = ClusterText().node(gpus=2).queue("q").queue("other")
    return cluster.runs("v", "q", pods=2).waits("p", "q", priority=75, gpus=2)


def states(answer: DecideResponse) -> dict[str, int]:
    """Tokens of the rates that a response changes, in thousandths."""
    changed = [each.set_eviction_rate for each in answer.state_patches]
    return {each.name: each.tokens_milli for each in changed}


@pytest.mark.parametrize(
    ("results", "returned"),
    [
        ([APPLY_STATUS_APPLIED, APPLY_STATUS_APPLIED], {}),
        ([APPLY_STATUS_FAILED], {"pods": 2, "groups": 1}),
        ([APPLY_STATUS_PRECONDITION_FAILED, APPLY_STATUS_PRECONDITION_FAILED], {"pods": 2, "groups": 1}),
        ([APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED], {"pods": 1}),
    ],
)
def test_refused_evictions_return_their_tokens(
    servers: Servers, results: list[int], returned: dict[str, int]
) -> None:
    cluster, client = contested(), servers.client(RATES)
    cluster.snapshot.cluster_id = f"{results}"  # a server remembers the results of a decision
    answer = client.decide(cluster.snapshot, ["preempt"])
    assert evicted(answer) == ["v-0", "v-1"]
    assert states(answer) == {"pods": 0, "groups": 1_000}
    (group,) = [each for each in answer.groups if any(step.HasField("evict") for step in each.decisions)]
    evictions = [each for each in group.decisions if each.HasField("evict")]
    for each in evictions:
        assert [(rate.name, rate.per_pod_group) for rate in each.evict.eviction_rates] == [
            ("pods", False),
            ("groups", True),
        ]
    request = ReportResultsRequest(cluster_id=cluster.snapshot.cluster_id, now=cluster.snapshot.now)
    report = request.groups.add(group=group)
    for decision, result in zip(evictions, results, strict=False):
        report.results.append(DecisionResult(decision_id=decision.id, status=result))  # type: ignore[arg-type]
    (status,) = client.report_results(request).groups
    found: dict[str, int] = {}
    for patch in status.patches:
        if patch.HasField("returned_tokens"):
            name = patch.returned_tokens.name
            found[name] = found.get(name, 0) + patch.returned_tokens.tokens_milli // 1_000
    assert found == returned
    assert list(status.patches) == list(client.report_results(request).groups[0].patches)
