"""Parses requests to an API server."""

from typing import Any, Final, NamedTuple

from tests.kubernetes.fake_api_server import errors
from tests.kubernetes.fake_api_server.resource_kinds import KindRegistry, Resource
from tests.kubernetes.fake_api_server.store import ObjectKey

_ONE: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_ALL: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


class ApiRequest(NamedTuple):
    """A request about objects."""

    verb: str
    """The verb in roles."""
    resource: Resource
    namespace: str
    name: str
    """Empty: the whole collection."""
    subresource: str
    query: dict[str, str]
    body: Any
    media_type: str

    @property
    def key(self) -> ObjectKey:
        """Key of the object."""
        return ObjectKey(self.resource, self.namespace, self.name)

    @property
    def what(self) -> str:
        """The resource in roles."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural

    @property
    def manager(self) -> str:
        """The field manager of a write."""
        return self.query.get("fieldManager", "unknown")


def group_version(path: str) -> tuple[str, str] | None:
    """Return the group and version of a discovery path; None for other paths."""
    match path.strip("/").split("/"):
        case ["api", version]:
            return "", version
        case ["apis", group, version]:
            return group, version
    return None


def parse(
    kinds: KindRegistry, method: str, path: str, query: dict[str, str], body: Any, media_type: str
) -> ApiRequest:
    """Parse a request. Raises ApiStatusError if the path is not served."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            raise errors.no_such_path()
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > _NAMESPACED:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", "", ""][: max(3, len(rest))]
    resource = kinds.find(group, version, plural)
    if resource is None or any(more):
        raise errors.no_such_path()
    verb = _ONE.get(method) if name else _ALL.get(method)
    if query.get("watch") in ("true", "1") and verb == "list":
        verb = "watch"
    if verb is None:
        raise errors.bad_request(f"{method} is not for {path}")
    return ApiRequest(verb, resource, namespace, name, subresource, query, body, media_type)


_NAMESPACED: Final = 2
