"""Pods are placed only on ready nodes that their selectors, affinities and tolerations allow."""

from collections.abc import Iterator, Mapping

from tenure.v1 import snapshot_pb2

from tests.checker.amounts import is_mig, is_shared
from tests.checker.snapshot_index import PodPlacement, SnapshotIndex

_IN = snapshot_pb2.SELECTOR_OPERATOR_IN
_NOT_IN = snapshot_pb2.SELECTOR_OPERATOR_NOT_IN
_EXISTS = snapshot_pb2.SELECTOR_OPERATOR_EXISTS
_DOES_NOT_EXIST = snapshot_pb2.SELECTOR_OPERATOR_DOES_NOT_EXIST
_GREATER_THAN = snapshot_pb2.SELECTOR_OPERATOR_GREATER_THAN


def constraint_violations(world: SnapshotIndex) -> Iterator[str]:
    """Return one line for each rule that excludes a bound or reserved pod from its node."""
    for stay in (*world.binds, *world.reserves):
        node, shape = world.nodes[stay.node], world.shape_of(stay.pod)
        for problem in (
            *_readiness(node),
            *_labels(shape, node),
            *_taints(shape, node),
            *_gpu_kind(shape, node),
            *_named_devices(stay, shape),
        ):
            yield f"constraint: pod {stay.pod} on node {stay.node}: {problem}"


def _readiness(node: snapshot_pb2.Node) -> Iterator[str]:
    if node.unschedulable:
        yield "the node is cordoned"
    for condition in node.unready_conditions:
        yield f"the node has condition {condition}"


def selects_node(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> bool:
    """Whether node selector and node affinity permit the node."""
    return not any(_labels(shape, node))


def untolerated(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> bool:
    """Whether the node has a taint that is not tolerated."""
    return any(_taints(shape, node))


def _labels(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> Iterator[str]:
    for key, value in sorted(shape.node_selector.items()):
        if node.labels.get(key) != value:
            yield f"the selector asks for {key}={value}"
    terms = shape.node_affinity
    if terms and not any(_term_matches(term, node.labels) for term in terms):
        yield "no term of the node affinity matches"


def _term_matches(term: snapshot_pb2.NodeSelectorTerm, labels: Mapping[str, str]) -> bool:
    return bool(term.requirements) and all(_requirement_matches(r, labels) for r in term.requirements)


def _requirement_matches(
    requirement: snapshot_pb2.NodeSelectorRequirement, labels: Mapping[str, str]
) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case operator if operator == _IN:
            return value in requirement.values
        case operator if operator == _NOT_IN:
            return value not in requirement.values
        case operator if operator == _EXISTS:
            return value is not None
        case operator if operator == _DOES_NOT_EXIST:
            return value is None
    return _compares(value, requirement)


def _compares(value: str | None, requirement: snapshot_pb2.NodeSelectorRequirement) -> bool:
    try:
        difference = int(value or "") - int(requirement.values[0])
    except ValueError:
        return False
    return difference > 0 if requirement.operator == _GREATER_THAN else difference < 0


def _taints(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> Iterator[str]:
    for taint in node.taints:
        if taint.effect == snapshot_pb2.TAINT_EFFECT_PREFER_NO_SCHEDULE:
            continue
        if not any(_tolerates(toleration, taint) for toleration in shape.tolerations):
            yield f"taint {taint.key}={taint.value} is not tolerated"


def _tolerates(toleration: snapshot_pb2.Toleration, taint: snapshot_pb2.Taint) -> bool:
    if toleration.effect not in (snapshot_pb2.TAINT_EFFECT_UNSPECIFIED, taint.effect):
        return False
    if not toleration.key:
        return toleration.exists
    return toleration.key == taint.key and (toleration.exists or toleration.value == taint.value)


def _gpu_kind(shape: snapshot_pb2.PodShape, node: snapshot_pb2.Node) -> Iterator[str]:
    """The GPU partitioning of a node determines which GPU requests it accepts (R1.16, R1.28)."""
    strategy, has_gpu = node.mig_strategy, shape.gpu.devices > 0
    if shape.gpu.WhichOneof("share") == "memory_mib" and not node.gpu_memory_mib:
        yield "the request is sized by GPU memory, which is unknown here"
    if strategy == snapshot_pb2.MIG_STRATEGY_MIXED and has_gpu:
        yield "the node takes MIG and CPU-only pods"
    if strategy == snapshot_pb2.MIG_STRATEGY_SINGLE and (is_mig(shape) or is_shared(shape.gpu)):
        yield "the node takes whole GPU and CPU-only pods"
    if strategy == snapshot_pb2.MIG_STRATEGY_UNSPECIFIED and is_mig(shape):
        yield "the node has no MIG slices"


def _named_devices(stay: PodPlacement, shape: snapshot_pb2.PodShape) -> Iterator[str]:
    """A placement names each device of a pod with GPU shares once, and no device of any other pod."""
    wanted = shape.gpu.devices if is_shared(shape.gpu) else 0
    if len(set(stay.gpu_groups)) != wanted or len(stay.gpu_groups) != wanted:
        yield f"{wanted} distinct devices are to be named, got {list(stay.gpu_groups)}"
