"""Two departments. The first has two leaf queues, and a job runs in one of them."""

from collections.abc import Mapping

from tenure.solver.framework.session import Session
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import JobOptions


def two_departments(job: JobOptions, **minimums: Mapping[str, str]) -> ClusterBuilder:
    """`job` runs in a1. a2 is in the same department, b is not. The arguments are minimums by queue."""
    builder = ClusterBuilder().node("n", gpus=8)
    for name, parent in {"a": "", "a1": "a", "a2": "a", "b": ""}.items():
        values = {f"{key}_min_runtime": queues[name] for key, queues in minimums.items() if name in queues}
        builder.queue(name, parent=parent, **values)
    return builder.running("job", queue="a1", gpus=1, node="n", **job)


def open_min_runtime_session(builder: ClusterBuilder, **arguments: str) -> Session:
    """Open a session with minruntime as its only plugin."""
    settings = (PluginConfig("minruntime", arguments),)
    return Session.open(builder.build(), Profile((), settings), BUILT_IN)
