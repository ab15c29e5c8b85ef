"""Claims and pods of an API server in memory: versions, preconditions, and writes that fail or arrive late.

It accepts two claims on one device, as the real one does.
"""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, Final

from tenure.kubernetes.api.api_errors import Conflict, NotFound, RequestRejected, Unreachable

_CLAIM: Final = re.compile(r"/apis/resource\.k8s\.io/v1/namespaces/team/resourceclaims/([^/]+)(/status)?")
_POD: Final = re.compile(r"/api/v1/namespaces/team/pods/([^/]+)")
Device = tuple[str, str, str]


class ClaimServer:
    """Implements the part of a transport that the allocator uses; `random` decides about faults."""

    def __init__(self, random: Random, fault_rate: float) -> None:
        self._random, self._fault_rate = random, fault_rate
        self._version = 0
        self.claims: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.log: list[tuple[str, str]] = []
        """Collection and name of each changed object, in order."""
        self._late: list[Callable[[], object]] = []
        self.twice: list[Device] = []
        """Devices that two claims had at some time."""
        self.counts = dict.fromkeys(("allocated", "freed", "conflicts", "lost", "late"), 0)

    def create(self, collection: str, item: dict[str, Any]) -> None:
        """Create a claim or a pod."""
        meta = item["metadata"]
        meta.update(uid=f"uid-{meta['name']}", namespace="team", creationTimestamp="2027-01-01T00:00:00Z")
        self._store(collection, meta["name"], item)

    def change(self, collection: str, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change an object, as a controller does."""
        item = deepcopy(getattr(self, collection)[name])
        change(item)
        self._store(collection, name, item)

    def delete(self, collection: str, name: str) -> None:
        """Delete an object."""
        del getattr(self, collection)[name]
        self.log.append((collection, name))

    def get(self, path: str) -> bytes:
        """Read a pod."""
        found = _POD.fullmatch(path)
        assert found is not None
        if found[1] not in self.pods:
            raise NotFound("there is no such pod")
        return json.dumps(self.pods[found[1]]).encode()

    def patch(self, path: str, body: Any, media_type: str, query: Any = None) -> bytes:
        """Change a claim. The request or its response can be lost, and a lost request can arrive later."""
        if self._random.random() >= self._fault_rate:
            return self._apply(path, body)
        fault = self._random.choice(("refused", "before", "after", *("late",) * 4))
        if fault == "refused":
            raise RequestRejected("refused", 403)
        self.counts["lost"] += 1
        if fault == "after":
            self._apply(path, body)
        if fault == "late":
            self._late.append(lambda: self._apply(path, body))
        raise Unreachable("no response")

    def arrive(self) -> None:
        """Let one late request arrive."""
        if self._late:
            self.counts["late"] += 1
            try:
                self._late.pop(self._random.randrange(len(self._late)))()
            except (Conflict, NotFound, RequestRejected):
                return

    def drain(self) -> None:
        """Let all late requests arrive: a lease ends after the writes of its holder."""
        while self._late:
            self.arrive()

    def holders(self) -> dict[Device, list[str]]:
        """Names of claims by device, read from the objects alone."""
        found: dict[Device, list[str]] = {}
        for name, claim in self.claims.items():
            allocation = claim["status"].get("allocation") or {"devices": {"results": []}}
            for one in allocation["devices"]["results"]:
                found.setdefault((one["driver"], one["pool"], one["device"]), []).append(name)
        return found

    def _apply(self, path: str, body: Any) -> bytes:
        found = _CLAIM.fullmatch(path)
        assert found is not None
        name, is_status = found[1], bool(found[2])
        if name not in self.claims:
            raise NotFound("there is no such claim")
        claim = deepcopy(self.claims[name])
        wanted = body["metadata"]
        if wanted["uid"] != claim["metadata"]["uid"]:
            raise Conflict("another uid")
        if (
            wanted.get("resourceVersion", claim["metadata"]["resourceVersion"])
            != (claim["metadata"]["resourceVersion"])
        ):
            self.counts["conflicts"] += 1
            raise Conflict("another version")
        if is_status:
            self._change_status(claim, body["status"])
        else:
            self._change_metadata(claim["metadata"], wanted)
        self._store("claims", name, claim)
        return json.dumps(self.claims[name]).encode()

    def _change_status(self, claim: dict[str, Any], wanted: dict[str, Any]) -> None:
        before = claim["status"].get("allocation")
        if "allocation" in wanted:
            if before and wanted["allocation"] and before != wanted["allocation"]:
                raise RequestRejected("status.allocation is immutable", 422)
            assert "resource.kubernetes.io/delete-protection" in claim["metadata"].get("finalizers", [])
            claim["status"] = {key: value for key, value in wanted.items() if value}
            self.counts["allocated" if wanted["allocation"] else "freed"] += 1
            return
        if not before:
            raise RequestRejected("reservedFor needs an allocation", 422)
        reserved = {one["uid"]: one for one in claim["status"].get("reservedFor", ())}
        reserved.update({one["uid"]: one for one in wanted["reservedFor"]})
        claim["status"]["reservedFor"] = list(reserved.values())

    def _change_metadata(self, meta: dict[str, Any], wanted: dict[str, Any]) -> None:
        finalizers = dict.fromkeys([*meta.get("finalizers", ()), *wanted.get("finalizers", ())])
        meta["finalizers"] = list(finalizers)
        annotations = {**meta.get("annotations", {}), **wanted.get("annotations", {})}
        meta["annotations"] = {key: value for key, value in annotations.items() if value is not None}

    def _store(self, collection: str, name: str, item: dict[str, Any]) -> None:
        before = getattr(self, collection).get(name)
        same = before is not None and {**before, "metadata": {**before["metadata"], "resourceVersion": ""}}
        if same == {**item, "metadata": {**item["metadata"], "resourceVersion": ""}}:
            return
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        getattr(self, collection)[name] = item
        self.log.append((collection, name))
        self.twice.extend(device for device, claims in self.holders().items() if len(claims) > 1)
