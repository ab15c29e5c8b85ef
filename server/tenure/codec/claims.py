"""Decode resource claims and the devices of nodes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tenure.codec.checks import MISSING, amount
from tenure.solver.model.claims import ResourceClaim
from tenure.solver.model.facts import TaskFacts
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import GPU, WHOLE_GPU, Amounts, device_slot, is_gpu_class
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_DEVICES
from tenure.wire.violations import ViolationCollector, quote_name


def decode_claims(
    messages: Sequence[pb.ResourceClaim],
    ranks: Mapping[str, int],
    nodes: Mapping[str, int],
    slots: Mapping[str, int],
    findings: ViolationCollector,
) -> tuple[ResourceClaim, ...]:
    """Resource claims by ID. `ranks` maps IDs to indices, `nodes` and `slots` map names.

    A claim on a node that is not in the snapshot has no node; see `missing_nodes` for its pods.
    """
    claims = []
    for i, message in enumerate(messages):
        findings.step()
        if message.other_consumers < 0:
            findings.add(i, "other_consumers", f"{message.other_consumers} is negative")
        claim = ResourceClaim(
            index=ranks.get(message.id, 0),
            id=message.id,
            amounts=_amounts(i, message, slots, findings),
            queue_name=message.queue,
            from_template=message.from_template,
            node=nodes.get(message.node, NOWHERE),
            other_consumers=message.other_consumers,
        )
        claims.append(claim)
    return tuple(sorted(claims, key=lambda claim: claim.index))


def check_templates(
    messages: Sequence[pb.ResourceClaim],
    tasks: Iterable[TaskFacts],
    ranks: Mapping[str, int],
    findings: ViolationCollector,
) -> None:
    """Check that a claim from a template has one pod at most. `ranks` maps IDs to indices."""
    users = Counter(claim for task in tasks for claim in task.claims)
    for i, message in enumerate(messages):
        pods = users[ranks.get(message.id, -1)]
        if message.from_template and pods > 1:
            findings.add(i, "from_template", f"cannot be set: {pods} pods of the snapshot use the claim")


def decode_devices(
    i: int, message: pb.Node, slots: Mapping[str, int], findings: ViolationCollector
) -> Amounts:
    """Devices of a node by slot of their class; in thousandths in the slot of GPUs."""
    if not message.devices:
        return ()
    counts: Counter[str] = Counter()
    for name, count in sorted(message.devices.items()):
        path = f"devices[{quote_name(name)}]"
        if not name:
            findings.add(i, path, f"class {MISSING}")
        counts[name] += amount(count, findings, i, path, MAX_DEVICES)
    return _by_slot(counts, slots)


def _amounts(
    i: int, message: pb.ResourceClaim, slots: Mapping[str, int], findings: ViolationCollector
) -> Amounts:
    """Amounts of a claim. Numbers that no node can have are truncated."""
    if not message.requests:
        findings.add(i, "requests", "must have at least one request")
    counts: Counter[str] = Counter()
    for at, request in enumerate(message.requests):
        findings.step()
        if not request.device_class:
            findings.add(i, f"requests[{at}].device_class", MISSING)
        if request.count < 1:
            findings.add(i, f"requests[{at}].count", f"{request.count} is not at least 1")
        counts[request.device_class] += min(request.count, MAX_DEVICES + 1)
    return _by_slot(counts, slots)


def _by_slot(counts: Mapping[str, int], slots: Mapping[str, int]) -> Amounts:
    amounts = {slots[device_slot(name)]: count for name, count in counts.items() if name}
    gpus = sum(count for name, count in counts.items() if is_gpu_class(name))
    if gpus:
        amounts[GPU] = gpus * WHOLE_GPU
    return tuple(sorted(amounts.items()))
