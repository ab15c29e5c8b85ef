"""Required pod affinity and anti-affinity to running, reserved and terminating pods (R3.63, R3.70)."""

from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import NOT_YET, Rejection
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, TaskState, statuses
from tenure.terms.reasons import ReasonCode

from tests.solver.sessions import open_session

PENDING, BINDING, PIPELINED = TaskStatus.PENDING, TaskStatus.BINDING, TaskStatus.PIPELINED
WEB = {"app": "web"}


def term(key: str = "host", **labels: str) -> PodAffinityTerm:
    return PodAffinityTerm(tuple(sorted((labels or WEB).items())), key)


def cluster(**options: Any) -> ClusterBuilder:
    """Three nodes in racks, the first two of them in one rack, and a fourth node without labels."""
    builder = ClusterBuilder().queue("q")
    for name, rack in (("a", "r1"), ("b", "r1"), ("c", "r2")):
        builder.node(name, labels={"host": name, "rack": rack}, gpus=2, **options)
    return builder.node("unlabelled", gpus=2, **options)


def placements_after(builder: ClusterBuilder, *actions: str) -> dict[str, TaskState]:
    built, profile = builder.build(), default_profile()
    return statuses(built, answer(built, replace(profile, actions=actions or profile.actions)))


def nodes(builder: ClusterBuilder, group: str) -> list[str]:
    return [state.node for uid, state in sorted(placements_after(builder).items()) if uid.startswith(group)]


@pytest.mark.parametrize(("key", "expected"), [("host", ["c"]), ("rack", ["c"]), ("zone", [""])])
def test_pod_with_affinity_is_placed_near_matching_pods(key: str, expected: list[str]) -> None:
    builder = cluster().running("web", queue="q", node="c", labels=WEB)
    assert nodes(builder.pending("job", queue="q", pod_affinity=[term(key)]), "job") == expected


@pytest.mark.parametrize(("key", "expected"), [("host", ["b"]), ("rack", ["c"]), ("zone", ["a"])])
def test_pod_with_anti_affinity_is_placed_away_from_matching_pods(key: str, expected: list[str]) -> None:
    builder = cluster().running("web", queue="q", node="a", labels=WEB)
    assert nodes(builder.pending("job", queue="q", pod_anti_affinity=[term(key)]), "job") == expected


def test_pod_is_placed_after_a_later_one_of_its_gang_that_it_must_be_near() -> None:
    """Pods come in the order of their names (R3.76)."""
    builder = cluster(cpus=8).pod_group("gang", queue="q", min_member=2)
    builder.pods("gang", PENDING, pod_affinity=[term()], cpus=1)
    builder.pods("gang", PENDING, labels=WEB, cpus=1, node_selector={"host": "c"})
    assert nodes(builder, "gang") == ["c", "c"]


def test_pod_is_placed_away_from_pods_with_anti_affinity_to_it() -> None:
    builder = cluster().running("shy", queue="q", node="a", pod_anti_affinity=[term("rack")])
    assert nodes(builder.pending("web", queue="q", labels=WEB), "web") == ["c"]
    assert nodes(builder.pending("other", queue="q", labels={"app": "other"}), "other") == ["a"]


def test_pods_of_one_gang_spread_over_hosts() -> None:
    """A node without the label shares no topology domain, so any number of the pods can run there."""
    builder = cluster().pending("web", queue="q", labels=WEB, pod_anti_affinity=[term()], count=5)
    assert nodes(builder, "web") == ["a", "b", "c", "unlabelled", "unlabelled"]


def test_gang_that_cannot_spread_is_pending_completely() -> None:
    builder = ClusterBuilder().node("a", labels={"host": "a"}).node("b", labels={"host": "b"}).queue("q")
    web = {"queue": "q", "labels": WEB, "pod_anti_affinity": [term()]}
    assert nodes(builder.pending("web", **web, count=3), "web") == ["", "", ""]


def test_first_pod_with_self_affinity_is_unconstrained_and_the_rest_follow() -> None:
    """The fullest node has capacity for one of them only. Its rack has capacity for all."""
    builder = cluster(cpus=4).running("fills", queue="q", node="b", cpus=3)
    web = {"labels": WEB, "pod_affinity": [term("rack")]}
    assert nodes(builder.pending("web", queue="q", count=4, **web), "web") == ["b", "a", "a", "a"]


