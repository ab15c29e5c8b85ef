"""The simulation writes runtimes of finished jobs, as callers do: plugins of every package read them."""

from dataclasses import replace

from tenure.simulator.runs import play
from tenure.solver.plugin_api import QUEUE_RUNTIMES
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, default_profile

from tests.simulator.played import job, run_input

JOBS = [
    job("first", 0, 60),
    job("second", 100, 30, gpus=2),
    job("third", 200, 90),
    job("last", 400, 10, queue="b"),
]


class RuntimeReader:
    """An order of another package, which looks at the history only."""

    seen: tuple = ()

    def __init__(self, context, arguments) -> None:
        queues = context.cluster.queues
        RuntimeReader.seen = tuple(
            (queues[row.queue].facts.name, row.sizes) for row in context.cluster.carried.rows(QUEUE_RUNTIMES)
        )

    def pod_group_key(self, pod_group, active) -> int:
        return 0


def test_a_plugin_of_another_package_reads_runtimes_in_a_play() -> None:
    default = default_profile()
    profile = replace(default, plugins=(*default.plugins, PluginConfig("reader", {})))
    registry = Registry(actions=BUILT_IN.actions, plugins={**BUILT_IN.plugins, "reader": RuntimeReader})
    play(run_input(JOBS, policy=profile), registry)
    assert RuntimeReader.seen == (("a", ((1000, (60, 90)), (2000, (30,)))),)
