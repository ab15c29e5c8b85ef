"""Notices in the summary of a cycle: given, standing, carried out, withdrawn; by action, queue, reason."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from tenure.codec.encoded_response import CycleSummary, summarize
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.cluster import Cluster
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode
from tenure.v1.decide_pb2 import ResponseHeader

DEFAULT = default_profile()
PROFILE = replace(DEFAULT, options=replace(DEFAULT.options, max_notice=3_600 * SECOND))


def contested() -> Cluster:
    """The two pods of `v` run on the GPUs that `p` wants."""
    builder = ClusterBuilder().queue("q").queue("other").node("n", gpus=2)
    builder.pod_group("v", queue="q", priority=50, notice="2m", min_member=2)
    builder.running("v", node="n", gpus=1, count=2).pending("p", queue="q", priority=75, gpus=2)
    return builder.build()


def opted_out(cluster: Cluster) -> Cluster:
    groups = cluster.pod_groups.next_version()
    (victim,) = [group for group in cluster.pod_groups if group.facts.name == "v"]
    facts = replace(victim.facts, opt_out_actions=frozenset({"preempt"}))
    groups.put(victim.index, replace(victim, facts=facts))
    return replace(cluster, pod_groups=groups)


def summaries(later: int, change: Callable[[Cluster], Cluster]) -> Iterator[CycleSummary]:
    """Summaries of three cycles that are so many seconds apart; the cluster changes after the first one."""
    cluster = contested()
    for number in range(3):
        result = answer(cluster, PROFILE)
        ids = [f"{number}/{each}" for each in range(len(result.groups))]
        yield summarize(cluster, result, ResponseHeader(), ids)
        cluster = apply_decisions(cluster, result, later * SECOND, ids)
        cluster = cluster if number else change(cluster)


NOT_NEEDED = {("preempt", int(ReasonCode.NOT_NEEDED)): 2}
EXPIRED = {("preempt", int(ReasonCode.EXPIRED)): 2}


@pytest.mark.parametrize(
    ("later", "change", "standing", "carried_out", "withdrawn"),
    [
        pytest.param(
            60, lambda same: same, [2, 2, 0], [{}, {}, {"preempt": 2}], [{}, {}, {}], id="carried out"
        ),
        pytest.param(60, opted_out, [2, 0, 0], [{}, {}, {}], [{}, NOT_NEEDED, {}], id="withdrawn"),
        pytest.param(
            *(3_600, lambda same: same, [2, 2, 2], [{}, {}, {}], [{}, EXPIRED, EXPIRED]),
            id="expired, and given again",
        ),
    ],
)
def test_notices_are_counted(later, change, standing, carried_out, withdrawn) -> None:
    found = list(summaries(later, change))
    assert dict(found[0].notices.given) == {"preempt": 2}
    assert found[0].notices.durations == (("preempt", 120 * SECOND),)
    assert found[0].decisions["preempt", "notify"] == 2
    by_queue = [{queue.name: queue.pods_with_notice for queue in each.queues} for each in found]
    assert [each["q"] for each in by_queue] == standing
    assert [each["other"] for each in by_queue] == [0, 0, 0]
    assert [dict(each.notices.carried_out) for each in found] == carried_out
    assert [dict(each.notices.withdrawn) for each in found] == withdrawn
