"""Lists: pages of one version, from the objects at that version."""

import base64
import binascii
import json
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from tests.kubernetes.fake_api_server import errors
from tests.kubernetes.fake_api_server.errors import ApiStatusError
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.store import Item, ObjectKey, ObjectStore

_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_CONTINUE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response."
)


def list_page(store: ObjectStore, request: ApiRequest) -> Item:
    """Return one page. Raises ApiStatusError."""
    version, start = _position(store, request)
    found = store.all(request.resource, version)
    matching = ((key, item) for key, item in found.items() if key[1:] > start and matches(request, key, item))
    limit = int(request.query.get("limit", "0")) or None
    page = list(islice(matching, limit))
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if left := sum(1 for _ in matching):
        metadata |= {"continue": _token(version, page[-1][0]), "remainingItemCount": left}
    resource = request.resource
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": [item for _, item in page],
    }


def matches(request: ApiRequest, key: ObjectKey, item: Item) -> bool:
    """Whether an object matches the namespace and the label and field selectors of a request."""
    if request.namespace and key.namespace != request.namespace:
        return False
    labels = item["metadata"].get("labels", {})
    wanted = _equalities(request.query.get("labelSelector", ""))
    fields = _equalities(request.query.get("fieldSelector", ""))
    return all(labels.get(name) == value for name, value in wanted) and all(
        _field(item, name) == value for name, value in fields
    )


def _equalities(selector: str) -> list[tuple[str, str]]:
    """Split a selector into its parts, each NAME=VALUE."""
    parts = [part.partition("=") for part in selector.split(",") if part]
    if any(not equal or name.endswith("!") for name, equal, _ in parts):
        raise errors.bad_request(f"this server knows only equality: {selector}")
    return [(name, value.removeprefix("=")) for name, _, value in parts]


def _field(item: Item, path: str) -> str:
    value: Any = item
    for name in path.split("."):
        value = value.get(name, {})
    return "" if value == {} else str(value)


def _position(store: ObjectStore, request: ApiRequest) -> tuple[int, tuple[str, str]]:
    """Return the version of the list, and the object that the page starts after."""
    if token := request.query.get("continue"):
        version, start = _read(token)
        if version < store.compacted:
            raise errors.expired(_CONTINUE_TOO_OLD)
        return version, start
    asked = int(request.query.get("resourceVersion") or 0)
    if asked > store.version:
        raise _too_large(asked, store.version)
    if request.query.get("resourceVersionMatch") != "Exact":
        return store.version, ("", "")
    if asked < store.compacted:
        raise errors.expired(_TOO_OLD)
    return asked, ("", "")


def _too_large(asked: int, current: int) -> ApiStatusError:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiStatusError(
        HTTPStatus.GATEWAY_TIMEOUT,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        {"causes": causes, "retryAfterSeconds": 1},
    )


def _token(version: int, last: ObjectKey) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, last.namespace, last.name]).encode()).decode()


def _read(token: str) -> tuple[int, tuple[str, str]]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, binascii.Error):
        raise errors.bad_request("invalid continue token: continue key is not valid") from None
    return version, (namespace, name)
