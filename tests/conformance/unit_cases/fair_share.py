"""The fair-share functions of the reference, mapped to Tenure's fair-share computation."""

from collections.abc import Callable

from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import Share
from tenure.solver.plugins.proportion.fair_share import ShareRequest, divide, divide_over_quota
from tenure.solver.plugins.proportion.shares import fair_shares
from tenure.solver.plugins.proportion.usage_history import Parts
from tenure.solver.resolution.reference_resolution import resolve_queues

from tests.conformance.cases import Json
from tests.conformance.unit_cases.expectations import equal
from tests.conformance.unit_cases.shares import from_native, to_native

RESOURCES = ("cpu", "memory", "gpu")
Divided = tuple[dict[str, dict[str, float]], float | None]
"""Fair share by queue key and resource, and the remainder (None: not recorded)."""


def fair_share_differences(data: Json) -> list[str]:
    """Return the differences of the fair shares and of the remainder."""
    shares, remaining = FAIR_SHARE_FUNCTIONS[data["function"]](data)
    expected = data["expected"]
    found = [
        f"queue {key}: expected {resource} fair share {wanted}, got {shares[key][resource]}"
        for key, amounts in expected["fair_share"].items()
        for resource, wanted in amounts.items()
        if not equal(shares[key][resource], wanted)
    ]
    if expected["remaining"] is not None and not equal(remaining, expected["remaining"]):
        found.append(f"expected {expected['remaining']} left over, got {remaining}")
    return found


def _claim(queue: Json, resource: str) -> ShareRequest:
    share = queue[resource]
    return ShareRequest(
        rank=(queue["creation_rank"] or 0, queue["uid"]),
        priority=queue["priority"],
        quota=share["deserved"],
        limit=share["max_allowed"],
        weight=share["over_quota_weight"],
        request=share["request"],
        usage=share["usage"],
        fair_share=share["fair_share"],
    )


def _among_siblings(
    division: Callable[[float, list[ShareRequest], float], float],
) -> Callable[[Json], Divided]:
    """Return a function that divides each resource of the case among all its queues."""

    def run(data: Json) -> Divided:
        shares: dict[str, dict[str, float]] = {queue["key"]: {} for queue in data["queues"]}
        remaining = None
        for resource in data["resources"]:
            claims = [_claim(queue, resource) for queue in data["queues"]]
            remaining = division(data["total"][resource], claims, data["k_value"])
            for queue, claim in zip(data["queues"], claims, strict=True):
                shares[queue["key"]][resource] = claim.fair_share
        return shares, remaining

    return run


def _down_the_tree(data: Json) -> Divided:
    queues = resolve_queues(_spec(queue) for queue in data["queues"])
    by_name = {queue["uid"]: queue for queue in data["queues"]}
    requests = [_share(by_name[queue.facts.name], "request") for queue in queues]
    total = from_native(data["total"][resource] for resource in RESOURCES)
    past = [_past_use(by_name[queue.facts.name]) for queue in queues]
    fair = fair_shares(queues, total, requests, data["k_value"], past)
    shares = {
        by_name[queue.facts.name]["key"]: dict(zip(RESOURCES, to_native(fair[queue.index]), strict=True))
        for queue in queues
    }
    return shares, None


def _spec(queue: Json) -> QueueFacts:
    cpu, memory, gpu = (queue[resource]["over_quota_weight"] for resource in RESOURCES)
    return QueueFacts(
        name=queue["uid"],
        parent_name=queue["parent"] or "",
        creation=queue["creation_rank"] or 0,
        priority=queue["priority"],
        quota=_share(queue, "deserved"),
        limit=_share(queue, "max_allowed"),
        weight=(cpu, memory, gpu),
    )


def _past_use(queue: Json) -> Parts:
    cpu, memory, gpu = (queue[resource]["usage"] for resource in RESOURCES)
    return (cpu, memory, gpu)


def _share(queue: Json, field: str) -> Share:
    return from_native(queue[resource][field] for resource in RESOURCES)


FAIR_SHARE_FUNCTIONS: dict[str, Callable[[Json], Divided]] = {
    "setResourceShare": _among_siblings(divide),
    "SetResourcesShare": _among_siblings(divide),
    "divideOverQuotaResource": _among_siblings(divide_over_quota),
    "setFairShare": _down_the_tree,
}
