"""Owners of pods, read with the rights of the user.

The adapter lists the owners of all namespaces. A tenant may not, so each kind is listed in one namespace.
"""

from typing import Any, Final

import msgspec
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.objects.meta import ObjectMeta, OwnerReference
from tenure.kubernetes.observe.wishes import Place, place_of
from tenure.kubernetes.owners.chains import Link, link_of, owner_of
from tenure.kubernetes.owners.kinds import built_in_kinds
from tenure.kubernetes.owners.lookup import VERSION
from tenure.kubernetes.owners.owner_object import OwnerObject, read_owner
from tenure.kubernetes.plugin.access import KubeApi

_MAX_LEVELS: Final = 8


class Owners:
    """Owners by their references. A kind that the user may not list has none."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._kinds = built_in_kinds()
        self._resources: dict[str, list[dict[str, Any]]] = {}
        """Served resources by API version."""
        self._listed: dict[tuple[str, str, str], dict[str, OwnerObject]] = {}
        """Owners by uid, by namespace, version and kind."""

    def places(self, namespace: str, metadata: ObjectMeta) -> list[Place]:
        """What users wrote on the owners of an object, the place that counts first."""
        links: list[Link] = []
        reference = metadata.owner()
        while reference is not None and len(links) < _MAX_LEVELS:
            item = self._of_kind(namespace, reference).get(reference.uid)
            if item is None:
                break
            links.append(link_of(self._kinds, namespace, reference, item))
            reference = item.metadata.owner()
        return [place_of(one) for one in owner_of(links).chain] if links else []

    def _of_kind(self, namespace: str, reference: OwnerReference) -> dict[str, OwnerObject]:
        key = (namespace, reference.api_version, reference.kind)
        if key not in self._listed:
            self._listed[key] = {}
            kind = self._kinds.of(reference.api_version, reference.kind)
            for item in self._items(namespace, reference):
                if (one := read_owner(msgspec.json.encode(item), kind)) is not None:
                    self._listed[key][one.metadata.uid] = one
        return self._listed[key]

    def _items(self, namespace: str, reference: OwnerReference) -> list[dict[str, Any]]:
        version = reference.api_version
        if VERSION.fullmatch(version) is None:  # it becomes a part of a path
            return []
        try:
            if version not in self._resources:
                self._resources[version] = []
                base = "/apis" if "/" in version else "/api"
                self._resources[version] = self._api.read(f"{base}/{version}").get("resources", [])
            served = (one for one in self._resources[version] if one["kind"] == reference.kind)
            name = next((one["name"] for one in served if "/" not in one["name"]), None)
            return [] if name is None else self._api.items(version, name, namespace)
        except ApiError:
            return []
