"""What a path of an API server is about, as people write it: `pods`, `pods/binding`, `podgroups/status`."""

from typing import Final

OTHERS: Final = "others"
DISCOVERY: Final = "discovery"
_KNOWN: Final = frozenset(
    (
        *("nodes", "pods", "priorityclasses", "queues", "podgroups", "topologies"),
        *("configmaps", "leases", "events"),
    )
)
"""Those that have a name in numbers and spans. What owns pods may be anything that somebody defined."""
_OF_CORE, _OF_GROUP = 2, 3
"""Parts of a path before the resource: `api/v1` and `apis/GROUP/VERSION`."""


def resource_of(path: str) -> str:
    """The resource and subresource of a path; one word for all that are not the adapter's own business."""
    parts = path.strip("/").split("/")
    parts = parts[_OF_CORE if parts[0] == "api" else _OF_GROUP :]
    if parts[:1] == ["namespaces"]:
        parts = parts[2:]
    if not parts:
        return DISCOVERY
    if parts[0] not in _KNOWN:
        return OTHERS
    return "/".join((parts[0], *parts[2:3]))


def collection_of(path: str) -> str:
    """The name of a collection, with its group where it has one: `nodes`, `queues.scheduling.run.ai`."""
    parts = path.strip("/").split("/")
    return parts[-1] if parts[0] == "api" else f"{parts[-1]}.{parts[1]}"
