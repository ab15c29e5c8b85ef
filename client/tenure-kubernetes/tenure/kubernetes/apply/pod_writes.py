"""One binding or eviction: sent once, and its result.

    response                        bind                                evict
    2xx                             applied                             applied
    404                             precondition failed: pod gone       applied: pod gone
    409                             look up: bound as wanted, or failed    look up: another pod, or retry
    429                             retry                               retry: disruption budget
    500, several budgets                                                failed
    other 5xx, no response          look up; if not applied, retry      look up; if not applied, retry
    other 4xx                       failed                              failed

A lookup reads the pod and compares its uid. Nothing is sent without the lease.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec
from tenure.integration.ports import APPLIED, ApplyResult, failed, precondition_failed, retry
from tenure.kubernetes.api.api_errors import (
    ApiError,
    ApiServerError,
    Conflict,
    NotFound,
    RequestRejected,
    TooManyRequests,
    Unreachable,
)
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport, require_leadership
from tenure.kubernetes.apply.server_side_apply import apply_fields
from tenure.kubernetes.choices import EvictionMode
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.rows.gpus import to_label
from tenure.v1.decision_pb2 import Evict

MANAGER: Final = "tenure"
"""Field manager of all writes but conditions."""
NOTICE_MANAGER: Final = "tenure-notice"
"""Field manager of notices: all of its fields are taken back at once."""
_PODS: Final = msgspec.json.Decoder(Pod)
_SEVERAL_BUDGETS: Final = "more than one PodDisruptionBudget"
_CONFLICT_SECONDS: Final = 1.0
"""Pause before a request is sent again after a conflict."""


class PodName(NamedTuple):
    """Name of a pod, with the uid that it must have."""

    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        """API path of the pod."""
        return f"/api/v1/namespaces/{quote(self.namespace, safe='')}/pods/{quote(self.name, safe='')}"


class PodWriter:
    """Writes to pods, for several threads. Checks `may_act` before each write."""

    def __init__(self, transport: Transport, may_act: Callable[[], bool], mode: EvictionMode) -> None:
        self._transport = transport
        self._is_leader = may_act
        self._mode = mode

    def ignores_budgets(self, evict: Evict) -> bool:
        """Whether disruption budgets do not apply to an eviction, so that the pod is deleted."""
        if self._mode is EvictionMode.PATIENT:
            return bool(evict.overridden_disruption_budgets)
        return self._mode is EvictionMode.DELETE

    def bind(self, pod: PodName, node: str, labels: Mapping[str, str | None]) -> ApplyResult:
        """Bind a pod. Sets `labels` before; None removes one. Raises LeaseLost."""
        try:
            if labels:
                self._send(lambda: self._label(pod, labels))
            self._send(lambda: self._post_binding(pod, node))
        except NotFound as failure:
            return precondition_failed(str(failure))
        except (Conflict, ApiServerError, Unreachable) as failure:
            return self.check_binding(pod, node, failure)
        except ApiError as failure:
            return _to_result(failure)
        return APPLIED

    def evict(self, pod: PodName, evict: Evict) -> ApplyResult:
        """Evict a pod, with its grace period. Raises LeaseLost."""
        post = self._delete if self.ignores_budgets(evict) else self._post_eviction
        try:
            self._send(lambda: post(pod))
        except NotFound:
            return APPLIED
        except Conflict as failure:
            return self._check_conflict(pod, failure)
        except (ApiServerError, Unreachable) as failure:
            if _SEVERAL_BUDGETS in str(failure):
                return failed(str(failure))
            return self.check_eviction(pod, failure)
        except ApiError as failure:
            return _to_result(failure)
        return APPLIED

    def notify(self, pod: PodName, evict_time: str, message: str) -> ApplyResult:
        """Tell a pod when it is to be evicted: an annotation and a condition; "": take both back.

        Raises LeaseLost.
        """
        condition = {
            "type": names.EVICTION_NOTICE,
            "status": "True",
            "reason": "EvictionAnnounced",
            "message": message,
            "lastTransitionTime": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        }
        subject = ObjectReference("v1", "Pod", pod.namespace, pod.name, pod.uid)
        annotations = {names.EVICT_TIME: evict_time} if evict_time else None
        status = {"conditions": [condition]} if evict_time else {}
        try:
            with require_leadership(self._is_leader):
                apply_fields(
                    *(self._transport, f"{pod.path}/status", NOTICE_MANAGER, subject),
                    annotations=annotations,
                    status=status,
                )
        except NotFound as gone:
            return precondition_failed(str(gone)) if evict_time else APPLIED
        except (Conflict, ApiServerError, Unreachable) as failure:
            return retry(str(failure))
        except ApiError as failure:
            return _to_result(failure)
        return APPLIED

    def _check_conflict(self, pod: PodName, failure: ApiError) -> ApplyResult:
        """Result of an eviction with a conflict. Its only precondition is the uid."""
        try:
            there = self._read(pod)
        except ApiError as unknown:
            return retry(str(unknown))
        if there is None:
            return precondition_failed(str(failure))
        is_ending = there.metadata.deletion_timestamp is not None
        return APPLIED if is_ending else retry(str(failure), _CONFLICT_SECONDS)

    def check_binding(self, pod: PodName, node: str, warning: ApiError | None) -> ApplyResult:
        """Look up a binding. A pod that is not bound: precondition failed after a conflict, else retry."""
        try:
            there = self._read(pod)
        except ApiError as failure:
            return retry(str(failure))
        if there is None:
            return precondition_failed("the pod is gone")
        if there.spec.node_name == node:
            return APPLIED
        if there.spec.node_name:
            return precondition_failed(f"the pod is on node {there.spec.node_name}")
        message = str(warning or "the pod is not bound yet")
        return precondition_failed(message) if isinstance(warning, Conflict) else retry(message)

    def check_eviction(self, pod: PodName, warning: ApiError | None) -> ApplyResult:
        """Look up an eviction: whether the pod terminates or is gone."""
        try:
            there = self._read(pod)
        except ApiError as failure:
            return retry(str(failure))
        if there is None or there.metadata.deletion_timestamp is not None:
            return APPLIED
        return retry(str(warning or "the pod is not evicted yet"))

    def _send(self, call: Callable[[], bytes]) -> None:
        with require_leadership(self._is_leader):
            call()

    def _read(self, pod: PodName) -> Pod | None:
        """The current pod; None: it is gone, or another pod has its name."""
        try:
            there = _PODS.decode(self._transport.get(pod.path))
        except NotFound:
            return None
        return there if there.metadata.uid == pod.uid else None

    def _label(self, pod: PodName, labels: Mapping[str, str | None]) -> bytes:
        body = {"metadata": {"uid": pod.uid, "labels": labels}}
        return self._transport.patch(pod.path, body, MERGE_PATCH, {"fieldManager": MANAGER})

    def _post_binding(self, pod: PodName, node: str) -> bytes:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        return self._transport.post(f"{pod.path}/binding", body, {"fieldManager": MANAGER})

    def _delete(self, pod: PodName) -> bytes:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        return self._transport.delete(pod.path, options)

    def _post_eviction(self, pod: PodName) -> bytes:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        return self._transport.post(f"{pod.path}/eviction", body)


def gpu_labels(devices: Iterable[str], node: str, has: Mapping[str, str]) -> dict[str, str | None]:
    """Labels of the shared devices of a pod, in place of its current ones."""
    groups = [to_label(device, node) for device in devices]
    if len(groups) == 1:
        wanted = {names.GPU_GROUP: groups[0]}
    else:
        wanted = {f"{names.GPU_GROUP}/{group}": group for group in groups}
    if not wanted:
        return {}
    prefix = f"{names.GPU_GROUP}/"
    old = {key: None for key in has if key == names.GPU_GROUP or key.startswith(prefix)}
    return {**old, **wanted}


def send_once(call: Callable[[], object]) -> ApplyResult | None:
    """Send a request that a later attempt may repeat; None: it was sent. Raises LeaseLost."""
    try:
        call()
    except Conflict as changed:
        return retry(str(changed), _CONFLICT_SECONDS)
    except NotFound as gone:
        return precondition_failed(str(gone))
    except (ApiServerError, Unreachable) as failure:
        return retry(str(failure))
    except ApiError as failure:
        return _to_result(failure)
    return None


def _to_result(failure: ApiError) -> ApplyResult:
    """Result of status 429, and of errors of the call itself: nothing was written."""
    if isinstance(failure, TooManyRequests):
        return retry(str(failure), failure.retry_after)
    message = str(failure)
    if isinstance(failure, RequestRejected) and failure.status == _FORBIDDEN:
        message = f"the adapter lacks a permission: {message}"
    return failed(message)


_FORBIDDEN: Final = 403
