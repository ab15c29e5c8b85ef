"""The kubelets' work on an API server: start bound pods, and remove deleted pods after a grace period.

One thread checks all pods a few times per second, so a change that it misses once is handled later.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

EVERY_SECONDS: Final = 0.1
DEFAULT_GRACE: Final = 30
"""Grace period of pods that set none, in seconds."""


class Kubelet:
    """Runs the pods of all nodes.

    A deleted pod takes `grace_seconds` to end, or its own grace period, if that is not the default.
    """

    def __init__(
        self, transport: Transport, grace_seconds: float, now: Callable[[], float], starts: bool = True
    ) -> None:
        self._transport = transport
        self._grace = grace_seconds
        self._now = now
        self._starts = starts
        self._ending: dict[str, float] = {}
        """When a pod was first seen as deleted, by uid."""
        self._stopped = threading.Event()

    def run(self) -> None:
        """Check pods until stopped. Calls are retried when the API server does not respond."""
        while not self._stopped.wait(EVERY_SECONDS):
            try:
                self.look_once()
            except ApiError:
                continue

    def stop(self) -> None:
        """End `run`."""
        self._stopped.set()

    def look_once(self) -> None:
        """Start bound pods, and remove pods whose grace period is over."""
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
        own = pod["metadata"].get("deletionGracePeriodSeconds", DEFAULT_GRACE)
        grace = self._grace if own == DEFAULT_GRACE else own
        if self._now() - first >= grace or not pod["spec"].get("nodeName"):
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            self._write(lambda: self._transport.delete(_path(pod), options))

    @staticmethod
    def _write(call: Callable[[], bytes]) -> None:
        """Ignore pods that changed in between; the next check handles them."""
        try:
            call()
        except ApiError:
            return


def _path(pod: dict[str, Any]) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"


@contextmanager
def run_kubelet(transport: Transport, grace_seconds: float) -> Iterator[None]:
    """Run the kubelets of all nodes in a thread."""
    kubelet = Kubelet(transport, grace_seconds, time.monotonic)
    thread = threading.Thread(target=kubelet.run)
    thread.start()
    try:
        yield
    finally:
        kubelet.stop()
        thread.join()
