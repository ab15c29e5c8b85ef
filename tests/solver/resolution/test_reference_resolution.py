"""References by name are resolved to trees, indices and ranks."""

import pytest
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.snapshot_warning import WarningCode
from tenure.solver.model.workload import SubGroupSet
from tenure.solver.resolution.reference_resolution import ranks, resolve_queues
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import SECOND


def test_queues_are_indexed_by_name_and_ranked_by_age_then_name() -> None:
    queues = resolve_queues(
        [QueueFacts(name="b", creation=1), QueueFacts(name="c", creation=1), QueueFacts(name="a", creation=2)]
    )
    assert [(q.facts.name, q.index, q.rank) for q in queues] == [("a", 0, 2), ("b", 1, 0), ("c", 2, 1)]


def test_paths_lead_from_the_top_level_down_r1_73() -> None:
    queues = resolve_queues(
        [
            QueueFacts(name="leaf", parent_name="dept"),
            QueueFacts(name="dept", parent_name="top"),
            QueueFacts(name="top"),
        ]
    )
    names = {queue.index: queue.facts.name for queue in queues}
    paths = {queue.facts.name: [names[index] for index in queue.path] for queue in queues}
    assert paths == {"top": ["top"], "dept": ["top", "dept"], "leaf": ["top", "dept", "leaf"]}
    assert [queue.facts.name for queue in queues if queue.is_leaf] == ["leaf"]


@pytest.mark.parametrize(("keys", "expected"), [([], []), ([3, 1, 2], [2, 0, 1]), ([7, 7, 1], [1, 2, 0])])
def test_ranks_are_positions_in_sorted_order(keys: list[int], expected: list[int]) -> None:
    assert ranks(keys) == expected


def test_pod_groups_and_tasks_are_indexed_by_uid_as_text() -> None:
    builder = ClusterBuilder().queue("q").pending("b", queue="q", count=11).pending("a", queue="q")
    cluster = builder.build()
    assert [group.facts.name for group in cluster.pod_groups] == ["a", "b"]
    assert [task.facts.uid for task in cluster.tasks][:4] == ["a-0", "b-0", "b-1", "b-10"]
    assert [group.rank for group in cluster.pod_groups] == [1, 0]


@pytest.mark.parametrize("queue", ["nowhere", "dept"], ids=["it does not exist", "it is not a leaf"])
def test_a_pod_group_without_a_leaf_queue_has_none_r3_3(queue: str) -> None:
    builder = ClusterBuilder().queue("dept").queue("leaf", parent="dept").pending("job", queue=queue)
    (group,) = builder.build().pod_groups
    assert (group.queue, group.facts.queue_name) == (None, queue)


def test_pod_group_without_sub_groups_has_one_default_pod_set_r1_51() -> None:
    (group,) = ClusterBuilder().queue("q").pending("job", queue="q", count=3, min_member=2).build().pod_groups
    assert [(s.name, s.min_available, s.tasks) for s in group.pod_sets] == [("default", 2, (0, 1, 2))]


def with_sub_groups() -> ClusterBuilder:
    """A pod group with an inner sub group of two leaves, and a separate leaf."""
    builder = ClusterBuilder().queue("q").pod_group("job", queue="q")
    builder.sub_group("job", "Inner", min_sub_groups=1)
    builder.sub_group("job", "x", parent="INNER", min_member=1).sub_group("job", "y", parent="inner")
    return builder.sub_group("job", "z", min_member=2)


def test_sub_groups_become_a_tree_with_case_insensitive_parents_r1_52() -> None:
    (group,) = with_sub_groups().build().pod_groups
    inner, z = group.root.members
    assert isinstance(inner, SubGroupSet)
    assert (inner.name, inner.required, [member.name for member in inner.members]) == ("Inner", 1, ["x", "y"])
    assert (z.name, group.root.required) == ("z", 2)


def test_minimum_of_a_leaf_defaults_to_zero_r1_50() -> None:
    (group,) = with_sub_groups().build().pod_groups
    assert {pod_set.name: pod_set.min_available for pod_set in group.pod_sets} == {"x": 1, "y": 0, "z": 2}


@pytest.mark.parametrize("part", ["default", "Inner", "nowhere"])
def test_pod_without_leaf_sub_group_is_excluded_with_a_warning_r1_53(part: str) -> None:
    cluster = with_sub_groups().pending("job", sub_group="Z").pending("job", sub_group=part).build()
    assert cluster.pod_groups[0].tasks == (0,)
    assert cluster.tasks[1].pod_set is None
    (warning,) = cluster.warnings
    assert (warning.code, warning.pod_groups) == (WarningCode.UNKNOWN_SUB_GROUP, (0,))
    assert repr(part) in warning.detail


def test_warnings_name_pod_groups_by_index_and_each_sub_group_once() -> None:
    builder = ClusterBuilder().queue("q").pod_group("b", queue="q").pod_group("a", queue="q")
    for name, part in (("b", "y"), ("b", "x"), ("b", "y"), ("a", "z")):
        builder.pending(name, sub_group=part)
    found = [(warning.pod_groups, warning.detail) for warning in builder.build().warnings]
    assert [groups for groups, _ in found] == [(0,), (1,), (1,)]
    assert [("'x'" in text, "'y'" in text, text[0]) for _, text in found[1:]] == [
        (True, False, "1"),
        (False, True, "2"),
    ]


def test_requeue_settings_of_pod_group_and_queue_are_stored() -> None:
    builder = ClusterBuilder().queue("q", expected_runtime="2h", requeue_delay="0").queue("silent")
    builder.pending("job", queue="q", expected_runtime="1h", requeue_delay="5m", requeue_in="1m")
    cluster = builder.pending("quiet", queue="silent").build()
    assert [(queue.facts.expected_runtime, queue.facts.requeue_delay) for queue in cluster.queues] == [
        (7_200 * SECOND, 0),
        (None, None),
    ]
    job, quiet = cluster.pod_groups
    assert [setting.value for setting in job.facts.requeue] == [
        3_600 * SECOND,
        300 * SECOND,
        NOW + 60 * SECOND,
        None,
    ]
    assert not any(setting.is_set for setting in quiet.facts.requeue)
