"""What is remembered of evictions: from messages to the model."""

from collections.abc import Mapping, Sequence

from tenure.server.codec.checks import MISSING, amount, time
from tenure.server.codec.limits import MAX_COUNT
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.memory import EvictionMemory
from tenure.v1 import snapshot_pb2 as pb


def decode_memory(
    messages: Sequence[pb.EvictionMemory], pod_groups: Mapping[str, int], findings: Findings
) -> tuple[EvictionMemory, ...]:
    """By victim and preemptor; `pod_groups` gives indices by uid. Unknown pod groups are of no account."""
    memories: dict[tuple[int, int], EvictionMemory] = {}
    first: dict[tuple[str, str], int] = {}
    for i, message in enumerate(messages):
        earlier = first.setdefault((message.victim, message.preemptor), i)
        if earlier != i:
            pair = f"{shown(message.victim)} and {shown(message.preemptor)}"
            findings.add(i, "victim", f"the pair {pair} is already used by element {earlier}")
        memory = _decode(i, message, pod_groups, findings)
        if memory is not None:
            memories[memory.victim, memory.preemptor] = memory
    return tuple(memories[pair] for pair in sorted(memories))


def _decode(
    i: int, message: pb.EvictionMemory, pod_groups: Mapping[str, int], findings: Findings
) -> EvictionMemory | None:
    for field in ("victim", "preemptor"):
        if not getattr(message, field):
            findings.add(i, field, MISSING)
    if not message.HasField("last_eviction_time"):
        findings.add(i, "last_eviction_time", MISSING)
    last_eviction = time(message.last_eviction_time, findings, i, "last_eviction_time")
    failures = amount(message.failures, findings, i, "failures", MAX_COUNT)
    last_failure = None
    if message.HasField("last_failure_time"):
        last_failure = time(message.last_failure_time, findings, i, "last_failure_time")
    victim, preemptor = pod_groups.get(message.victim), pod_groups.get(message.preemptor)
    if victim is None or preemptor is None:
        return None
    return EvictionMemory(victim, preemptor, last_eviction, failures, last_failure, message.unsettled)
