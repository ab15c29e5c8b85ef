"""Server-side apply: which manager owns which field, and the effects of ownership.

Fields are paths of names. A list is one field, except for conditions of pods, which are identified by their
type. Other writes own the fields that they change.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from tests.kubernetes.fake_api_server.errors import ApiStatusError
from tests.kubernetes.fake_api_server.request import ApiRequest
from tests.kubernetes.fake_api_server.store import Item

Path = tuple[str, ...]
_UNMANAGED: Final = frozenset(
    ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp")
)
"""Metadata without owners."""


class FieldManager(NamedTuple):
    """A manager of fields of an object, and its operation."""

    name: str
    is_applying: bool
    subresource: str

    def __str__(self) -> str:
        return f'"{self.name}"' if self.is_applying else f'"{self.name}" using v1'


class FieldOwners:
    """Owners of fields by the uid of objects."""

    def __init__(self) -> None:
        self._owned: dict[str, dict[FieldManager, set[Path]]] = {}

    def record_write(self, request: ApiRequest, before: Item, after: Item) -> None:
        """The manager of a write owns the fields that it changed; other managers lose them."""
        old, new = _fields(before), _fields(after)
        changed = {path for path in new if old.get(path) != new[path]}
        is_applying = request.media_type.startswith("application/apply-patch")
        manager = FieldManager(request.manager, is_applying, request.subresource)
        self._acquire(after, manager, changed, old.keys() - new.keys())

    def apply(self, request: ApiRequest, before: Item) -> Item:
        """Return the object with the applied fields.

        Raises ApiStatusError for fields of other managers, unless forced.
        """
        wanted, has = _fields(request.body), _fields(before)
        if request.query.get("force") != "true":
            self._check(request, before, {path for path in wanted if has.get(path) != wanted[path]})
        gone = self._own_fields(request, before) - wanted.keys() - self._foreign_fields(request, before)
        item = dict(_with_condition_map(before))
        for path in gone:
            item = _without(item, path)
        for path, value in wanted.items():
            _set(item, path, value)
        return _with_condition_list(item)

    def retain(self, request: ApiRequest, before: Item, after: Item) -> None:
        """Store what was applied: the manager owns these fields and no others."""
        wanted, has = _fields(request.body), _fields(before)
        manager = self._manager(request)
        changed = {path for path in wanted if has.get(path) != wanted[path]}
        self._acquire(after, manager, changed, has.keys() - _fields(after).keys())
        self._owned[after["metadata"]["uid"]][manager] = set(wanted)

    def _acquire(self, after: Item, manager: FieldManager, changed: set[Path], removed: set[Path]) -> None:
        """Assign fields to a manager, and delete ownership of removed fields."""
        owned = self._owned.setdefault(after["metadata"]["uid"], {})
        for other in owned:
            owned[other] -= changed | removed
        owned.setdefault(manager, set()).update(changed)

    def _check(self, request: ApiRequest, before: Item, paths: set[Path]) -> None:
        manager = self._manager(request)
        conflicts = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {other}",
                "field": _format_path(path),
            }
            for other, owned in self._owned.get(before["metadata"]["uid"], {}).items()
            for path in sorted(owned & paths)
            if other != manager
        ]
        if conflicts:
            details = "; ".join(f"{one['message']}: {one['field']}" for one in conflicts)
            count = f"{len(conflicts)} conflict{'s' if len(conflicts) > 1 else ''}"
            raise ApiStatusError(
                HTTPStatus.CONFLICT,
                "Conflict",
                f"Apply failed with {count}: {details}",
                {"causes": conflicts},
            )

    def _manager(self, request: ApiRequest) -> FieldManager:
        return FieldManager(request.manager, True, request.subresource)

    def _own_fields(self, request: ApiRequest, item: Item) -> set[Path]:
        return self._owned.get(item["metadata"]["uid"], {}).get(self._manager(request), set())

    def _foreign_fields(self, request: ApiRequest, item: Item) -> set[Path]:
        owned, mine = self._owned.get(item["metadata"]["uid"], {}), self._manager(request)
        return {path for other, paths in owned.items() if other != mine for path in paths}


def _fields(item: Item) -> dict[Path, Any]:
    """Return values by path, without the fields that identify the object."""
    parts = {
        name: part for name, part in _with_condition_map(item).items() if name not in ("apiVersion", "kind")
    }
    metadata = {name: part for name, part in parts.get("metadata", {}).items() if name not in _UNMANAGED}
    return dict(_leaves({**parts, "metadata": metadata}, ()))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif value != {}:
        yield path, value


def _with_condition_map(item: Item) -> Item:
    """Return a pod with its conditions as an object by type."""
    conditions = item.get("status", {}).get("conditions")
    if item.get("kind") != "Pod" or conditions is None:
        return item
    by_type = {one["type"]: one for one in conditions}
    return {**item, "status": {**item["status"], "conditions": by_type}}


def _with_condition_list(item: Item) -> Item:
    conditions = item.get("status", {}).get("conditions")
    if item["kind"] != "Pod" or conditions is None:
        return item
    return {**item, "status": {**item["status"], "conditions": list(conditions.values())}}


def _set(item: Item, path: Path, value: Any) -> None:
    """Set a field. Objects on the path are replaced, not changed."""
    for name in path[:-1]:
        item[name] = dict(item.get(name) or {})
        item = item[name]
    item[path[-1]] = value


def _without(item: Item, path: Path) -> Item:
    """Return the object without a field, and without objects that become empty."""
    name, *below = path
    others = {other: part for other, part in item.items() if other != name}
    if not below or not isinstance(item.get(name), dict):
        return others
    left = _without(item[name], tuple(below))
    return {**item, name: left} if left else others


def _format_path(path: Path) -> str:
    return "".join(f".{name}" for name in path)
