"""Routes requests to their handlers."""

from http import HTTPStatus
from typing import Any, Final, NamedTuple

from tests.kubernetes.fake_api_server import errors
from tests.kubernetes.fake_api_server.access import Authorizer
from tests.kubernetes.fake_api_server.evictions import EvictionHandler
from tests.kubernetes.fake_api_server.lists import list_page
from tests.kubernetes.fake_api_server.pods import DONE, bind
from tests.kubernetes.fake_api_server.request import ApiRequest, group_version, parse
from tests.kubernetes.fake_api_server.resource_kinds import KindRegistry
from tests.kubernetes.fake_api_server.store import Item, ObjectStore
from tests.kubernetes.fake_api_server.watches import WatchStream
from tests.kubernetes.fake_api_server.writes import WriteHandler

_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_VERBS: Final = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class ApiResponse(NamedTuple):
    """A response."""

    status: int
    body: Item | str


class ApiRouter:
    """An API server without HTTP. Thread-safe."""

    def __init__(self) -> None:
        self.store = ObjectStore()
        self._kinds = KindRegistry()
        self._access = Authorizer(self.store)
        self._writes = WriteHandler(self.store, self._kinds)
        self._evictions = EvictionHandler(self.store, self._writes)

    def respond(
        self, token: str, method: str, path: str, query: dict[str, str], body: Any, media_type: str
    ) -> ApiResponse | WatchStream:
        """Handle one request. Raises ApiStatusError."""
        with self.store.changing:
            user = self._access.user(token)
            if (asked := group_version(path)) is not None:
                return self._discovery(*asked)
            request = parse(self._kinds, method, path, query, body, media_type)
            self._access.check(user, request)
            if request.verb == "watch":
                return WatchStream(self.store, request)
            return self._dispatch(request)

    def _discovery(self, group: str, version: str) -> ApiResponse:
        """Return the kinds that are served of one version of a group."""
        found = self._kinds.in_version(group, version)
        if not found:
            return ApiResponse(HTTPStatus.NOT_FOUND, "404 page not found\n")
        resources = [
            {"name": one.plural, "kind": one.kind, "namespaced": one.namespaced, "verbs": _VERBS}
            for one in found
        ]
        list_fields = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": found[0].api_version}
        return ApiResponse(HTTPStatus.OK, {**list_fields, "resources": resources})

    def _dispatch(self, request: ApiRequest) -> ApiResponse:
        if "dryRun" in request.query and request.subresource != "eviction":
            raise errors.bad_request("this server knows dry runs of evictions only")
        if request.subresource not in ("", "status"):
            return self._create_below(request)
        match request.verb:
            case "get":
                return ApiResponse(HTTPStatus.OK, self._find(request))
            case "list":
                return ApiResponse(HTTPStatus.OK, list_page(self.store, request))
            case "create":
                return ApiResponse(HTTPStatus.CREATED, self._writes.create(request))
            case "update":
                return ApiResponse(HTTPStatus.OK, self._writes.replace(request))
            case "patch":
                return self._patch(request)
            case "delete":
                return ApiResponse(HTTPStatus.OK, self._writes.delete(request))
        found = list_page(self.store, request)
        self._writes.delete_all(request, found["items"])
        return ApiResponse(HTTPStatus.OK, found)

    def _patch(self, request: ApiRequest) -> ApiResponse:
        if request.media_type == _APPLY:
            is_new = self.store.find(request.key) is None
            item = self._writes.apply(request)
            return ApiResponse(HTTPStatus.CREATED if is_new else HTTPStatus.OK, item)
        if request.media_type == _MERGE:
            return ApiResponse(HTTPStatus.OK, self._writes.merge(request))
        raise errors.bad_request(f"this server knows no patches of type {request.media_type}")

    def _create_below(self, request: ApiRequest) -> ApiResponse:
        """Create bindings, evictions and tokens."""
        match (request.verb, request.what):
            case ("create", "pods/binding"):
                self._writes.put(request.key, bind(request, self._find(request)))
                return ApiResponse(HTTPStatus.CREATED, DONE)
            case ("create", "pods/eviction"):
                return ApiResponse(HTTPStatus.CREATED, self._evictions.evict(request, self._find(request)))
            case ("create", "serviceaccounts/token"):
                token = self._access.new_token(request.key)
                return ApiResponse(HTTPStatus.CREATED, {**request.body, "status": {"token": token}})
        raise errors.no_such_path()

    def _find(self, request: ApiRequest) -> Item:
        found = self.store.find(request.key)
        if found is None:
            raise errors.not_found(request.resource, request.name)
        return found
