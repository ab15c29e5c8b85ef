"""Which request is meant for whom."""

from http import HTTPStatus
from typing import Any, Final, NamedTuple

from tests.kube.fake import refusals
from tests.kube.fake.access import Access
from tests.kube.fake.evictions import Evictions
from tests.kube.fake.kinds import Kinds
from tests.kube.fake.lists import listed
from tests.kube.fake.pods import DONE, bound
from tests.kube.fake.request import Request, group_version, parse
from tests.kube.fake.store import Item, Store
from tests.kube.fake.watches import Watch
from tests.kube.fake.writes import Writes

_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_VERBS: Final = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class Answer(NamedTuple):
    """What a request is answered with."""

    status: int
    body: Item | str


class Api:
    """All of an API server but HTTP. For many threads."""

    def __init__(self) -> None:
        self.store = Store()
        self._kinds = Kinds()
        self._access = Access(self.store)
        self._writes = Writes(self.store, self._kinds)
        self._evictions = Evictions(self.store, self._writes)

    def answer(
        self, token: str, method: str, path: str, query: dict[str, str], body: Any, media_type: str
    ) -> Answer | Watch:
        """The answer to one request. Raises Refusal."""
        with self.store.changing:
            user = self._access.user(token)
            if (asked := group_version(path)) is not None:
                return self._discovery(*asked)
            request = parse(self._kinds, method, path, query, body, media_type)
            self._access.check(user, request)
            if request.verb == "watch":
                return Watch(self.store, request)
            return self._do(request)

    def _discovery(self, group: str, version: str) -> Answer:
        """Which kinds are served of one version of a group."""
        found = self._kinds.of_version(group, version)
        if not found:
            return Answer(HTTPStatus.NOT_FOUND, "404 page not found\n")
        resources = [
            {"name": one.plural, "kind": one.kind, "namespaced": one.namespaced, "verbs": _VERBS}
            for one in found
        ]
        said = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": found[0].api_version}
        return Answer(HTTPStatus.OK, {**said, "resources": resources})

    def _do(self, request: Request) -> Answer:
        if "dryRun" in request.query and request.subresource != "eviction":
            raise refusals.bad_request("this server knows dry runs of evictions only")
        if request.subresource not in ("", "status"):
            return self._create_below(request)
        match request.verb:
            case "get":
                return Answer(HTTPStatus.OK, self._find(request))
            case "list":
                return Answer(HTTPStatus.OK, listed(self.store, request))
            case "create":
                return Answer(HTTPStatus.CREATED, self._writes.create(request))
            case "update":
                return Answer(HTTPStatus.OK, self._writes.replace(request))
            case "patch":
                return self._patch(request)
            case "delete":
                return Answer(HTTPStatus.OK, self._writes.delete(request))
        found = listed(self.store, request)
        self._writes.delete_all(request, found["items"])
        return Answer(HTTPStatus.OK, found)

    def _patch(self, request: Request) -> Answer:
        if request.media_type == _APPLY:
            is_new = self.store.find(request.key) is None
            item = self._writes.apply(request)
            return Answer(HTTPStatus.CREATED if is_new else HTTPStatus.OK, item)
        if request.media_type == _MERGE:
            return Answer(HTTPStatus.OK, self._writes.merge(request))
        raise refusals.bad_request(f"this server knows no patches of type {request.media_type}")

    def _create_below(self, request: Request) -> Answer:
        """Bindings, evictions and tokens."""
        match (request.verb, request.what):
            case ("create", "pods/binding"):
                self._writes.put(request.key, bound(request, self._find(request)))
                return Answer(HTTPStatus.CREATED, DONE)
            case ("create", "pods/eviction"):
                return Answer(HTTPStatus.CREATED, self._evictions.evict(request, self._find(request)))
            case ("create", "serviceaccounts/token"):
                token = self._access.new_token(request.key)
                return Answer(HTTPStatus.CREATED, {**request.body, "status": {"token": token}})
        raise refusals.no_such_path()

    def _find(self, request: Request) -> Item:
        found = self.store.find(request.key)
        if found is None:
            raise refusals.not_found(request.resource, request.name)
        return found
