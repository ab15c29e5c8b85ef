"""Placement by fragmentation: the mix, the value of nodes, levels, and the nodes and devices that follow."""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from random import Random

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import SPEEDUPS, PluginConfig, Profile
from tenure.solver.plugins.nodes.fragmentation import Fragmentation
from tenure.solver.plugins.nodes.node_value import THRESHOLDS, NodeValue
from tenure.solver.plugins.nodes.workload_mix import MixEntry, Request, ShapeCounts, mix_of
from tenure.solver.registry import BUILT_IN, check_profile, default_profile, with_required_plugins
from tenure.solver.testing import ClusterBuilder, statuses
from tenure.solver.testing.options import PodOptions

from tests.placement_exam.reference_value import FreeNode, Target, value
from tests.solver.placement_profiles import with_fragmentation

DEVICE = 1000
"""MiB of a device, so that they are thousandths."""
DEFAULT_WEIGHTS = (9, 1)


def session_of(cluster: Cluster) -> Session:
    return Session.open(cluster, with_required_plugins(with_fragmentation()), BUILT_IN)


def place_of(cluster: Cluster, pod: str = "job-0") -> tuple[TaskStatus, str]:
    status, node = statuses(cluster, answer(cluster, with_fragmentation()))[pod]
    return status, node


def mix_in(builder: ClusterBuilder) -> list[tuple[Request, int]]:
    cluster = builder.build()
    counted = ShapeCounts([0] * len(cluster.shapes), [])
    counted.count(cluster, range(len(cluster.tasks)))
    return [(entry.request, entry.pods) for entry in mix_of(cluster.shapes, counted.counts)]


def pods(**numbers: int) -> ClusterBuilder:
    """Pending pods of one GPU, half of one, two, or none."""
    options: dict[str, PodOptions] = {
        "one": {"gpus": 1},
        "half": {"gpus": 0.5},
        "two": {"gpus": 2},
        "none": {},
    }
    builder = ClusterBuilder().node("n", gpus=8).queue("q", quota=-1)
    for name, number in numbers.items():
        builder.pending(name, queue="q", count=number, cpus=1, **options[name])  # type: ignore[misc]
    return builder


ONE, HALF, TWO, NONE = (
    Request(1000, 1, 1000, 0),
    Request(1000, 1, 500, 0),
    Request(1000, 2, 1000, 0),
    Request(1000, 0, 1000, 0),
)


def test_the_most_frequent_requests_cover_95_percent_r3_80() -> None:
    assert mix_in(pods(one=90, half=5, two=3, none=2)) == [(ONE, 90), (HALF, 5)]


def test_of_equally_frequent_requests_the_larger_ones_come_first_r3_80() -> None:
    assert mix_in(pods(half=10, one=10, two=10)) == [(TWO, 10), (ONE, 10), (HALF, 10)]


def test_running_and_gated_pods_count_and_ended_ones_do_not_r3_80() -> None:
    builder = pods(one=2).running("run", node="n", queue="q", gpus=2, cpus=1, count=3)
    builder.pods("gated", TaskStatus.GATED, queue="q", gpus=0.5, cpus=1)
    builder.pods("gone", TaskStatus.SUCCEEDED, queue="q", gpus=0.5, cpus=1, count=9)
    builder.pods("leaves", TaskStatus.RELEASING, node="n", queue="q", gpus=1, cpus=1)
    assert mix_in(builder) == [(TWO, 3), (ONE, 2), (HALF, 1)]


