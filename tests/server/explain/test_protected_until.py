"""Every kind of response to the query `protected_until`."""

import pytest
from tenure.server.explain.protected_until import protected_until
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW
from tenure.terms.durations import SECOND

from tests.server.explain.pending_cases import (
    evicted_for_job,
    index,
    single_queue,
    with_recent_eviction,
)

DEFAULT = default_profile()
SEMI = Preemptibility.SEMI_PREEMPTIBLE
ENDS = "2025-06-15 15:11:40 UTC"
"""Five minutes after the time of built clusters."""


def explain_protected(cluster: Cluster) -> tuple[str, int | None]:
    answer = protected_until(CycleReplay(cluster, DEFAULT), index(cluster, "old"))
    return answer.text.tenant, answer.until


def test_protections_are_listed_with_source_preemptors_and_end() -> None:
    builder = single_queue(2, reclaim_min_runtime="10m").queue("other")
    cluster = builder.running("old", queue="q", gpus=1, node="n1", started_ago="5m").build()
    text, until = explain_protected(cluster)
    assert (
        "Protected from all pod groups (by reclaim, consolidation and requeue): "
        f"all pods until {ENDS} (minruntime" in text
    )
    assert "(queue q)" in text
    assert (
        "Not protected from pod groups in queue q (by preempt, consolidation and requeue) (minruntime" in text
    )
    assert until == NOW + 300 * SECOND


def test_protection_while_running_has_no_end_time() -> None:
    text, until = explain_protected(evicted_for_job(preemptibility=Preemptibility.NON_PREEMPTIBLE))
    assert (
        "Protected from all pod groups: all pods while running (preemptibility, its own preemptibility)."
        in text
    )
    assert until is None


def test_protected_minimum_is_reported_as_minimum_only() -> None:
    builder = single_queue(3).pod_group("old", queue="q", min_member=1, preemptibility=SEMI)
    text, _ = explain_protected(builder.running("old", gpus=1, count=2, node="n1").build())
    assert "Protected from all pod groups: its minimum while running" in text


def test_protection_from_one_pod_group_names_it_to_operators_only() -> None:
    cluster = with_recent_eviction("job", "old")
    answer = protected_until(CycleReplay(cluster, DEFAULT), index(cluster, "old"))
    assert "Protected from another workload of its queue: all pods until" in answer.text.tenant
    assert "Protected from pod group job (queue q): all pods until" in answer.text.operator


@pytest.mark.parametrize(
    ("cluster", "explanation"),
    [
        (
            evicted_for_job(),
            "is not protected: it can be evicted at any time, subject to queue and priority rules",
        ),
        (
            single_queue().pending("old", queue="q", gpus=1).build(),
            "Pod group old (queue q) has no running pods",
        ),
    ],
)
def test_unprotected_pod_group_is_reported_as_such(cluster: Cluster, explanation: str) -> None:
    assert explanation in explain_protected(cluster)[0]
