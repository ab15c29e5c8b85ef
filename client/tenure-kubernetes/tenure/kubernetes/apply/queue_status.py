"""The status of queues: amounts, children, and conditions.

    status.allocated, requested   resource lists; children included
    status.childQueues            names
    condition Ready               whether pod groups of the queue are scheduled, and why not
    condition WithinFairShare     whether the allocated amounts are within the fair share, which it names

Volcano's queues have `allocated` only: the API server drops other fields. A fair share depends on what all
queues request, and changes with it; it is rounded, so that it changes no more than that.
"""

from collections.abc import Mapping
from typing import Any, Final

from tenure.kubernetes.apply.conditions import format_now
from tenure.kubernetes.objects.resource_amounts import MILLI
from tenure.kubernetes.observe.queues import KAI_QUEUES, QueueObject
from tenure.v1.decide_pb2 import QueueStatus, ResourceShare

READY, WITHIN_FAIR_SHARE = "Ready", "WithinFairShare"
"""Types of conditions."""
GPU_RESOURCE: Final = "nvidia.com/gpu"
_MEBI: Final = 2**20
_BINARY: Final = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))

Status = dict[str, Any]


def queue_status(queue: QueueObject, status: QueueStatus | None) -> Status:
    """The status of a queue without times; `status` None: the server returned none."""
    shares = status or QueueStatus()
    allocated = resource_list(shares.allocated_before)
    if queue.target.api_version != KAI_QUEUES:
        return {"allocated": allocated}
    return {
        "allocated": allocated,
        "requested": resource_list(shares.requested),
        "childQueues": list(queue.children),
        "conditions": [_ready(queue), *([] if status is None else [_within_fair_share(status)])],
    }


def _ready(queue: QueueObject) -> dict[str, str]:
    reason, message = queue.problem
    if reason:
        return _condition(READY, False, reason, message)
    return _condition(READY, True, "Scheduling", "Pod groups of this queue are scheduled.")


def _within_fair_share(status: QueueStatus) -> dict[str, str]:
    fair, used = status.fair_share, status.allocated_before
    over = [
        name
        for name, share, amount in (
            ("cpu", fair.cpu_milli, used.cpu_milli),
            ("memory", fair.memory_bytes, used.memory_bytes),
            (GPU_RESOURCE, fair.gpu_milli, used.gpu_milli),
        )
        if 0 <= share < amount
    ]
    amounts = ", ".join(f"{name}={amount}" for name, amount in _rounded(fair).items())
    text = f"Fair share: {amounts}."
    if over:
        text += f" Above it: {', '.join(over)}."
    reason = "AboveFairShare" if over else "WithinFairShare"
    return _condition(WITHIN_FAIR_SHARE, not over, reason, text)


def _condition(kind: str, is_true: bool, reason: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": "True" if is_true else "False", "reason": reason, "message": message}


def resource_list(share: ResourceShare) -> dict[str, str]:
    """Amounts as quantities, as KAI writes them."""
    memory = share.memory_bytes
    unit, suffix = next(((size, text) for size, text in _BINARY if memory and memory % size == 0), (1, ""))
    return {
        "cpu": _milli(share.cpu_milli),
        "memory": f"{memory // unit}{suffix}",
        GPU_RESOURCE: _milli(share.gpu_milli),
    }


def _rounded(share: ResourceShare) -> dict[str, str]:
    """A fair share, memory in whole mebibytes. A negative amount is unlimited."""
    memory = share.memory_bytes if share.memory_bytes < 0 else share.memory_bytes // _MEBI * _MEBI
    texts = resource_list(
        ResourceShare(cpu_milli=share.cpu_milli, memory_bytes=memory, gpu_milli=share.gpu_milli)
    )
    amounts = zip(texts.items(), (share.cpu_milli, memory, share.gpu_milli), strict=True)
    return {name: text if amount >= 0 else "unlimited" for (name, text), amount in amounts}


def _milli(amount: int) -> str:
    return f"{amount}m" if amount % MILLI else str(amount // MILLI)


def merged_status(wanted: Status, there: Mapping[str, Any]) -> Status | None:
    """The status to write over an observed one; None: it has it. Keeps conditions of other types.

    The time of a condition changes with its status only.
    """
    if all(there.get(key) == value for key, value in wanted.items() if key != "conditions"):
        same = [_is_there(one, there) for one in wanted.get("conditions", [])]
        if all(same):
            return None
    if "conditions" not in wanted:
        return wanted
    types = {READY, WITHIN_FAIR_SHARE}
    before = {one.get("type"): one for one in there.get("conditions") or []}
    others = [one for kind, one in before.items() if kind not in types]
    fresh = [{**one, "lastTransitionTime": _since(one, before)} for one in wanted["conditions"]]
    return {**wanted, "conditions": [*others, *fresh]}


def _is_there(condition: Mapping[str, str], there: Mapping[str, Any]) -> bool:
    return any(condition.items() <= one.items() for one in there.get("conditions") or [])


def _since(condition: Mapping[str, str], before: Mapping[Any, Mapping[str, Any]]) -> str:
    last = before.get(condition["type"], {})
    if last.get("status") == condition["status"] and last.get("lastTransitionTime"):
        return str(last["lastTransitionTime"])
    return format_now()
