"""The observed part of a cluster; its topologies and priorities (semantics R1.81); who may use which queue.

Users write queues and priority classes into their own objects. What they may name is configured.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_cache import ObjectCache
from tenure.kubernetes.limits.set_aside import SetAsideReason, SetAsideTable
from tenure.kubernetes.limits.user_queues import UserQueueRules
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.kai import Topology
from tenure.kubernetes.objects.meta import cluster_reference
from tenure.kubernetes.objects.node import Namespace, PriorityClass
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.rows.row_table import RowTable, readable
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_LEVELS
from tenure.wire.row_limits import SenderLimits


def _unusable_levels(topology: Topology) -> str:
    """Why a topology cannot be referenced; "": it can."""
    labels = [level.node_label for level in topology.spec.levels]
    if not labels or "" in labels:
        return "a level has no node label" if labels else "it has no levels"
    others = (level for level in topology.spec.levels if level.alias not in ("", level.node_label))
    named = [*labels, *(level.alias for level in others)]
    twice = next((name for name in named if named.count(name) > 1), "")
    return readable(f"{twice[:64]!r} names two of its levels") if twice else ""


def _names_of_levels(topology: Topology) -> dict[str, str]:
    """Node labels by what names them."""
    levels = topology.spec.levels
    named = {level.node_label: level.node_label for level in levels}
    return named | {level.alias: level.node_label for level in levels if level.alias}


_NO_CLASS: Final = 50
"""Default priority of pods without an existing class, if the cluster has no default."""


NEVER: Final = "Never"
"""The preemption policy of classes and pods for which no pods are evicted."""
_SYSTEM: Final = "system-"
"""Prefix of the classes that Kubernetes reserves for its own components."""


class Priorities(NamedTuple):
    """Priorities by class, and the default."""

    values: Mapping[str, int] = {}
    default: int = _NO_CLASS
    permitted: Sequence[str] = ("*",)
    """Patterns of the classes that labels and pod groups may name, which no admission control has checked."""
    never: frozenset[str] = frozenset()
    """Classes for which no pods are evicted."""

    @classmethod
    def of(cls, classes: Iterable[PriorityClass], permitted: Sequence[str] = ("*",)) -> "Priorities":
        """Priorities of the classes of a cluster. Of several defaults the first name counts."""
        known = sorted(classes, key=lambda one: one.metadata.name)
        default = next((one.value for one in known if one.global_default), _NO_CLASS)
        never = frozenset(one.metadata.name for one in known if one.preemption_policy == NEVER)
        return cls({one.metadata.name: one.value for one in known}, default, permitted, never)

    def permits(self, name: str, warnings: list[str]) -> bool:
        """Whether a label or a pod group may name a class; else a warning.

        A class with the prefix "system-" requires a pattern with this prefix.
        """
        patterns = (one for one in self.permitted if one.startswith(_SYSTEM) or not name.startswith(_SYSTEM))
        if not name or any(fnmatchcase(name, pattern) for pattern in patterns):
            return True
        warnings.append(f"priority class {name!r} is not permitted in labels and pod groups: it is ignored")
        return False

    def of_pod_group(self, names: Sequence[str], pods: Sequence[Pod], warnings: list[str]) -> int:
        """Priority of a pod group by the first class that exists; without permission, that of its pods."""
        permitted = [name for name in names if self.permits(name, warnings)]
        own = None if permitted or not names else self.of_pods(pods)
        return self.first_of(permitted, warnings) if own is None else own

    def never_evicts(self, names: Sequence[str], pods: Iterable[Pod]) -> bool:
        """Whether no pods are evicted for a pod group: by its class, or by a pod that waits."""
        known = next((name for name in names if name in self.values and self.permits(name, [])), "")
        waiting = (pod.spec for pod in pods if not pod.spec.node_name)
        return known in self.never or any(spec.preemption_policy == NEVER for spec in waiting)

    def first_of(self, names: Sequence[str], warnings: list[str]) -> int:
        """Priority of the first class that exists. If none does, that is a warning."""
        known = next((name for name in names if name in self.values), "")
        return self.of_class(known or next(iter(names), ""), warnings)

    def of_pods(self, pods: Iterable[Pod]) -> int | None:
        """The lowest priority that the API server resolved for pods with a class; None: none has one."""
        specs = (pod.spec for pod in pods if pod.spec.priority_class_name)
        known = (
            self.values.get(one.priority_class_name) if one.priority is None else one.priority
            for one in specs
        )
        return min((one for one in known if one is not None), default=None)

    def of_class(self, name: str, warnings: list[str]) -> int:
        """Priority of a class. A missing class is a warning."""
        if name and name not in self.values:
            warnings.append(f"priority class {name!r} does not exist: priority {self.default} is used")
        return self.values.get(name, self.default)


QUEUE_LABEL: Final = "queues.tenure.scheduler/"
"""Prefix of namespace labels; the name of a queue follows."""


def labelled_queues(namespaces: Iterable[Namespace]) -> dict[str, frozenset[str]]:
    """Queues that the labels of namespaces permit, by namespace."""
    found = {}
    for one in namespaces:
        keys = (key for key in one.metadata.labels if key.startswith(QUEUE_LABEL))
        if queues := frozenset(key.removeprefix(QUEUE_LABEL) for key in keys):
            found[one.metadata.name] = queues
    return found


@dataclass(frozen=True, slots=True)
class QueueAccess:
    """Which namespaces may use which queue. Default: all may use all."""

    namespaces: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Patterns of namespaces, by queue."""
    by_label: bool = False
    """Whether a label of the namespace permits a queue, and every queue requires a permission."""
    is_denied_by_default: bool = False
    """Whether a queue without patterns is for no namespace."""

    def permits(self, queue: str, namespace: str, labelled: frozenset[str]) -> bool:
        """Whether a namespace, with labels for these queues, may use a queue."""
        patterns = self.namespaces.get(queue)
        if patterns is not None and any(fnmatchcase(namespace, pattern) for pattern in patterns):
            return True
        if self.by_label:
            return queue in labelled
        return patterns is None and not self.is_denied_by_default


