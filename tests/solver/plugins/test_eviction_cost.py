"""Among equals, the victim that costs less yields first (semantics R14.10-R14.17)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.fate import Fate
from tenure.solver.model.verdict import EvictionCost, VictimCost
from tenure.solver.plugin_api.profile import SPEEDUPS, PluginConfig, Profile
from tenure.solver.plugins.eviction_cost import cost_class, priority_band
from tenure.solver.registry import BUILT_IN, check_profile, default_profile
from tenure.solver.testing import ClusterBuilder

PLUGIN: Final = "evictioncost"


def profile(*actions: str, speedups: tuple[str, ...] = SPEEDUPS, **arguments: str) -> Profile:
    """The default profile with the plugin and these actions."""
    default = default_profile()
    options = replace(default.options, speedups=speedups)
    plugins = (*default.plugins, PluginConfig(PLUGIN, arguments))
    return replace(default, actions=actions, plugins=plugins, options=options)


def victims(builder: ClusterBuilder, decision: CycleResult) -> list[str]:
    """Uids of evicted pods."""
    tasks = builder.build().tasks
    return sorted(tasks[step.task].facts.uid for group in decision.groups for step in group.evictions)


def costs(decision: CycleResult) -> tuple[VictimCost, ...]:
    """Costs of the first decision group."""
    known = decision.groups[0].victim_set
    assert known is not None
    return known.costs


def one_victim(**options: Any) -> ClusterBuilder:
    """`old` (8 GPUs, with these options) uses what `urgent` needs."""
    builder = ClusterBuilder().queue("q", quota=8).node("n", gpus=8)
    options = {"count": 1, "gpus": 8, "priority": 50, **options}
    builder.running("old", queue="q", node="n", **options)
    return builder.pending("urgent", queue="q", priority=90, gpus=8)


GPU_HOUR = 3_600_000
"""Thousandths of a GPU-second."""
LOSSES: dict[str, tuple[dict[str, Any], dict[str, str], float, float]] = {
    "says nothing: what it lost, up to an hour (R14.12)": ({"started_ago": "30m"}, {}, 4, 4),
    "says nothing: no more than an hour (R14.12)": ({"started_ago": "9d"}, {}, 8, 8),
    "says nothing: another limit": ({"started_ago": "9d"}, {"undeclaredLoss": "15m"}, 2, 2),
    "a checkpoint (R14.11)": ({"started_ago": "9d", "checkpoint_ago": "6h"}, {}, 48, 48),
    "a checkpoint long ago: at most a day (R14.11)": (
        {"started_ago": "9d", "checkpoint_ago": "3d"},
        {},
        192,
        192,
    ),
    "a checkpoint long ago: another limit": (
        {"started_ago": "9d", "checkpoint_ago": "3d"},
        {"maxLoss": "30m"},
        4,
        4,
    ),
    "a checkpoint before the last start: since the start": (
        {"started_ago": "2h", "checkpoint_ago": "3h"},
        {},
        16,
        16,
    ),
    "the last multiple of the interval since the start (R14.12)": (
        {"started_ago": "5h", "checkpoint_interval": "2h"},
        {},
        8,
        8,
    ),
    "a time counts before an interval": (
        {"started_ago": "5h", "checkpoint_interval": "2h", "checkpoint_ago": "15m"},
        {},
        2,
        2,
    ),
    "a checkpoint in the future: as if nothing was said (R14.13)": (
        {"started_ago": "9d", "checkpoint_ago": "-1s", "checkpoint_interval": "30m"},
        {},
        8,
        8,
    ),
    "an unknown start (R14.13)": ({"started_ago": None}, {}, 8, 8),
    "an unknown start, with a checkpoint": ({"started_ago": None, "checkpoint_ago": "15m"}, {}, 2, 2),
    "a start in the future": ({"started_ago": "-1h"}, {}, 8, 8),
    "restart (R14.14)": ({"started_ago": "0s", "restart_cost": "30m"}, {}, 4, 0),
    "no restart of what is deleted (R14.14)": (
        {"started_ago": "30m", "restart_cost": "30m", "on_evict": Fate.DELETE},
        {},
        4,
        4,
    ),
    "declared (R14.14)": ({"started_ago": "0s", "eviction_cost": 7_200}, {}, 2, 0),
    "the sum of all": (
        {"started_ago": "9d", "checkpoint_ago": "1h", "restart_cost": "30m", "eviction_cost": 7_200},
        {},
        14,
        8,
    ),
}


@pytest.mark.parametrize(("options", "arguments", "cost", "lost"), LOSSES.values(), ids=LOSSES)
def test_cost_is_lost_work_restart_and_declared_cost_r14_10(
    options: dict[str, Any], arguments: dict[str, str], cost: float, lost: float
) -> None:
    decision = answer(one_victim(**options).build(), profile("preempt", **arguments))
    expected = EvictionCost(int(cost * GPU_HOUR), int(lost * GPU_HOUR))
    assert costs(decision) == (VictimCost(0, 1, expected),)


WEIGHTS: dict[str, tuple[dict[str, Any], int]] = {
    "devices": ({"gpus": 2}, 2_000),
    "a share of a GPU": ({"gpus": 0.5}, 500),
    "CPUs only: 16 of them count as a GPU": ({"gpus": 0, "cpus": 4}, 250),
    "CPUs only: at least a thousandth": ({"gpus": 0, "cpus": 0.001}, 1),
}


@pytest.mark.parametrize(("options", "weight"), WEIGHTS.values(), ids=WEIGHTS)
def test_pods_weigh_their_devices_r14_10(options: dict[str, Any], weight: int) -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=2, pods=1)
    builder.running("old", queue="q", node="n", priority=50, started_ago="1s", **options)
    builder.pending("urgent", queue="q", priority=90, gpus=2 if options["gpus"] else 0)
    assert costs(answer(builder.build(), profile("preempt"))) == (
        VictimCost(0, 1, EvictionCost(weight, weight)),
    )


SURPLUS: dict[str, tuple[dict[str, Any], int, int]] = {
    "surplus loses no work": ({"restart_cost": "1m"}, 2, 0),
    "surplus makes all lose their work, if it says so": (
        {"restart_cost": "1m", "shrink_loses_work": True},
        2,
        8 * 3_600,
    ),
    "the minimum takes all with it": ({"restart_cost": "1m"}, 8, 8 * 3_600),
    "a minimum of nothing: the last pods lose all": ({"min_member": 0}, 8, 8 * 3_600),
}


@pytest.mark.parametrize(("options", "taken", "lost"), SURPLUS.values(), ids=SURPLUS)
def test_work_is_lost_with_the_minimum_r14_11(options: dict[str, Any], taken: int, lost: int) -> None:
    builder = ClusterBuilder().queue("q").node("n", gpus=8)
    options = {"min_member": 6, "priority": 50, "started_ago": "9d", **options}
    builder.running("old", queue="q", node="n", count=8, gpus=1, **options)
    builder.pending("urgent", queue="q", priority=90, gpus=taken)
    restart = 60 * taken if "restart_cost" in options else 0
    assert costs(answer(builder.build(), profile("preempt"))) == (
        VictimCost(0, taken, EvictionCost(1000 * (lost + restart), 1000 * lost)),
    )


def test_classes_double_r14_15() -> None:
    limits = {0: 0, 899: 0, 900: 1, 2_699: 1, 2_700: 2, 5_760: 2, 6_300: 3, 7_200: 3}
    assert {cost: cost_class(1000 * cost) for cost in limits} == limits


def checkpointed() -> ClusterBuilder:
    """Example E14.3: A has a recent checkpoint, B says nothing; B is newer."""
    builder = ClusterBuilder().queue("q", quota=10).node("n1", gpus=8).node("n2", gpus=2)
    builder.running("a", queue="q", priority=50, node="n1", gpus=8, started_ago="6h", created_ago="6h",
                    checkpoint_ago="10m", restart_cost="2m")  # fmt: skip
    builder.running("b", queue="q", priority=50, node="n2", gpus=2, started_ago="4h", created_ago="4h")
    return builder.pending("urgent", queue="q", priority=90, gpus=2)


def ranked(**a: Any) -> Callable[[], ClusterBuilder]:
    """A (with these options) and the newer B, which loses an hour of work, are on the same node."""

    def build() -> ClusterBuilder:
        builder = ClusterBuilder().queue("q", quota=2).queue("r", quota=1).node("n", gpus=2)
        options = {"queue": "q", "priority": 50, "checkpoint_ago": "1s", "created_ago": "6h", **a}
        builder.running("a", node="n", gpus=1, started_ago="6h", **options)
        builder.running("b", queue="q", priority=50, node="n", gpus=1, started_ago="4h", created_ago="4h")
        return builder.pending("urgent", queue="q", priority=90, gpus=1)

    return build


ORDER: dict[str, tuple[Callable[[], ClusterBuilder], dict[str, str], str]] = {
    "E14.3: A yields before B, though B is newer": (checkpointed, {}, "a-0"),
    "a lower class": (ranked(), {}, "a-0"),
    "equal classes: the newer one": (ranked(checkpoint_ago="60m"), {}, "b-0"),
    "near-ties are left to age": (ranked(checkpoint_ago="56m"), {}, "b-0"),
    "priority first (R14.16)": (ranked(priority=51), {}, "b-0"),
    "a band of priorities: cost first": (ranked(priority=59), {"priorityBand": "10"}, "a-0"),
    "the next band: priority first": (ranked(priority=60), {"priorityBand": "10"}, "b-0"),
    "a band and equal costs: priority": (
        ranked(priority=59, checkpoint_ago="60m"),
        {"priorityBand": "10"},
        "b-0",
    ),
}


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
@pytest.mark.parametrize(("cluster", "arguments", "victim"), ORDER.values(), ids=ORDER)
def test_cost_decides_between_priority_and_age_r14_16(
    cluster: Callable[[], ClusterBuilder],
    arguments: dict[str, str],
    victim: str,
    speedups: tuple[str, ...],
) -> None:
    decision = answer(cluster().build(), profile("preempt", speedups=speedups, **arguments))
    assert victims(cluster(), decision) == [victim]


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_surplus_goes_before_a_cheaper_pod_group_without_r14_16(speedups: tuple[str, ...]) -> None:
    def build() -> ClusterBuilder:
        builder = ClusterBuilder().queue("q").node("n", gpus=3)
        builder.running("dear", queue="q", node="n", count=2, gpus=1, priority=50, min_member=1,
                        eviction_cost=2**30, created_ago="9h")  # fmt: skip
        builder.running("cheap", queue="q", node="n", gpus=1, priority=50, checkpoint_ago="1s")
        return builder.pending("urgent", queue="q", priority=90, gpus=1)

    in_order = profile("preempt", speedups=speedups)
    in_order = replace(in_order, options=replace(in_order.options, victim_choice="inOrder"))
    assert victims(build(), answer(build().build(), in_order)) == ["dear-1"]


def test_cost_neither_crosses_queues_nor_makes_anybody_immune_r14_16() -> None:
    """The queue further above its share is taken from, however much that costs."""

    def build() -> ClusterBuilder:
        builder = ClusterBuilder().node("n", gpus=4).queue("far", quota=0).queue("near", quota=0)
        builder.queue("mine", quota=1)
        for name in ("dear", "dearer", "dearest"):
            builder.running(name, queue="far", node="n", gpus=1, priority=50, eviction_cost=2**30)
        builder.running("cheap", queue="near", node="n", gpus=1, priority=50, checkpoint_ago="1s")
        return builder.pending("new", queue="mine", gpus=1)

    assert victims(build(), answer(build().build(), profile("reclaim"))) == ["dear-0"]


def test_victims_of_earlier_groups_are_gone_when_a_later_one_is_priced() -> None:
    """One surplus pod for `one` costs nothing; the rest for `two` takes the minimum."""
    builder = ClusterBuilder().queue("q").node("n", gpus=3)
    builder.running("old", queue="q", node="n", count=3, gpus=1, priority=50, min_member=2, started_ago="9d")
    builder.pending("one", queue="q", priority=95, gpus=1).pending("two", queue="q", priority=90, gpus=2)
    decision = answer(builder.build(), profile("preempt"))
    known = [group.victim_set for group in decision.groups]
    assert [each and [(c.pods, c.price.lost) for c in each.costs] for each in known] == [
        [(1, 0)],
        [(2, 2 * GPU_HOUR)],
    ]


WRONG = {
    "maxLoss": ("soon", "duration"),
    "undeclaredLoss": ("-1h", "is not a duration of zero or more"),
    "priorityBand": ("0", "'0' is not a number of priorities from 1 to 2147483648"),
}


@pytest.mark.parametrize("argument", WRONG)
def test_wrong_arguments_are_refused(argument: str) -> None:
    text, problem = WRONG[argument]
    [(path, found)] = check_profile(profile("preempt", **{argument: text}), BUILT_IN)
    assert path == f"plugins[{len(default_profile().plugins)}].arguments.{argument}"
    assert problem in found


def test_widest_band_has_all_priorities() -> None:
    assert priority_band(str(2**31)) == 2**31
