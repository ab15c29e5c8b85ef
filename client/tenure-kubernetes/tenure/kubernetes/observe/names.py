"""Names of annotations and labels."""

from typing import Final

PREEMPTIBILITY: Final = "kai.scheduler/preemptibility"
EXPECTED_RUNTIME: Final = "kai.scheduler/expected-runtime"
REQUEUE_DELAY: Final = "kai.scheduler/requeue-delay"
REQUEUE_NOT_BEFORE: Final = "kai.scheduler/requeue-not-before"
MIN_RUNTIME: Final = "kai.scheduler/min-runtime"
DURATIONS: Final = (EXPECTED_RUNTIME, REQUEUE_DELAY, MIN_RUNTIME)
"""Annotations of pod groups by users that are sent unchanged: the server parses them, and warns."""

LAST_CHECKPOINT: Final = "tenure.scheduler/last-checkpoint-time"
CHECKPOINT_INTERVAL: Final = "tenure.scheduler/checkpoint-interval"
RESTART_COST: Final = "tenure.scheduler/restart-cost"
EVICTION_COST: Final = "tenure.scheduler/eviction-cost"
SHRINK_LOSES_WORK: Final = "tenure.scheduler/shrink-loses-work"
COSTS: Final = (LAST_CHECKPOINT, CHECKPOINT_INTERVAL, RESTART_COST, EVICTION_COST, SHRINK_LOSES_WORK)
"""Annotations of pod groups by users: what an eviction costs (semantics R14.10 to R14.14)."""

LAST_START: Final = "kai.scheduler/last-start-timestamp"
LAST_EVICTION: Final = "kai.scheduler/last-eviction-timestamp"
STALE_SINCE: Final = "kai.scheduler/stale-podgroup-timestamp"
EVICTION_COUNT: Final = "tenure.scheduler/eviction-count"
TOTAL_EVICTION_WAIT: Final = "tenure.scheduler/total-eviction-wait"
EVICTIONS_WITHOUT_PROGRESS: Final = "tenure.scheduler/evictions-without-progress"
LAST_NOTICE: Final = "tenure.scheduler/last-notice-timestamp"
EVICT_TIME: Final = "tenure.scheduler/evict-time"
EVICTION_NOTICE: Final = "tenure.scheduler/EvictionNotice"
"""Annotation and condition of pods that are to be evicted, from their notice on."""
HELD_BY: Final = "tenure.scheduler/held-by"
EVICTIONS: Final = "tenure.scheduler/evictions"
BACKFILL_FOR: Final = "tenure.scheduler/backfill-for"
STORED: Final = (
    LAST_START,
    LAST_EVICTION,
    STALE_SINCE,
    REQUEUE_NOT_BEFORE,
    EVICTION_COUNT,
    TOTAL_EVICTION_WAIT,
    EVICTIONS_WITHOUT_PROGRESS,
    LAST_NOTICE,
    HELD_BY,
    EVICTIONS,
    BACKFILL_FOR,
)
"""Annotations of pod groups that store patches of the server."""
SIGNATURE: Final = "tenure.scheduler/signature"
"""Annotation of a pod group: proves that the adapter wrote the stored ones."""

