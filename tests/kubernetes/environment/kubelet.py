"""What kubelets do, as far as an API server sees it: bound pods run, deleted pods are gone after their grace.

One thread looks at all pods a few times a second: nothing that is missed once is missed for good.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

EVERY_SECONDS: Final = 0.1


class Kubelet:
    """Runs pods of all nodes. A deleted pod takes `grace_seconds` to end, whatever it asks for."""

    def __init__(
        self, transport: Transport, grace_seconds: float, now: Callable[[], float], starts: bool = True
    ) -> None:
        self._transport = transport
        self._grace = grace_seconds
        self._now = now
        self._starts = starts
        self._ending: dict[str, float] = {}
        """When a pod was first seen to be deleted, by uid."""
        self._stopped = threading.Event()

    def run(self) -> None:
        """Do what is to be done until stopped. An API server that does not answer is asked again."""
        while not self._stopped.wait(EVERY_SECONDS):
            try:
                self.look_once()
            except ApiError:
                continue

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped.set()

    def look_once(self) -> None:
        """Start what is bound, end what is deleted for long enough."""
        for pod in msgspec.json.decode(self._transport.get("/api/v1/pods"))["items"]:
            if "deletionTimestamp" in pod["metadata"]:
                self._end(pod)
            elif pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending" and self._starts:
                self._start(pod)

    def _start(self, pod: dict[str, Any]) -> None:
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "conditions": [*pod["status"].get("conditions", []), ready]}
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        self._write(lambda: self._transport.patch(f"{_path(pod)}/status", body, MERGE_PATCH))

    def _end(self, pod: dict[str, Any]) -> None:
        uid = pod["metadata"]["uid"]
        first = self._ending.setdefault(uid, self._now())
        if self._now() - first >= self._grace or not pod["spec"].get("nodeName"):
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            self._write(lambda: self._transport.delete(_path(pod), options))

    @staticmethod
    def _write(call: Callable[[], bytes]) -> None:
        """A pod that changed in between is looked at again."""
        try:
            call()
        except ApiError:
            return


def _path(pod: dict[str, Any]) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
