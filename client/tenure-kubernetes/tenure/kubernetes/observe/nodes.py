"""Nodes (semantics R1.15, R1.28, R1.32), less what is taken on them by pods that are in no row (R4.1).

Room on nodes that is taken by pods without a row: those of other schedulers, and those we cannot place.

It is taken off what their node offers, so that nobody is placed there, nobody is evicted to get it, and
queues do not share it (semantics R4.1).

Which resources nodes offer: what a snapshot names, of all that anybody may ask for.

A server refuses a snapshot of too many names. Nodes name few; pods may name anything, so of theirs only
what some node offers is told.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from tenure.kubernetes.objects.meta import Condition
from tenure.kubernetes.objects.node import Node as NodeObject
from tenure.kubernetes.objects.node import Taint as TaintObject
from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.resource_amounts import (
    MAX_REQUEST,
    Amounts,
    clamp,
    is_extended,
    read_amounts,
    subtract,
    to_resources,
)
from tenure.v1 import snapshot_pb2 as pb


class ForeignUsage:
    """What is taken, by node and pod."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}
        """Name of the node of each pod."""
        self._amounts: dict[str, dict[str, Amounts]] = {}
        self._changed: set[str] = set()

    def put(self, uid: str, node: str, amounts: Amounts | None) -> None:
        """The pod takes this on the node from now on; None: it takes nothing anywhere."""
        before = self._nodes.get(uid)
        if before is not None and (
            amounts is None or before != node or self._amounts[before][uid] != amounts
        ):
            del self._nodes[uid], self._amounts[before][uid]
            self._changed.add(before)
            if not self._amounts[before]:
                del self._amounts[before]
        if amounts is not None and uid not in self._nodes:
            self._nodes[uid] = node
            self._amounts.setdefault(node, {})[uid] = amounts
            self._changed.add(node)

    def on(self, node: str) -> Iterable[Amounts]:
        """What each pod takes on a node."""
        return self._amounts.get(node, {}).values()

    def take_changes(self) -> set[str]:
        """Names of nodes where it changed since this was called last."""
        changes, self._changed = self._changed, set()
        return changes


MAX_NAMES: Final = 200
"""Kinds of resources that are told, of the 256 of a snapshot: it has four of its own, and device classes."""


class OfferedResources:
    """Names of extended resources, by the nodes that have them."""

    def __init__(self) -> None:
        self._of_node: dict[str, frozenset[str]] = {}
        self._nodes: Counter[str] = Counter()
        """How many nodes have it."""
        self.names: frozenset[str] = frozenset()
        """All of them; where there are too many, the first in alphabetical order."""

    def put(self, node: str, resources: Iterable[str]) -> None:
        """The node has these resources from now on; none: it is gone, or of no account."""
        before = self._of_node.pop(node, frozenset())
        now = frozenset(filter(is_extended, resources))
        if now:
            self._of_node[node] = now
        self._nodes.update(now - before)
        self._nodes.subtract(before - now)
        for name in before - now:
            if not self._nodes[name]:
                del self._nodes[name]

    def update(self) -> bool:
        """Bring `names` up to date; whether they are others than before."""
        before, self.names = self.names, frozenset(sorted(self._nodes)[:MAX_NAMES])
        return self.names != before

    @property
    def is_full(self) -> bool:
        """Whether some may be left out."""
        return len(self.names) == MAX_NAMES


EFFECTS: Final = {
    "": pb.TAINT_EFFECT_UNSPECIFIED,
    "NoSchedule": pb.TAINT_EFFECT_NO_SCHEDULE,
    "PreferNoSchedule": pb.TAINT_EFFECT_PREFER_NO_SCHEDULE,
    "NoExecute": pb.TAINT_EFFECT_NO_EXECUTE,
}
"""Effects of taints by Kubernetes name."""
_STRATEGIES: Final = {"single": pb.MIG_STRATEGY_SINGLE, "mixed": pb.MIG_STRATEGY_MIXED}
_MUST_BE_FALSE: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_BYTES_FROM: Final = 2**20
"""A GPU memory label from here on is in bytes, not in MiB."""
_MOST_DIGITS: Final = 16
_MIB: Final = 2**20
_STEP: Final = 100
_MOST: Final = MAX_REQUEST - 1


def node_row(
    node: NodeObject, foreign_usage: Iterable[Amounts], offered: OfferedResources, warnings: list[str]
) -> pb.Node:
    """The row of a node; `taken` is what each pod takes there that is in no row."""
    labels = node.metadata.labels
    allocatable = subtract(
        _merge_offered(read_amounts(node.status.allocatable, warnings), offered, warnings), foreign_usage
    )
    return pb.Node(
        name=node.metadata.name,
        labels={**labels, names.NODE_NAME_FIELD: node.metadata.name},
        allocatable=to_resources(allocatable, with_pods=True),
        gpu_memory_mib=_gpu_memory(labels, warnings),
        taints=[_taint(taint, warnings) for taint in node.spec.taints if taint.key],
        unschedulable=node.spec.unschedulable,
        unready_conditions=sorted({_unready(condition) for condition in node.status.conditions} - {""}),
        mig_strategy=_STRATEGIES.get(labels.get(names.MIG_STRATEGY_LABEL, ""), pb.MIG_STRATEGY_UNSPECIFIED),
    )


def _merge_offered(amounts: Amounts, offered: OfferedResources, warnings: list[str]) -> Amounts:
    """What a snapshot can tell of what the node has: not too many names, and no amounts beyond all sense."""
    told = {name: n for name, n in amounts.items() if name in offered.names or not is_extended(name)}
    if len(told) < len(amounts) and offered.is_full:
        warnings.append(
            f"nodes name more than {MAX_NAMES} resources: {len(amounts) - len(told)} are left out"
        )
    warnings.extend(f"{name}: {n} is taken for {_MOST}" for name, n in sorted(told.items()) if n > _MOST)
    return clamp(told, _MOST)


def _gpu_memory(labels: Mapping[str, str], warnings: list[str]) -> int:
    """MiB of one GPU in whole steps; 0 when the label does not tell."""
    text = labels.get(names.GPU_MEMORY_LABEL, "")
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        warnings.append(f"label {names.GPU_MEMORY_LABEL}: {text!r} is not a number of MiB")
        return 0
    memory = int(text)
    if memory >= _BYTES_FROM:
        memory //= _MIB
    return memory // _STEP * _STEP if memory < _BYTES_FROM else 0


def _taint(taint: TaintObject, warnings: list[str]) -> pb.Taint:
    """A taint of an effect that is not known keeps pods off."""
    effect = EFFECTS.get(taint.effect, pb.TAINT_EFFECT_UNSPECIFIED)
    if effect == pb.TAINT_EFFECT_UNSPECIFIED:
        warnings.append(f"taint {taint.key}: effect {taint.effect!r} is unknown, NoSchedule is supposed")
        effect = pb.TAINT_EFFECT_NO_SCHEDULE
    return pb.Taint(key=taint.key, value=taint.value, effect=effect)


def _unready(condition: Condition) -> str:
    """Why the condition makes the node unready; empty when it does not."""
    if condition.type == "Ready" and condition.status != "True":
        return "NotReady"
    if condition.type in _MUST_BE_FALSE and condition.status != "False":
        return condition.type
    return ""
