"""The audit log of the API server: which user wrote which object, complete when a call returns."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

_POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
"""


class AuditedWrite(NamedTuple):
    """A write with a response of the API server."""

    verb: str
    resource: str
    """With its subresource, such as pods/binding."""
    namespace: str
    name: str
    status: int


class AuditLog:
    """The log of one API server. `flags` are the flags to start it with."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "audit.log"
        policy = folder / "audit-policy.yaml"
        policy.write_text(_POLICY)
        self.flags = (f"--audit-policy-file={policy}", f"--audit-log-path={self._log}")

    def writes(self, user: str, namespace: str) -> list[AuditedWrite]:
        """Return the writes of a user in a namespace, in order."""
        return [write for write in self.all_writes(user) if write.namespace == namespace]

    def all_writes(self, user: str) -> list[AuditedWrite]:
        """Return the writes of a user, in order."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        events = (json.loads(line) for line in lines)
        mine = (event for event in events if event["user"]["username"] == user)
        return list(map(_write, mine))


def _write(event: dict[str, Any]) -> AuditedWrite:
    about = event.get("objectRef", {})
    parts = (about.get("resource", ""), about.get("subresource", ""))
    return AuditedWrite(
        event["verb"],
        "/".join(filter(None, parts)),
        about.get("namespace", ""),
        about.get("name", ""),
        event.get("responseStatus", {}).get("code", 0),
    )
