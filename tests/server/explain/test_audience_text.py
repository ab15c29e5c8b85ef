"""Only operators see names of other tenants, and equal states return equal responses."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from tenure.server.explain.audience_text import moment
from tenure.server.explain.explain_result import ExplainResult
from tenure.server.explain.protected_until import protected_until
from tenure.server.explain.why_not_victim import why_not_victim
from tenure.server.explain.why_pending import why_pending
from tenure.server.explain.why_victim import why_victim
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.reasons import ReasonCode

from tests.properties.generators.contested_clusters import contested_cluster
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster

DEFAULT = default_profile()
GUARDS = ("evictionlimit", "nearcompletion", "waitlimit", "victimcooldown")
PROFILE = replace(DEFAULT, plugins=(*DEFAULT.plugins, *map(PluginConfig, GUARDS)))
MARK = re.compile(r"<[^<>]*>")


def mark_names(cluster: Cluster) -> Cluster:
    """Return the cluster with marks around every name, which make names visible in any text."""
    groups = (
        replace(
            group,
            facts=replace(
                group.facts,
                name=f"<{group.facts.name}>",
                uid=f"<{group.facts.uid}>",
                queue_name=f"<{group.facts.queue_name}>",
                namespace="<ns>",
            ),
        )
        for group in cluster.pod_groups
    )
    return replace(
        cluster,
        nodes=tuple(
            replace(node, facts=replace(node.facts, name=f"<{node.facts.name}>")) for node in cluster.nodes
        ),
        queues=tuple(
            replace(queue, facts=replace(queue.facts, name=f"<{queue.facts.name}>"))
            for queue in cluster.queues
        ),
        pod_groups=PersistentVector(groups),
        tasks=PersistentVector(
            replace(
                task,
                facts=replace(task.facts, name=f"<{task.facts.name}>", uid=f"<{task.facts.uid}>"),
            )
            for task in cluster.tasks
        ),
    )


def explain_everything(inquiry: CycleReplay) -> Iterator[tuple[int, ExplainResult]]:
    """Request every explanation of every pod group; yield the pod group whose owner reads the result."""
    for group in inquiry.cluster.pod_groups:
        yield group.index, why_pending(inquiry, group.index)
        yield group.index, why_victim(inquiry, group.index)
        yield group.index, protected_until(inquiry, group.index)
        for other in inquiry.cluster.pod_groups:
            yield other.index, why_not_victim(inquiry, group.index, other.index)


def collect_texts(answer: ExplainResult) -> Iterator[tuple[str, str, str]]:
    yield answer.text
    for remedy in answer.remedies:
        yield remedy.explanation.public, remedy.explanation.tenant, remedy.explanation.operator


@pytest.mark.parametrize("draw", [random_cluster, contested_cluster])
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed < 4 else pytest.mark.long) for seed in range(15)]
)
def test_foreign_names_are_hidden_from_public_and_tenants(draw: object, seed: int) -> None:
    cluster = mark_names(draw(SeededDraw(seed)))  # type: ignore[operator]
    for owner, answer in explain_everything(CycleReplay(cluster, PROFILE)):
        group = cluster.pod_groups[owner]
        path = () if group.queue is None else cluster.queues[group.queue].path
        own_pods = {cluster.tasks[task].facts.name for task in group.tasks}
        own = {
            group.facts.name,
            group.facts.queue_name,
            *(cluster.queues[queue].facts.name for queue in path),
            *own_pods,
        }
        for public, tenant, operator in collect_texts(answer):
            assert set(MARK.findall(public)) <= {group.facts.name}
            assert set(MARK.findall(tenant)) <= own
            assert public
            assert tenant
            assert operator


@pytest.mark.parametrize("draw", [random_cluster, contested_cluster])
def test_equal_states_have_equal_explanations(draw: object) -> None:
    for seed in range(4):
        first, second = (
            [answer for _, answer in explain_everything(CycleReplay(draw(SeededDraw(seed)), PROFILE))]  # type: ignore[operator]
            for _ in range(2)
        )
        assert first == second


class KeepsApart:
    """Of another package: refuses every node for the pod group `job`, and names what it found there."""

    def allows_placement(self, task: int) -> Callable[[int], Rejection | None] | None:
        return None if task else lambda node: Rejection(ReasonCode.INSUFFICIENT_RESOURCES, "it avoids <old>")


@pytest.mark.parametrize("gpus_of_other", [1, 2])
def test_what_a_filter_of_another_package_says_is_for_operators(gpus_of_other: int) -> None:
    builder = ClusterBuilder().node("n1", gpus=2).queue("q").pending("job", queue="q", gpus=1, priority=60)
    cluster = builder.running("old", queue="q", gpus=gpus_of_other, node="n1", started_ago="5m").build()
    registry = Registry(
        actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "apart": lambda context, config: KeepsApart()}
    )
    profile = replace(DEFAULT, plugins=(*DEFAULT.plugins, PluginConfig("apart")))
    (job,) = (group.index for group in cluster.pod_groups if group.facts.name == "job")
    text = why_pending(CycleReplay(cluster, profile, registry=registry), job).text
    assert "it avoids <old>" in text.operator
    assert "<old>" not in text.public + text.tenant


def test_times_are_absolute() -> None:
    assert moment(1_740_998_520_000_000_000) == "2025-03-03 10:42:00 UTC"
    assert moment(1_740_998_520_500_000_000) == "2025-03-03 10:42:00.5 UTC"
    for seed in range(10):
        cluster = contested_cluster(SeededDraw(seed))
        for _, answer in explain_everything(CycleReplay(cluster, PROFILE)):
            assert not re.search(r"for another \d", " ".join(answer.text))