@dataclass(frozen=True, slots=True)
class SnapshotScope:
    """The scheduled pods and nodes.

    The default of `scheduler_name` is that of KAI-Scheduler, so that workloads need no change.
    """

    cluster_id: str
    scheduler_name: str = "kai-scheduler"
    node_pool: str = ""
    """Value of the label; "": nodes, queues and pod groups without the label."""
    node_pool_label: str = names.NODE_POOL
    """Empty: all nodes, queues and pod groups belong to the pool."""
    derive: bool = True
    """Whether pods without a pod group get one that is derived from their owner.

    Turn it off if another controller creates pod groups: a pod may be observed before it names its pod group.
    """
    default_queue: str = "default-queue"
    """Queue of derived pod groups without a queue."""
    queue_access: QueueAccess = field(default_factory=QueueAccess)
    user_queues: UserQueueRules = field(default_factory=UserQueueRules)
    priority_classes: Sequence[str] = ("*",)
    """Patterns of the priority classes that labels and pod groups may name."""
    has_budgets: bool = True
    """Whether evictions respect disruption budgets."""

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels belongs to the node pool."""
        if not self.node_pool_label:
            return True
        return labels.get(self.node_pool_label, "") == self.node_pool


def read_topologies(
    cache: ObjectCache[Topology],
    table: RowTable[pb.Topology],
    set_aside: SetAsideTable,
    changed: Set[str],
    limits: SenderLimits,
) -> dict[str, dict[str, str]]:
    """Update the rows of changed topologies.

    Returns the node labels of levels, by topology with a row, and by what names a level.
    """
    found = {one.metadata.uid: one for one in cache.all()}
    for uid in changed - found.keys():
        set_aside.discard(f"topology {uid}")
    rows: dict[str, pb.Topology] = {}
    levels: dict[str, dict[str, str]] = {}
    for uid, one in found.items():
        labels = [level.node_label for level in one.spec.levels]
        row = pb.Topology(name=one.metadata.name, levels=labels)
        problem = _unusable_levels(one) or _topology_problem(row, limits)
        target = cluster_reference("kai.scheduler/v1alpha1", "Topology", one.metadata)
        set_aside.put(f"topology {uid}", target, SetAsideReason(problem))
        if not problem:
            rows[row.name], levels[row.name] = row, _names_of_levels(one)
    table.replace(rows)
    return levels


def _topology_problem(row: pb.Topology, limits: SenderLimits) -> str:
    if len(row.levels) > MAX_LEVELS:
        return f"it has {len(row.levels):,} levels, more than {MAX_LEVELS}"
    return limits.problem(row)