def test_first_pod_requires_a_node_with_the_topology_label() -> None:
    builder = ClusterBuilder().node("n", gpus=1).queue("q")
    assert nodes(builder.pending("web", queue="q", labels=WEB, pod_affinity=[term()]), "web") == [""]


def test_pod_with_affinity_to_absent_pods_is_pending() -> None:
    builder = cluster().pending("job", queue="q", labels={"app": "job"}, pod_affinity=[term()])
    assert nodes(builder, "job") == [""]
    assert nodes(builder.pending("web", queue="q", labels=WEB, priority=75), "job") == ["a"]


def test_affinity_requires_a_pod_that_matches_all_terms() -> None:
    builder = cluster().running("half", queue="q", node="a", labels=WEB)
    builder.running("whole", queue="q", node="c", labels={**WEB, "tier": "front"})
    terms = [term("rack"), term("host", tier="front")]
    assert nodes(builder.pending("job", queue="q", pod_affinity=terms), "job") == ["c"]


def test_terms_are_about_pods_of_the_same_namespace() -> None:
    builder = cluster().running("web", queue="q", node="a", labels=WEB, namespace="theirs")
    job = {"queue": "q", "pod_anti_affinity": [term()]}
    assert nodes(builder.pending("job", **job, namespace="mine"), "job") == ["a"]


def test_terminating_pods_block_and_provide_nothing() -> None:
    builder = cluster().pods("web", TaskStatus.RELEASING, queue="q", node="c", labels=WEB)
    assert nodes(builder.pending("near", queue="q", pod_affinity=[term()]), "near") == [""]
    assert nodes(builder.pending("far", queue="q", pod_anti_affinity=[term("rack")]), "far") == ["a"]


def test_restored_pod_does_not_conflict_with_itself() -> None:
    """All pods have anti-affinity to each other. A large pod on `a` requires only one eviction."""
    avoiding = {"labels": WEB, "pod_anti_affinity": [term()]}
    builder = cluster()
    builder.running("x", queue="q", node="a", gpus=2, **avoiding).running(
        "y", queue="q", node="b", gpus=2, **avoiding
    )
    builder.running("z", queue="q", node="c", gpus=2).running("w", queue="q", node="unlabelled", gpus=2)
    builder.pending("job", queue="q", gpus=2, priority=75, node_selector={"host": "b"})
    found = placements_after(builder)
    assert found["job-0"] == (PIPELINED, "b")
    assert [uid for uid, state in found.items() if state.status is TaskStatus.RELEASING] == ["y-0"]


def test_relocated_pod_blocks_its_new_node_and_its_old_one_until_it_has_left() -> None:
    builder = cluster().running("web", queue="q", node="a", labels=WEB)
    builder.pending("job", queue="q", pod_anti_affinity=[term()])
    session = open_session(builder.build())
    tasks = {task.facts.uid: task.index for task in session.cluster.tasks}
    (node_check,) = session.chains.placement_filters
    near = Rejection(
        ReasonCode.INSUFFICIENT_RESOURCES,
        "its required anti-affinity to pods of app=web is violated",
        by_own=True,
    )
    with session.statement() as statement:
        statement.evict(tasks["web-0"])
        statement.pipeline(tasks["web-0"], 1)
        check = node_check.allows_placement(tasks["job-0"])
        assert [check(node) for node in range(4)] == [NOT_YET, near, None, None]
    check = node_check.allows_placement(tasks["job-0"])
    assert [check(node) for node in range(4)] == [near, None, None, None]


def test_pods_without_relevant_terms_are_not_checked() -> None:
    builder = cluster().pending("shy", queue="q", pod_anti_affinity=[term()])
    session = open_session(builder.pending("other", queue="q").build())
    tasks = {task.facts.uid: task.index for task in session.cluster.tasks}
    (node_check,) = session.chains.placement_filters
    assert node_check.allows_placement(tasks["other-0"]) is None
    assert open_session(cluster().pending("job", queue="q").build()).chains.placement_filters == ()


def test_affinity_is_ignored_without_the_plugin() -> None:
    profile = default_profile()
    without = tuple(plugin for plugin in profile.plugins if plugin != PluginConfig("predicates"))
    built = cluster().pending("job", queue="q", pod_affinity=[term()]).build()
    assert statuses(built, answer(built, replace(profile, plugins=without)))["job-0"].status is BINDING