def test_counts_that_follow_changes_are_those_of_a_new_count_r3_80() -> None:
    """Pods start, end and are added; each of them is counted once."""

    def cluster(first: TaskStatus, second: TaskStatus, added: int) -> Cluster:
        builder = ClusterBuilder().node("n", gpus=8).queue("q", quota=-1)
        builder.pods("a", first, queue="q", gpus=1, node="n" if first is TaskStatus.RUNNING else "")
        builder.pods("b", second, queue="q", gpus=0.5)
        return builder.pods("c", TaskStatus.PENDING, queue="q", gpus=2, count=added).build()

    before = cluster(TaskStatus.PENDING, TaskStatus.PENDING, 1)
    after = cluster(TaskStatus.RUNNING, TaskStatus.SUCCEEDED, 3)
    counted = ShapeCounts([0] * len(before.shapes), [])
    counted.count(before, range(len(before.tasks)))
    copy = counted.copy()
    copy.count(after, range(len(after.tasks)))
    assert (counted.counts, copy.counts) == ([1, 1, 1], [1, 0, 3])


def test_memory_does_not_distinguish_requests_and_selectors_do_r3_80() -> None:
    builder = pods(one=1).pending("big", queue="q", gpus=1, cpus=1, memory_gib=9)
    builder.pending("picky", queue="q", gpus=1, cpus=1, node_selector={"zone": "a"})
    assert mix_in(builder) == [(ONE, 2), (ONE, 1)]


def random_target(random: Random) -> Target:
    gpus = random.choice((0, 1, 1, 1, 2, 4))
    milli = DEVICE if gpus != 1 else random.choice((1000, 1000, 810, 500, 333, 125, 10))
    return Target(random.choice((0, 1, 7, 12, 32)), milli if gpus else 0, gpus, "")


def entry_of(target: Target, count: int) -> MixEntry:
    shape = ClusterBuilder().queue("q").pending("j", queue="q").build().shapes[0]
    return MixEntry(Request(target.cpu_milli, target.gpus, target.gpu_milli or DEVICE, 0), shape, count)


@pytest.mark.parametrize("seed", range(40))
def test_value_is_that_of_the_formulas_in_fractions_r3_81_r3_82(seed: int) -> None:
    random = Random(seed)
    counts = {random_target(random): random.randint(1, 9) for _ in range(8)}
    total = sum(counts.values())
    found = NodeValue(
        DEVICE, [entry_of(target, count) for target, count in counts.items()], total, DEFAULT_WEIGHTS
    )
    for _ in range(20):
        parts = tuple(sorted(random.randint(1, 990) for _ in range(random.randint(0, 3))))
        whole, cpu = random.randint(0, 4), random.randint(0, 70)
        mix = [(target, Fraction(count, total)) for target, count in counts.items()]
        expected = value(FreeNode("", cpu, (*[DEVICE] * whole, *parts)), mix)
        free = whole * DEVICE + sum(parts)
        assert free - Fraction(found.usable(cpu, whole, parts), 10 * total) == expected


def test_thresholds_are_those_of_the_logistic_function_r3_82() -> None:
    with localcontext() as context:
        context.prec = 40
        exact = [(Decimal(k) / (100 - k)).ln() * 1_000_000 for k in range(1, 100)]
        assert list(THRESHOLDS) == [int(each.to_integral_value(ROUND_HALF_UP)) for each in exact]


LEVELS = {
    0: 50,
    -1: 49,
    1: 50,
    40_005: 51,
    40_004: 50,
    -40_005: 49,
    -40_006: 48,
    4_595_120: 99,
    -9_000_000: 0,
}


@pytest.mark.parametrize(("millionths", "level"), LEVELS.items())
def test_level_is_rounded_down_r3_82(millionths: int, level: int) -> None:
    """With one pod in the mix and 100,000 MiB in a device, a unit of V is a millionth of a GPU."""
    assert NodeValue(100_000, [], 1, DEFAULT_WEIGHTS).level(millionths) == level


def empty_nodes() -> ClusterBuilder:
    """Nodes with 8, 2 and 2 GPUs, and one without; every pod wants one GPU."""
    builder = ClusterBuilder().node("a", gpus=8).node("b", gpus=2).node("c", gpus=2).node("d")
    return builder.queue("q", quota=-1)


def scores_of(cluster: Cluster) -> list[float]:
    session = session_of(cluster)
    plugin = Fragmentation(session.plugin_context(), {})
    return list(plugin.scores(0, range(len(cluster.nodes))))


