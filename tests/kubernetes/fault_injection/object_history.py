"""Records every version of the pods and pod groups of a namespace, over a connection without faults."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tenure.kubernetes.api.api_errors import ApiError, Expired
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.fault_injection.history import History, ObjectVersion

_PAUSE: Final = 0.1
_READ_TIMEOUT: Final = 100.0


class CollectionRecorder:
    """Watches one collection and records its versions until stopped.

    After a restart the API server has no history. Then the collection is listed again, and all changes of an
    object since the last version are recorded as one.
    """

    def __init__(self, transport: Transport, path: str, seen: list[ObjectVersion]) -> None:
        self._transport, self._path, self._seen = transport, path, seen
        self._there: dict[str, dict[str, Any]] = {}
        self._version = ""
        self._stopped = threading.Event()
        self._list()

    def run(self) -> None:
        """Watch the collection; resume after a watch ends."""
        while not self._stopped.is_set():
            try:
                self._watch()
            except Expired:
                self._version = ""
            except ApiError:
                self._stopped.wait(_PAUSE)

    def stop(self) -> None:
        """Stop recording."""
        self._stopped.set()

    def _watch(self) -> None:
        if not self._version:
            self._list()
        query = {"watch": "true", "resourceVersion": self._version}
        with self._transport.lines(self._path, query, _READ_TIMEOUT) as lines:
            for line in lines:
                event = json.loads(line)
                if self._stopped.is_set():
                    return
                if event["type"] == "ERROR":
                    raise Expired(event["object"]["message"])
                self._write_down(event["type"], event["object"])
                self._version = event["object"]["metadata"]["resourceVersion"]

    def _list(self) -> None:
        found = json.loads(self._transport.get(self._path))
        items = {item["metadata"]["uid"]: item for item in found["items"]}
        for uid in self._there.keys() - items.keys():
            self._write_down("DELETED", self._there[uid])
        for uid, item in items.items():
            if item != self._there.get(uid):
                self._write_down("MODIFIED" if uid in self._there else "ADDED", item)
        self._version = found["metadata"]["resourceVersion"]

    def _write_down(self, event: str, item: dict[str, Any]) -> None:
        self._seen.append(ObjectVersion(time.time(), event, item))
        if event == "DELETED":
            self._there.pop(item["metadata"]["uid"], None)
        else:
            self._there[item["metadata"]["uid"]] = item


@contextmanager
def record_objects(
    transport: Transport, pods_path: str, groups_path: str, history: History
) -> Iterator[None]:
    """Record pods and pod groups while the block runs."""
    pods = CollectionRecorder(transport, pods_path, history.pods)
    pod_groups = CollectionRecorder(transport, groups_path, history.pod_groups)
    for one in (pods, pod_groups):
        threading.Thread(target=one.run, name="witness", daemon=True).start()
    try:
        yield
    finally:
        pods.stop()
        pod_groups.stop()
