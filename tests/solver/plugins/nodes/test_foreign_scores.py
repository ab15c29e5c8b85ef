"""A scorer of another package: what it sees of tasks, nodes and devices, from the documented views alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.chains import PluginError
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api import SECOND, FreeDevice, PluginConfig, PluginContext, Profile, Registry
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.testing import NOW, ClusterBuilder, check_plugin

HOUR = 3_600 * SECOND


class ByEnd:
    """Shares join the device whose other pods end with them; it sees each device by name."""

    calls: list[tuple[str, str, FreeDevice]] = []

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._context = context

    def device_score(self, task: int, node_index: int, device: FreeDevice) -> int:
        cluster = self._context.cluster
        facts = cluster.tasks[task].facts
        self.calls.append((facts.name, cluster.nodes[node_index].facts.name, device))
        return 1 if facts.nominated_node < 0 and device.name == "two" else 0


class Wrong(ByEnd):
    """Returns fewer scores than nodes."""

    def scores(self, task: int, nodes: Sequence[int]) -> Sequence[float]:
        return [1.0]


def with_plugin(factory: Any) -> tuple[Profile, Registry]:
    default = default_profile()
    plugins = (*default.plugins, PluginConfig("own"))
    return replace(default, plugins=plugins), Registry(
        actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "own": factory}
    )


def shared() -> ClusterBuilder:
    """A node of three devices, of which two are shared; `one` is fuller."""
    builder = ClusterBuilder().node("n", gpus=3, gpu_memory_mib=1000).queue("q", quota=-1)
    builder.pods("x", TaskStatus.RUNNING, node="n", gpu_groups=("one",), queue="q", gpus=0.6)
    return builder.pods("y", TaskStatus.RUNNING, node="n", gpu_groups=("two",), queue="q", gpus=0.2)


def opened(cluster: Cluster) -> PluginContext:
    return Session.open(cluster, with_required_plugins(default_profile()), BUILT_IN).plugin_context()


def test_score_of_a_device_sees_task_node_and_device_r3_45() -> None:
    ByEnd.calls = []
    cluster = shared().pending("job", queue="q", gpus=0.3).build()
    profile, registry = with_plugin(ByEnd)
    (group,) = answer(cluster, profile, registry=registry).groups
    assert group.bindings[0].gpu_groups == ("two",)
    assert {device for name, node, device in ByEnd.calls if (name, node) == ("job-0", "n")} == {
        FreeDevice("one", 400, 1000),
        FreeDevice("two", 800, 1000),
        FreeDevice("", 1000, 1000),
    }
    assert check_plugin(ByEnd) == []


def test_view_of_a_node_lists_shared_devices_with_their_free_parts_r3_45() -> None:
    builder = shared()
    builder.pods("leaves", TaskStatus.RELEASING, node="n", gpu_groups=("one",), queue="q", gpus=0.1)
    builder.pods("gone", TaskStatus.RELEASING, node="n", gpu_groups=("three",), queue="q", gpus=0.5)
    info = opened(builder.build()).ledger.node_info(0)
    assert info.shared_devices() == (FreeDevice("one", 400, 1000), FreeDevice("two", 800, 1000))
    assert info.free_parts() == (400, 800)


def test_scores_of_another_number_than_nodes_name_the_plugin() -> None:
    cluster = shared().node("m", gpus=3).pending("job", queue="q", gpus=1).build()
    profile, registry = with_plugin(Wrong)
    with pytest.raises(PluginError, match="scores returned 1 values for 2 nodes") as raised:
        answer(cluster, profile, registry=registry)
    assert raised.value.plugin == "own"


def test_expected_runtime_and_end_are_in_the_context_r17_1() -> None:
    builder = ClusterBuilder().node("n", gpus=4).queue("q", quota=-1, expected_runtime="3h")
    builder.running("own", queue="q", gpus=1, node="n", started_ago="1h", expected_runtime="2h")
    builder.running("of_queue", queue="q", gpus=1, node="n", started_ago="1h")
    builder.running("late", queue="q", gpus=1, node="n", started_ago="5h", expected_runtime="2h")
    builder.pending("waits", queue="q", gpus=1)
    builder.queue("silent", quota=-1).running("none", queue="silent", gpus=1, node="n", started_ago="1h")
    cluster = builder.build()
    context = opened(cluster)
    found = {
        group.facts.name: (context.expected_runtime(group.index), context.expected_end(group.index))
        for group in cluster.pod_groups
        if group.facts.name != "waits"
    }
    (waiting,) = (group.index for group in cluster.pod_groups if group.facts.name == "waits")
    assert context.expected_runtime(waiting) == 3 * HOUR
    assert found == {
        "own": (2 * HOUR, NOW + HOUR),
        "of_queue": (3 * HOUR, NOW + 2 * HOUR),
        "late": (2 * HOUR, NOW + 3 * HOUR),
        "none": (None, None),
    }