def test_score_is_eight_points_a_level_and_fewer_gpus_win_r3_83() -> None:
    scores = scores_of(empty_nodes().pending("job", queue="q", gpus=1).build())
    assert scores == [50 * 8 + 55 / 8, 50 * 8 + 61 / 8, 50 * 8 + 61 / 8, -1 / 8]


def test_equal_nodes_are_ordered_by_name_r3_83() -> None:
    assert place_of(empty_nodes().pending("job", queue="q", gpus=1).build()) == (TaskStatus.BINDING, "b")


def test_a_node_where_the_pod_starts_now_precedes_better_ones_r3_83() -> None:
    builder = ClusterBuilder().node("a", gpus=1).node("b", gpus=8).queue("q", quota=-1)
    builder.pods("leaves", TaskStatus.RELEASING, node="a", queue="q", gpus=1)
    assert place_of(builder.pending("job", queue="q", gpus=1).build()) == (TaskStatus.BINDING, "b")


def test_a_node_whose_rest_nothing_uses_is_better_r3_82() -> None:
    """Pods of 8 GPUs wait, so the pod of one GPU takes the node on which one of its GPUs is used already."""
    builder = ClusterBuilder().node("a", gpus=8).node("b", gpus=8).queue("q", quota=-1)
    builder.running("x", node="b", queue="q", gpus=1)
    builder.pending("job", queue="q", gpus=1, priority=100).pending("big", queue="q", gpus=8, count=9)
    assert place_of(builder.build()) == (TaskStatus.BINDING, "b")


def test_a_node_without_cpu_for_the_mix_is_better_r3_81() -> None:
    builder = ClusterBuilder().node("a", gpus=8, cpus=64).node("b", gpus=8, cpus=3).queue("q", quota=-1)
    builder.pending("job", queue="q", gpus=1, cpus=1, priority=100)
    builder.pending("other", queue="q", gpus=1, cpus=8, count=9)
    assert place_of(builder.build()) == (TaskStatus.BINDING, "b")


def test_a_node_that_does_not_accept_the_mix_is_better_r3_81() -> None:
    builder = ClusterBuilder().node("a", gpus=8, labels={"kind": "fast"}).node("b", gpus=8)
    builder.queue("q", quota=-1).pending("job", queue="q", gpus=1, priority=100)
    builder.pending("other", queue="q", gpus=1, node_selector={"kind": "fast"}, count=9)
    assert place_of(builder.build()) == (TaskStatus.BINDING, "b")


def two_devices(one: float, two: float) -> ClusterBuilder:
    """A node with two devices, of which such parts are in use."""
    builder = ClusterBuilder().node("n", gpus=2, gpu_memory_mib=1000).queue("q", quota=-1)
    builder.pods("x", TaskStatus.RUNNING, node="n", gpu_groups=("one",), queue="q", gpus=one)
    return builder.pods("y", TaskStatus.RUNNING, node="n", gpu_groups=("two",), queue="q", gpus=two)


def device_of(cluster: Cluster, profile: Profile) -> tuple[str, ...]:
    """Shared devices of the pod `job-0`, which is the first one in its group."""
    groups = answer(cluster, profile).groups
    binds = [bind for group in groups for bind in group.bindings]
    return next(bind.gpu_groups for bind in binds if cluster.tasks[bind.task].facts.name == "job-0")


def test_a_share_is_taken_where_the_rest_stays_usable_r3_84() -> None:
    """0.3 of 0.6 leave 0.3 for others, 0.3 of 0.5 leave 0.2 for nothing."""
    builder = two_devices(0.4, 0.5).pending("job", queue="q", gpus=0.3)
    cluster = builder.pending("z", queue="q", gpus=0.3, count=9).build()
    assert device_of(cluster, with_fragmentation()) == ("one",)
    assert device_of(cluster, default_profile()) == ("two",)