ON_EVICT: Final = "tenure.scheduler/on-evict"
AT_EVICTION_LIMIT: Final = "tenure.scheduler/at-eviction-limit"
"""Annotation of queues: what happens to pod groups that were evicted as often as they may be."""
CLASS_LIMITS: Final = "tenure.scheduler/class-limits"
CLASS_QUOTAS: Final = "tenure.scheduler/class-quotas"
LENDING_LIMIT: Final = "tenure.scheduler/lending-limit"
MAX_RUNNING: Final = "tenure.scheduler/max-running"
"""Annotations of queues: bounds beside quota and limit."""
USER_LIMITS: Final = "tenure.scheduler/user-limits"
USER_QUOTAS: Final = "tenure.scheduler/user-quotas"
USER_MAX_RUNNING: Final = "tenure.scheduler/user-max-running"
"""Annotations of queues: bounds of the queue of each user."""
OF_QUEUES: Final = frozenset(
    (
        AT_EVICTION_LIMIT,
        *(CLASS_LIMITS, CLASS_QUOTAS, LENDING_LIMIT, MAX_RUNNING),
        *(USER_LIMITS, USER_QUOTAS, USER_MAX_RUNNING),
    )
)
"""Annotations of queues that nothing else has."""
NODE_CLASS_LABELS: Final = ("tenure.scheduler/node-class", "nvidia.com/gpu.product")
"""Labels of nodes with their class, the first one that counts first."""
SUSPENDABLE: Final = "tenure.scheduler/suspendable"
TIME_LIMIT: Final = "tenure.scheduler/time-limit"
ON_TIME_LIMIT: Final = "tenure.scheduler/on-time-limit"
"""Annotations of pod groups and queues by users."""
HOLD: Final = "tenure.scheduler/hold"
DEPENDS_ON: Final = "tenure.scheduler/depends-on"
NOT_BEFORE: Final = "tenure.scheduler/not-before"
RELEASED: Final = "tenure.scheduler/released"
"""Annotations by users: what becomes of a victim, and holds."""
OF_POD_GROUPS: Final = frozenset((SUSPENDABLE, HOLD, DEPENDS_ON, NOT_BEFORE, RELEASED))
"""Annotations of pod groups that queues do not have."""
NOTICE: Final = "tenure.scheduler/notice"
"""Annotation of pod groups and queues by users: the notice of their pods before an eviction."""
CHECKPOINT_ON_NOTICE: Final = "tenure.scheduler/checkpoint-on-notice"
"""Annotation by users: the workload saves its work on notice, and writes the time of that checkpoint."""
PREEMPTION_DELAY: Final = "kai.scheduler/preemption-delay"
"""Annotation of owners and pods without a pod group object."""

KAI_POD_GROUP: Final = "pod-group-name"
VOLCANO_POD_GROUPS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""Annotations of pods: the name of their pod group."""
SUB_GROUP: Final = "kai.scheduler/subgroup-name"
VOLCANO_TASK: Final = "volcano.sh/task-spec"
"""Subgroup of a pod: a label of KAI, an annotation of Volcano."""
MAX_MIN_RUNTIME: Final = "kai.scheduler/max-min-runtime"
"""Annotation of queues: the longest minimum runtime that their pod groups may set for themselves."""
VOLCANO_PREEMPTABLE: Final = "volcano.sh/preemptable"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"

QUEUE: Final = "kai.scheduler/queue"
PRIORITY_CLASSES: Final = ("ray.io/priority-class-name", "priorityClassName", "runai/priority-class")
"""Annotations or labels with a priority class, the first one that counts first: of Ray, KAI and Run:ai."""
WISHES: Final = (
    PREEMPTIBILITY,
    VOLCANO_PREEMPTABLE,
    *DURATIONS,
    *COSTS,
    PREEMPTION_DELAY,
    ON_EVICT,
    SUSPENDABLE,
    TIME_LIMIT,
    ON_TIME_LIMIT,
    HOLD,
    DEPENDS_ON,
    NOT_BEFORE,
    RELEASED,
    NOTICE,
    CHECKPOINT_ON_NOTICE,
    QUEUE,
    VOLCANO_QUEUE,
    *PRIORITY_CLASSES,
)
"""Annotations and labels that are read from owners."""
TASK_PRIORITY: Final = "kai.scheduler/task-priority"
LEADER_LABELS: Final = {
    "training.kubeflow.org/job-role": frozenset(("master", "launcher")),
    "training.kubeflow.org/replica-type": frozenset(("master", "launcher")),
    "ray.io/node-type": frozenset(("head",)),
}
"""Labels of leader pods, with their values."""

GPU_FRACTION: Final = "gpu-fraction"
GPU_MEMORY: Final = "gpu-memory"
GPU_DEVICES: Final = "gpu-fraction-num-devices"
"""Annotations of pods with a GPU share."""
GPU_GROUP: Final = "runai-gpu-group"
"""Label of a pod with a shared GPU; with several GPUs, "/" and the device are appended."""
RESERVATION_NAMESPACE: Final = "kai-resource-reservation"
"""Namespace of pods that reserve whole GPUs for sharing pods. Only the sharing pods count."""

GPU_MEMORY_LABEL: Final = "nvidia.com/gpu.memory"
MIG_STRATEGY_LABEL: Final = "nvidia.com/mig.strategy"
MIG_PREFIX: Final = "nvidia.com/mig-"
DEVICE_ALLOCATOR: Final = "tenure.scheduler/device-allocator"
"""Annotation of resource claims: the adapter that allocated their devices."""
NODE_NAME_FIELD: Final = "metadata.name"
"""Field of node affinities; each node row has it as a label."""
