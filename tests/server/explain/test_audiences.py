"""Nobody but operators reads the names of others; equal states give equal answers."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tenure.server.explain.answer import Answer
from tenure.server.explain.notvictim import why_not_victim
from tenure.server.explain.pending import why_pending
from tenure.server.explain.protected import protected_until
from tenure.server.explain.text import moment
from tenure.server.explain.victim import why_victim
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.framework.profile import PluginSetting
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.column import Column
from tenure.solver.registry import default_profile

from tests.properties.clusters import random_cluster
from tests.properties.contested import contested_cluster
from tests.properties.draw import SeededDraw

DEFAULT = default_profile()
GUARDS = ("evictionlimit", "nearend", "waitlimit")
PROFILE = replace(DEFAULT, plugins=(*DEFAULT.plugins, *map(PluginSetting, GUARDS)))
MARK = re.compile(r"<[^<>]*>")


def marked(cluster: Cluster) -> Cluster:
    """The cluster with marks around every name, by which they are found in any text."""
    groups = (
        replace(g, name=f"<{g.name}>", uid=f"<{g.uid}>", queue_name=f"<{g.queue_name}>", namespace="<ns>")
        for g in cluster.pod_groups
    )
    return replace(
        cluster,
        nodes=tuple(replace(node, name=f"<{node.name}>") for node in cluster.nodes),
        queues=tuple(replace(queue, name=f"<{queue.name}>") for queue in cluster.queues),
        pod_groups=Column(groups),
        tasks=Column(replace(task, name=f"<{task.name}>", uid=f"<{task.uid}>") for task in cluster.tasks),
    )


def answers(inquiry: Inquiry) -> Iterator[tuple[int, Answer]]:
    """Every question about everybody, with the pod group whose owner reads the answer."""
    for group in inquiry.cluster.pod_groups:
        yield group.index, why_pending(inquiry, group.index)
        yield group.index, why_victim(inquiry, group.index)
        yield group.index, protected_until(inquiry, group.index)
        for other in inquiry.cluster.pod_groups:
            yield other.index, why_not_victim(inquiry, group.index, other.index)


def texts(answer: Answer) -> Iterator[tuple[str, str, str]]:
    yield answer.text
    for remedy in answer.remedies:
        yield remedy.explanation.public, remedy.explanation.tenant, remedy.explanation.operator


@pytest.mark.parametrize("draw", [random_cluster, contested_cluster])
@pytest.mark.parametrize("seed", range(15))
def test_no_name_of_others_is_told_to_the_public_or_to_tenants(draw: object, seed: int) -> None:
    cluster = marked(draw(SeededDraw(seed)))  # type: ignore[operator]
    for owner, answer in answers(Inquiry.of(cluster, PROFILE)):
        group = cluster.pod_groups[owner]
        path = () if group.queue is None else cluster.queues[group.queue].path
        own_pods = {cluster.tasks[task].name for task in group.tasks}
        own = {group.name, group.queue_name, *(cluster.queues[queue].name for queue in path), *own_pods}
        for public, tenant, operator in texts(answer):
            assert set(MARK.findall(public)) <= {group.name}
            assert set(MARK.findall(tenant)) <= own
            assert public
            assert tenant
            assert operator


@pytest.mark.parametrize("draw", [random_cluster, contested_cluster])
def test_equal_states_give_equal_answers(draw: object) -> None:
    for seed in range(4):
        first, second = (
            [answer for _, answer in answers(Inquiry.of(draw(SeededDraw(seed)), PROFILE))]  # type: ignore[operator]
            for _ in range(2)
        )
        assert first == second


def test_times_are_absolute() -> None:
    assert moment(1_740_998_520_000_000_000) == "2025-03-03 10:42:00 UTC"
    assert moment(1_740_998_520_500_000_000) == "2025-03-03 10:42:00.5 UTC"
    for seed in range(10):
        cluster = contested_cluster(SeededDraw(seed))
        for _, answer in answers(Inquiry.of(cluster, PROFILE)):
            assert not re.search(r"for another \d", " ".join(answer.text))
