"""Evictions: deletions that a disruption budget can reject.

The pods of budgets are not counted here: tests or their disruption controller write the number of permitted
disruptions to the status of the budget.
"""

from http import HTTPStatus
from typing import Any, Final

from tests.kubernetes.fake_api_server import errors, resource_kinds
from tests.kubernetes.fake_api_server.clock import now
from tests.kubernetes.fake_api_server.errors import ApiStatusError
from tests.kubernetes.fake_api_server.pods import DONE, with_condition
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.store import Item, ObjectKey, ObjectStore
from tests.kubernetes.fake_api_server.writes import WriteHandler

_UNPROTECTED: Final = ("Pending", "Succeeded", "Failed")
_TARGET: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
_WAIT_SECONDS: Final = 10


class EvictionHandler:
    """Evicts pods. Callers lock the store."""

    def __init__(self, store: ObjectStore, writes: WriteHandler) -> None:
        self._store, self._writes = store, writes

    def evict(self, request: ApiRequest, pod: Item) -> Item:
        """Check the pod's budget and start its termination. Raises ApiStatusError."""
        is_dry = request.query.get("dryRun") == "All"
        if _is_protected(pod):
            budget = self._budget(request.namespace, pod)
            if budget is not None and not _is_disruption_free(pod, budget[1]):
                self._spend(*budget, request.name, is_dry)
        self._end(request, pod, is_dry)
        return DONE

    def _budget(self, namespace: str, pod: Item) -> tuple[ObjectKey, Item] | None:
        budgets = self._store.all(resource_kinds.BUDGETS).items()
        found = [(key, one) for key, one in budgets if key.namespace == namespace and _selects(one, pod)]
        if len(found) > 1:
            message = (
                "This pod has more than one PodDisruptionBudget, "
                "which the eviction subresource does not support."
            )
            raise ApiStatusError(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)
        return found[0] if found else None

    def _spend(self, key: ObjectKey, budget: Item, pod: str, is_dry: bool) -> None:
        """Use one permitted disruption.

        Raises ApiStatusError if there is none, or the budget has no status.
        """
        status = budget["status"]
        if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
            raise _forbidden_by(f"{key.name} is still being processed by the server.", _WAIT_SECONDS)
        left = status["disruptionsAllowed"]
        if left <= 0:
            raise _forbidden_by(f"{key.name} does not allow evicting pods currently", None)
        if not is_dry:
            disrupted = {**status.get("disruptedPods", {}), pod: now()}
            spent = {**status, "disruptionsAllowed": left - 1, "disruptedPods": disrupted}
            self._writes.put(key, {**budget, "status": spent})

    def _end(self, request: ApiRequest, pod: Item, is_dry: bool) -> None:
        """Write the reason of the termination, then delete the pod."""
        options = dict(request.body.get("deleteOptions") or {})
        self._writes.check_preconditions(request, pod, options.pop("preconditions", {}))
        if is_dry:
            return
        if not any(one["type"] == _TARGET["type"] for one in pod["status"].get("conditions", [])):
            self._writes.put(request.key, with_condition(pod, {**_TARGET, "lastTransitionTime": now()}))
        self._writes.delete_by(request, options)


def _is_protected(pod: Item) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] not in _UNPROTECTED


def _is_disruption_free(pod: Item, budget: Item) -> bool:
    """Whether a pod that is not ready can be evicted because enough others are healthy."""
    status, conditions = budget["status"], pod["status"].get("conditions", [])
    is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return not is_ready and 0 < status["desiredHealthy"] <= status["currentHealthy"]


def _selects(budget: Item, pod: Item) -> bool:
    selector: dict[str, Any] = budget["spec"].get("selector", {})
    if "matchExpressions" in selector:
        raise errors.bad_request("this server knows budgets by matchLabels only")
    labels = pod["metadata"].get("labels", {})
    return bool(selector.get("matchLabels", {}).items() <= labels.items())


def _forbidden_by(what: str, wait: int | None) -> ApiStatusError:
    causes = [{"reason": "DisruptionBudget", "message": f"The disruption budget {what}"}]
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    details = {"causes": causes, **({"retryAfterSeconds": wait} if wait else {})}
    return ApiStatusError(HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequests", message, details)
