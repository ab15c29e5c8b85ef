"""Nodes (semantics R1.15, R1.28, R1.32), less what is taken on them by pods that are in no row (R4.1)."""

from collections.abc import Iterable, Mapping
from typing import Final

from tenure.client.kubernetes.objects.meta import Condition
from tenure.client.kubernetes.objects.node import Node as NodeObject
from tenure.client.kubernetes.objects.node import Taint as TaintObject
from tenure.client.kubernetes.observe import names
from tenure.client.kubernetes.observe.amounts import (
    MOST_ASKED,
    Amounts,
    bounded,
    is_extended,
    less,
    read_amounts,
    to_resources,
)
from tenure.client.kubernetes.observe.offered import MOST_NAMES, Offered
from tenure.v1 import snapshot_pb2 as pb

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
_MOST: Final = MOST_ASKED - 1


def node_row(node: NodeObject, taken: Iterable[Amounts], offered: Offered, doubts: list[str]) -> pb.Node:
    """The row of a node; `taken` is what each pod takes there that is in no row."""
    labels = node.metadata.labels
    allocatable = less(_told(read_amounts(node.status.allocatable, doubts), offered, doubts), taken)
    return pb.Node(
        name=node.metadata.name,
        labels={**labels, names.NODE_NAME_FIELD: node.metadata.name},
        allocatable=to_resources(allocatable, with_pods=True),
        gpu_memory_mib=_gpu_memory(labels, doubts),
        taints=[_taint(taint, doubts) for taint in node.spec.taints if taint.key],
        unschedulable=node.spec.unschedulable,
        unready_conditions=sorted({_unready(condition) for condition in node.status.conditions} - {""}),
        mig_strategy=_STRATEGIES.get(labels.get(names.MIG_STRATEGY_LABEL, ""), pb.MIG_STRATEGY_UNSPECIFIED),
    )


def _told(amounts: Amounts, offered: Offered, doubts: list[str]) -> Amounts:
    """What a snapshot can tell of what the node has: not too many names, and no amounts beyond all sense."""
    told = {name: n for name, n in amounts.items() if name in offered.names or not is_extended(name)}
    if len(told) < len(amounts) and offered.is_full:
        doubts.append(f"nodes name more than {MOST_NAMES} resources: {len(amounts) - len(told)} are left out")
    doubts.extend(f"{name}: {n} is taken for {_MOST}" for name, n in sorted(told.items()) if n > _MOST)
    return bounded(told, _MOST)


def _gpu_memory(labels: Mapping[str, str], doubts: list[str]) -> int:
    """MiB of one GPU in whole steps; 0 when the label does not tell."""
    text = labels.get(names.GPU_MEMORY_LABEL, "")
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        doubts.append(f"label {names.GPU_MEMORY_LABEL}: {text!r} is not a number of MiB")
        return 0
    memory = int(text)
    if memory >= _BYTES_FROM:
        memory //= _MIB
    return memory // _STEP * _STEP if memory < _BYTES_FROM else 0


def _taint(taint: TaintObject, doubts: list[str]) -> pb.Taint:
    """A taint of an effect that is not known keeps pods off."""
    effect = EFFECTS.get(taint.effect, pb.TAINT_EFFECT_UNSPECIFIED)
    if effect == pb.TAINT_EFFECT_UNSPECIFIED:
        doubts.append(f"taint {taint.key}: effect {taint.effect!r} is unknown, NoSchedule is supposed")
        effect = pb.TAINT_EFFECT_NO_SCHEDULE
    return pb.Taint(key=taint.key, value=taint.value, effect=effect)


def _unready(condition: Condition) -> str:
    """Why the condition makes the node unready; empty when it does not."""
    if condition.type == "Ready" and condition.status != "True":
        return "NotReady"
    if condition.type in _MUST_BE_FALSE and condition.status != "False":
        return condition.type
    return ""
