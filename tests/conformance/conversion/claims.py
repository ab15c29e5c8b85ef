"""Converts resource claims and slices of a case to resource claims and devices of nodes."""

from collections import Counter
from collections.abc import Iterator

from tenure.v1 import snapshot_pb2

from tests.conformance.cases import Json


def resource_claims(case: Json) -> Iterator[snapshot_pb2.ResourceClaim]:
    """Return the claims of the case. The tasks name them; the node of a task is the node of its claims."""
    tasks = [task for job in case["jobs"] for task in job["tasks"]]
    uids = {task["uid"] for task in tasks}
    of_templates = {name for task in tasks for name in _templates(task).values()}
    for claim in _dra(case).get("resource_claims", ()):
        status = claim["status"] or {"devices": [], "reserved_for": []}
        others = [user for user in status["reserved_for"] if user["name"] not in uids]
        is_elsewhere = status["devices"] and (others or not status["reserved_for"])
        yield snapshot_pb2.ResourceClaim(
            id=claim["name"],
            requests=[snapshot_pb2.DeviceRequest(device_class=claim["device_class"], count=claim["count"])],
            from_template=claim["name"] in of_templates,
            queue=claim["labels"].get(case["config"]["params"]["queue_label_key"], ""),
            node=status["devices"][0]["pool"] if is_elsewhere else "",
            other_consumers=len(others),
        )


def claim_names(task: Json) -> list[str]:
    """Return the names of the claims that a task uses, with and without a template."""
    return [*task.get("resource_claims", ()), *_templates(task).values()]


def claimed_gpus(case: Json) -> dict[str, int]:
    """Return the GPUs of each claim. Devices of a class whose name does not contain "gpu" are not counted."""
    claims = _dra(case).get("resource_claims", ())
    return {claim["name"]: claim["count"] * ("gpu" in claim["device_class"]) for claim in claims}


def devices(case: Json, node: str) -> dict[str, int]:
    """Return the devices in the resource slices of a node and in the slices for all nodes, by class."""
    counts: Counter[str] = Counter()
    for each in _dra(case).get("resource_slices", ()):
        if each["node"] == node or each.get("all_nodes"):
            counts[each["declared_device_class"]] += each["device_count"]
    return dict(counts)


def missing_claims(case: Json, task: Json) -> Iterator[str]:
    """Return claims of the task, and their device classes, that do not exist."""
    claims = {claim["name"]: claim for claim in _dra(case).get("resource_claims", ())}
    for name in claim_names(task):
        if name not in claims:
            yield f'resourceclaim "{name}" not found'
        elif claims[name]["device_class"] not in _dra(case)["device_classes"]:
            yield f'deviceclass "{claims[name]["device_class"]}" not found'


def _templates(task: Json) -> dict[str, str]:
    return task.get("resource_claim_templates") or {}


def _dra(case: Json) -> Json:
    return case.get("dra") or {}