def test_of_equal_devices_the_gpu_score_decides_r3_84() -> None:
    builder = two_devices(0.1, 0.1)
    builder.pods("z", TaskStatus.RUNNING, node="n", gpu_groups=("two",), queue="q", gpus=0.1)
    cluster = builder.pending("job", queue="q", gpus=0.1).build()
    assert device_of(cluster, with_fragmentation()) == ("two",)


def arranged(**arguments: str) -> Profile:
    """The profile with arguments of the plugin."""
    found = with_fragmentation()
    named = PluginConfig("fragmentation", arguments)
    return replace(found, plugins=tuple(named if each.name == named.name else each for each in found.plugins))


@pytest.mark.parametrize(("ties", "node"), [("fewest", "c"), ("most", "b"), ("name", "a")])
@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_order_of_equal_nodes_is_an_argument_r3_83(ties: str, node: str, speedups: tuple[str, ...]) -> None:
    builder = ClusterBuilder().node("a", gpus=4).node("b", gpus=8).node("c", gpus=2).queue("q", quota=-1)
    cluster, profile = builder.pending("job", queue="q", gpus=1).build(), arranged(ties=ties)
    profile = replace(profile, options=replace(profile.options, speedups=speedups))
    assert statuses(cluster, answer(cluster, profile))["job-0"] == (TaskStatus.BINDING, node)


@pytest.mark.parametrize(("copies", "node"), [("0", "b"), ("100", "a")])
def test_weight_of_copies_is_an_argument_r3_82(copies: str, node: str) -> None:
    """On `b`, three of four pods lose their CPU: for one pod alone nothing is lost."""
    builder = ClusterBuilder().node("a", gpus=8, cpus=64).node("b", gpus=4, cpus=4).queue("q", quota=-1)
    builder.pending("job", queue="q", gpus=1, cpus=3, priority=100)
    cluster = builder.pending("z", queue="q", gpus=1, cpus=1, count=99).build()
    assert statuses(cluster, answer(cluster, arranged(copies=copies)))["job-0"][1] == node


@pytest.mark.parametrize("arguments", [{"copies": "101"}, {"copies": "x"}, {"mix": "0"}, {"ties": "random"}])
def test_arguments_that_mean_nothing_are_refused(arguments: dict[str, str]) -> None:
    ((path, _),) = check_profile(arranged(**arguments))
    assert path.endswith(next(iter(arguments)))


def test_cpu_only_pods_go_to_nodes_without_gpus_r3_85() -> None:
    builder = empty_nodes().pending("job", queue="q", cpus=1)
    assert place_of(builder.build()) == (TaskStatus.BINDING, "d")
    assert max(scores_of(builder.build())) == 50 * 8 + 63 / 8


def test_cpu_only_pods_spare_the_cpu_of_gpus_r3_85() -> None:
    builder = ClusterBuilder().node("a", gpus=2, cpus=8).node("b", gpus=2, cpus=32).queue("q", quota=-1)
    builder.pending("job", queue="q", cpus=4, priority=100).pending("z", queue="q", gpus=1, cpus=4, count=9)
    assert place_of(builder.build()) == (TaskStatus.BINDING, "b")


def test_free_amounts_include_what_terminating_pods_release_r3_86() -> None:
    builder = ClusterBuilder().node("n", gpus=4, gpu_memory_mib=1000).queue("q", quota=-1)
    builder.pods("leaves", TaskStatus.RELEASING, node="n", queue="q", gpus=1)
    builder.pods("x", TaskStatus.RUNNING, node="n", gpu_groups=("one",), queue="q", gpus=0.4)
    builder.pods("y", TaskStatus.RELEASING, node="n", gpu_groups=("one",), queue="q", gpus=0.3)
    session = session_of(builder.pending("job", queue="q", gpus=1).build())
    _, _, whole, parts = Fragmentation(session.plugin_context(), {}).node_state(0)
    assert (whole, parts) == (3, (600,))
