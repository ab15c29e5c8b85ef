"""Names of spans, attributes and events. All values but ids, versions and counts come from finite sets.

Workloads are named in events alone, and there only when the configuration says so.
"""

from typing import Final

from tenure.solver.framework.observer import Part

CYCLE: Final = "tenure.cycle"
DELTA: Final = "tenure.state.delta"
SPAN_OF: Final = {
    Part.DECODE: "tenure.snapshot.decode",
    Part.SESSION: "tenure.session",
    Part.ACTION: "tenure.action",
    Part.POD_GROUP: "tenure.pod_group",
    Part.SCENARIO: "tenure.scenario",
    Part.PLUGIN: "tenure.plugin",
    Part.FOLD: "tenure.decision.fold",
    Part.ENCODE: "tenure.decision.encode",
}
"""Of an action and of a plugin the name follows after a space: `tenure.action reclaim`."""

CLUSTER: Final = "tenure.cluster"
NODE_POOL: Final = "tenure.node_pool"
VERSION: Final = "tenure.snapshot.version"
PROFILE: Final = "tenure.profile.digest"
GROUPS: Final = "tenure.decision.groups"
STOPPED_EARLY: Final = "tenure.stopped_early"
ACTION: Final = "tenure.action"
PLUGIN: Final = "tenure.plugin"
HOOK: Final = "tenure.hook"
OUTCOME: Final = "tenure.outcome"
POD_GROUP_INDEX: Final = "tenure.pod_group.index"
"""Place of the pod group among those of the snapshot, by uid: the same within a cycle, and no name."""
DECISION: Final = "tenure.decision.id"
MORE: Final = "tenure.more."
"""Before the kind of what is counted because it has no span of its own: `tenure.more.scenarios`."""

DECISION_EVENT: Final = "tenure.decision"
STEPS: Final = "tenure.decision.steps"
POD_GROUP_EVENT: Final = "tenure.pod_group"
POD_GROUP_UID: Final = "tenure.pod_group.uid"
