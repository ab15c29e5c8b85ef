"""Server-side apply: the fields that a manager of the adapter has on an object, all at once."""

from collections.abc import Mapping
from typing import Any

from tenure.kubernetes.api.transport import APPLY_PATCH, LeaderTransport, Transport
from tenure.kubernetes.objects.meta import ObjectReference


def apply_fields(
    transport: Transport | LeaderTransport,
    where: str,
    manager: str,
    subject: ObjectReference,
    version: str = "",
    *,
    annotations: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
) -> None:
    """Replace the fields of a manager, if the object still has the uid, and this version unless it is "".

    `where` is the path of the object or its subresource. Raises ApiError.
    """
    meta = {
        "name": subject.name,
        "namespace": subject.namespace,
        "uid": subject.uid,
        "resourceVersion": version,
        "annotations": annotations,
    }
    body: dict[str, Any] = {
        "apiVersion": subject.api_version,
        "kind": subject.kind,
        "metadata": {key: value for key, value in meta.items() if value},
    }
    if status is not None:
        body["status"] = status
    transport.patch(where, body, APPLY_PATCH, {"fieldManager": manager, "force": "true"})
