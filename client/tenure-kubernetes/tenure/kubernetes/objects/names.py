"""Names of annotations and labels; those of `tenure.terms.annotations` that code needs by name are here."""

from typing import Final

from tenure.terms.annotations import ANNOTATIONS, Writer, annotation, key_of, written_by

PREEMPTIBILITY, VOLCANO_PREEMPTABLE = annotation("preemptibility").keys
SAFE_TO_CONSOLIDATE: Final = key_of("safe-to-consolidate")
EXPECTED_RUNTIME: Final = key_of("expected-runtime")
REQUEUE_DELAY: Final = key_of("requeue-delay")
MIN_RUNTIME: Final = key_of("min-runtime")
REQUEUE_NOT_BEFORE: Final = key_of("requeue-not-before")
SENT: Final = tuple(each for each in written_by(Writer.USER) if each.is_sent and not each.is_label)
"""Annotations of pod groups by users that are sent unchanged: the server parses them, and warns."""
DURATIONS: Final = tuple(each.key for each in SENT)

LAST_CHECKPOINT: Final = key_of("last-checkpoint-time")
EVICTION_COST: Final = key_of("eviction-cost")
LAST_START: Final = key_of("last-start-timestamp")
LAST_EVICTION: Final = key_of("last-eviction-timestamp")
EVICTION_COUNT: Final = key_of("eviction-count")
TOTAL_EVICTION_WAIT: Final = key_of("total-eviction-wait")
EVICTIONS_WITHOUT_PROGRESS: Final = key_of("evictions-without-progress")
EVICT_TIME: Final = key_of("evict-time")
EVICTION_NOTICE: Final = "tenure.scheduler/EvictionNotice"
"""Condition of pods that are to be evicted, from their notice on."""
HELD_BY: Final = key_of("held-by")
EVICTIONS: Final = key_of("evictions")
BACKFILL_FOR: Final = key_of("backfill-for")
GRANT: Final = key_of("grant")
SIGNATURE: Final = key_of("signature")
"""Annotation of a pod group: proves that the adapter wrote the stored ones."""
STORED: Final = tuple(each.key for each in written_by(Writer.ADAPTER) if each.key != SIGNATURE)
"""Annotations of pod groups that store patches of the server."""

ON_EVICT: Final = key_of("on-evict")
CLASS_LIMITS: Final = key_of("class-limits")
CLASS_QUOTAS: Final = key_of("class-quotas")
LENDING_LIMIT: Final = key_of("lending-limit")
USER_LIMITS: Final = key_of("user-limits")
USER_QUOTAS: Final = key_of("user-quotas")
USER_MAX_RUNNING: Final = key_of("user-max-running")
"""Annotations of queues: bounds beside quota and limit, and those of the queue of each user."""
OF_QUEUES: Final = frozenset(each.key for each in ANNOTATIONS if each.on_queue and not each.on_pod_group)
"""Annotations of queues that nothing else has."""
OF_POD_GROUPS: Final = frozenset(
    each.key for each in written_by(Writer.USER) if not each.on_queue and not each.is_label
)
"""Annotations of pod groups that queues do not have."""
NODE_CLASS_LABELS: Final = ("tenure.scheduler/node-class", "nvidia.com/gpu.product")
"""Labels of nodes with their class, the first one that counts first."""
HOLD: Final = key_of("hold")
DEPENDS_ON: Final = key_of("depends-on")
NOT_BEFORE: Final = key_of("not-before")
RELEASED: Final = key_of("released")
"""Annotations by users: holds."""
PREEMPTION_DELAY: Final = key_of("preemption-delay")
STALENESS_GRACE_PERIOD: Final = key_of("staleness-grace-period")
"""Annotations by users for fields that pod groups of KAI have."""
TOPOLOGY: Final = key_of("topology")
TOPOLOGY_REQUIRED: Final = key_of("topology-required-placement")
TOPOLOGY_PREFERRED: Final = key_of("topology-preferred-placement")
"""Annotations of owners and pods: the topology constraint of the derived pod group."""
SEGMENTS: Final = tuple(
    key_of(f"segment-{name}")
    for name in ("size", "topology-required-placement", "topology-preferred-placement")
)
GPU_SHARING_MODE: Final = key_of("gpu-compute-sharing-mode")
"""Annotations of owners and pods that are not supported: pods with one wait."""

SKIP_POD_GROUPER: Final = key_of("skip-podgrouper")
"""Annotation of owners and pods: `true`, and nothing else, means that no pod group is derived."""
NODE_POOL: Final = "kai.scheduler/node-pool"
"""Label of pods and other objects: the node pool that they are for, unless another one is configured."""
PROJECT: Final = "project"
"""Label of owners and pods: the queue, if nothing else names one; before a hyphen and the node pool."""
KAI_POD_GROUP: Final = "pod-group-name"
VOLCANO_POD_GROUPS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""Annotations of pods: the name of their pod group."""
SUB_GROUP: Final = "kai.scheduler/subgroup-name"
VOLCANO_TASK: Final = "volcano.sh/task-spec"
"""Subgroup of a pod: a label of KAI, an annotation of Volcano."""

QUEUE, VOLCANO_QUEUE = annotation("queue").keys
PRIORITY_CLASSES: Final = annotation("priority-class-name").keys
"""Annotations or labels with a priority class, the first one that counts first: of Ray, KAI and Run:ai."""
WISHES: Final = (
    *(
        key
        for each in ANNOTATIONS
        if each.writer is Writer.USER and (each.on_pod_group or each.on_other)
        for key in each.keys
    ),
    PROJECT,
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
DEVICE_ALLOCATOR: Final = key_of("device-allocator")
"""Annotation of resource claims: the adapter that allocated their devices."""
NODE_NAME_FIELD: Final = "metadata.name"
"""Field of node affinities; each node row has it as a label."""
