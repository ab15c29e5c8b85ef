"""Top owners of pods: who made them, as far up as it goes. Looked up when first needed, and kept.

Kinds are not known in advance and are not watched: the first owner of a kind lists all of that kind, later
ones are read one by one. What an owner says is read once.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

import msgspec
from tenure.client.kubernetes.failures import ApiFailure, NotFound, Refused
from tenure.client.kubernetes.objects.meta import ObjectMeta, OwnerReference
from tenure.client.kubernetes.objects.owner import OwnerObject
from tenure.client.kubernetes.reflector import PAGE
from tenure.client.kubernetes.transport import Transport

_MOST_KEPT: Final = 50_000
_MOST_LEVELS: Final = 8
_STOPS: Final = frozenset(("CronJob",))
"""Kinds that make unrelated workloads, one after the other: they own none of them in our sense."""


class Owner(NamedTuple):
    """The top owner of a pod."""

    metadata: ObjectMeta
    gang: int
    """How many pods must run together by what it or one of the owners below it says; 0: nobody says."""


class Owners(Protocol):
    """Whoever knows who owns whom."""

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """The top owner, from the owner of a pod upwards; None: not to be had just now, ask again."""


class NoOwners:
    """Knows only what pods say themselves: for objects without an API server behind them."""

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """See Owners."""
        return Owner(_only_named(namespace, reference), 0)


class _Resource(msgspec.Struct):
    name: str = ""
    kind: str = ""
    namespaced: bool = True


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


class _ListMeta(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] = []


_RESOURCES: Final = msgspec.json.Decoder(_Resources)
_PAGES: Final = msgspec.json.Decoder(_Page)
_OWNERS: Final = msgspec.json.Decoder(OwnerObject)


class ApiOwners:
    """Asks an API server. For one thread."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._known: OrderedDict[str, OwnerObject | None] = OrderedDict()
        """By uid; None: gone, or not to be read."""
        self._kinds: dict[str, dict[str, _Resource]] = {}
        self._listed: set[tuple[str, str]] = set()

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """See Owners. An owner that is gone, or may not be read, is known by its name alone."""
        found, gang = _only_named(namespace, reference), 0
        try:
            for _ in range(_MOST_LEVELS):
                above = self._find(namespace, reference)
                if above is None:
                    break
                found, gang = above.metadata, max(gang, above.gang())
                parent = above.metadata.owner()
                if parent is None or parent.kind in _STOPS:
                    break
                reference = parent
        except ApiFailure:
            return None
        return Owner(found, gang)

    def _find(self, namespace: str, reference: OwnerReference) -> OwnerObject | None:
        if reference.uid not in self._known:
            try:
                self._look_up(namespace, reference)
            except (NotFound, Refused):
                self._keep(reference.uid, None)
        self._known.move_to_end(reference.uid)
        return self._known[reference.uid]

    def _look_up(self, namespace: str, reference: OwnerReference) -> None:
        version = reference.api_version
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource = self._resources(base).get(reference.kind)
        if resource is None:
            raise NotFound(f"{version} has no {reference.kind}")
        if (base, resource.name) not in self._listed:
            for found in self._list(f"{base}/{resource.name}"):
                self._keep(found.metadata.uid, found)
            self._listed.add((base, resource.name))
        if reference.uid not in self._known:
            within = f"/namespaces/{namespace}" if resource.namespaced else ""
            item = _read(self._transport.get(f"{base}{within}/{resource.name}/{reference.name}"))
            is_meant = item is not None and item.metadata.uid == reference.uid
            self._keep(reference.uid, item if is_meant else None)

    def _resources(self, base: str) -> dict[str, _Resource]:
        if base not in self._kinds:
            found = _RESOURCES.decode(self._transport.get(base)).resources
            self._kinds[base] = {one.kind: one for one in found if "/" not in one.name}
        return self._kinds[base]

    def _list(self, path: str) -> Iterator[OwnerObject]:
        query = {"limit": str(PAGE)}
        while True:
            page = _PAGES.decode(self._transport.get(path, query))
            yield from filter(None, map(_read, page.items))
            if not page.metadata.continue_:
                return
            query["continue"] = page.metadata.continue_

    def _keep(self, uid: str, item: OwnerObject | None) -> None:
        self._known[uid] = item
        self._known.move_to_end(uid)
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)


def _read(content: bytes | msgspec.Raw) -> OwnerObject | None:
    """An owner; None when it is not what its kind should be."""
    try:
        return _OWNERS.decode(content)
    except msgspec.ValidationError:
        return None


def _only_named(namespace: str, reference: OwnerReference) -> ObjectMeta:
    return ObjectMeta(name=reference.name, namespace=namespace, uid=reference.uid)
