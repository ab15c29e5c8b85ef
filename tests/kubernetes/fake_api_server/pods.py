"""Pods: defaults at creation, binding and termination."""

from http import HTTPStatus
from typing import Any, Final

from tests.kubernetes.fake_api_server import errors
from tests.kubernetes.fake_api_server.clock import now
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.resource_kinds import PODS
from tests.kubernetes.fake_api_server.store import Item

_DEFAULTS: Final = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
_GATED: Final = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
_CHANGEABLE: Final = ("schedulingGates", "tolerations", "activeDeadlineSeconds")
_ENDED: Final = ("Succeeded", "Failed")
DONE: Final = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": int(HTTPStatus.CREATED),
}
"""The response to a binding and to an eviction, which is not the object that was sent."""


def admit(item: Item, classes: list[Item]) -> Item:
    """Return a new pod with defaults. Raises ApiStatusError for an unknown priority class."""
    spec = {**_DEFAULTS, **item["spec"]}
    name = spec.get("priorityClassName")
    known = {one["metadata"]["name"]: one for one in classes}
    if name and name not in known:
        why = f"no PriorityClass with name {name} was found"
        raise errors.forbidden(PODS, item["metadata"]["name"], why)
    default = next((one for one in classes if one.get("globalDefault")), None)
    if chosen := known.get(name) if name else default:
        spec |= {"priorityClassName": chosen["metadata"]["name"], "priority": chosen["value"]}
    status = {"phase": "Pending", "qosClass": "BestEffort"}
    made = {**item, "spec": {"priority": 0, **spec}, "status": status}
    return with_condition(made, _GATED) if spec.get("schedulingGates") else made


def check_change(request: ApiRequest, before: Item, after: Item) -> None:
    """Raises ApiStatusError if the request changes immutable fields of a pod."""
    if _fixed(before) != _fixed(after):
        why = "Forbidden: pod updates may not change fields other than `spec.tolerations` and gates"
        raise errors.invalid(request.resource, request.name, "spec", why)


def _fixed(item: Item) -> dict[str, Any]:
    return {name: part for name, part in item["spec"].items() if name not in _CHANGEABLE}


def bind(request: ApiRequest, pod: Item) -> Item:
    """Return the pod on the node of a Binding; the node is not checked. Raises ApiStatusError."""
    asked, has = request.body["metadata"], pod["metadata"]
    for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if asked.get(field, has[field]) != has[field]:
            raise errors.precondition(request.resource, request.name, shown, asked[field], has[field])
    if why := _against_binding(pod, request.name):
        raise errors.conflict("pods/binding", request.name, why)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
    spec = {**pod["spec"], "nodeName": request.body["target"]["name"]}
    return with_condition({**pod, "spec": spec}, scheduled)


def _against_binding(pod: Item, name: str) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def with_condition(pod: Item, condition: dict[str, Any]) -> Item:
    """Return the pod with a condition, which replaces the one of the same type."""
    others = [one for one in pod["status"].get("conditions", []) if one["type"] != condition["type"]]
    return {**pod, "status": {**pod["status"], "conditions": [*others, condition]}}


def start_termination(pod: Item, asked: int | None) -> Item:
    """Return the terminating pod: it ends after its grace period, or at once if no container runs.

    The end of a terminating pod can be moved to an earlier time, never to a later one.
    """
    metadata = pod["metadata"]
    if "deletionTimestamp" in metadata:
        is_sooner = asked is not None and asked < metadata["deletionGracePeriodSeconds"]
        return _terminating(pod, asked or 0, 0) if is_sooner else pod
    grace = pod["spec"]["terminationGracePeriodSeconds"] if asked is None else asked
    runs = pod["spec"].get("nodeName") and pod["status"]["phase"] not in _ENDED
    return _terminating(pod, grace if runs else 0, 1)


def _terminating(pod: Item, grace: int, generations: int) -> Item:
    metadata = pod["metadata"]
    ends = {
        "deletionTimestamp": now(grace),
        "deletionGracePeriodSeconds": grace,
        "generation": metadata["generation"] + generations,
    }
    return {**pod, "metadata": {**metadata, **ends}}
