"""A guard of another package with a reason of its own: pod groups of a queue write checkpoints."""

from collections.abc import Mapping

from tenure.solver.plugin_api import (
    SECOND,
    Action,
    CustomReason,
    GuardVerdict,
    PluginContext,
    ProtectionScope,
)

WRITING = CustomReason(
    "CheckpointRunning",
    clause="a checkpoint is being written",
    public="It is protected: it writes a checkpoint.",
    remedy="wait until the checkpoint is written",
)


class CheckpointGuard:
    """Protects the pod groups of a queue for ten minutes."""

    ARGUMENTS = {"queue": str}
    REASONS = (WRITING,)

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._groups = context.cluster.pod_groups
        self._end = context.now + 600 * SECOND
        self._queue = arguments.get("queue", "")

    def guard(self, action: Action, preemptor: int, victim: int) -> GuardVerdict | None:
        facts = self._groups[victim].facts
        if facts.queue_name != self._queue:
            return GuardVerdict(ProtectionScope.NOTHING, "its checkpoint")
        detail = f"{facts.name} writes to volume secret"
        return GuardVerdict(ProtectionScope.ALL, "its checkpoint", self._end, detail, custom=WRITING)
