"""Test kit: small clusters in a few lines, and the result of a cycle. Also for authors of plugins.

cluster = (
    ClusterBuilder()
    .node("n1", gpus=4)
    .queue("research", quota=0)
    .queue("product", quota=4)
    .running("old", queue="research", gpus=1, count=4, node="n1", started_ago="5m")
    .pending("new", queue="product", gpus=4)
    .build()
)
decision = answer(cluster, default_profile())
assert statuses(cluster, decision)["new-0"] == (TaskStatus.PIPELINED, "n1")
"""

from tenure.solver.diagnosis.answer import answer
from tenure.solver.play.next_cluster import apply_decisions, placements
from tenure.solver.registry import BUILT_IN, DEFAULT_PLUGINS, check_profile, default_profile
from tenure.solver.testing.builder import ClusterBuilder
from tenure.solver.testing.facts import NOW
from tenure.solver.testing.plugin_check import check_plugin
from tenure.solver.testing.result import TaskState, evictions, statuses

__all__ = [
    "BUILT_IN",
    "DEFAULT_PLUGINS",
    "NOW",
    "ClusterBuilder",
    "TaskState",
    "answer",
    "apply_decisions",
    "check_plugin",
    "check_profile",
    "default_profile",
    "evictions",
    "placements",
    "statuses",
]
