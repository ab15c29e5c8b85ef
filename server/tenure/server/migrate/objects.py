"""The Kubernetes objects in a file: one a document, or several in a list."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tenure.server.migrate.nodes import Mapping, Node, Sequence, lookup, text_at


@dataclass(frozen=True, slots=True)
class ManifestObject:
    """An object with its kind. `document` counts from one, `line` too."""

    root: Mapping
    document: int
    group: str
    """API group; empty for the core of Kubernetes."""
    kind: str

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.root.line + 1

    @property
    def name(self) -> str:
        """Its name, or the beginning of the name that it will be given."""
        generated = text_at(self.root, "metadata", "generateName")
        return text_at(self.root, "metadata", "name") or (generated and f"{generated}*")


def objects_in(documents: Iterable[Node]) -> Iterator[ManifestObject]:
    """All objects of a file; what has no kind is none."""
    for number, document in enumerate(documents, 1):
        for root in _members(document):
            version, kind = text_at(root, "apiVersion"), text_at(root, "kind")
            if isinstance(root, Mapping) and version and kind:
                yield ManifestObject(root, number, version.rpartition("/")[0], kind)


def _members(document: Node) -> list[Node]:
    """The items of a list, as `kubectl get` prints several objects; of anything else only itself."""
    items = lookup(document, "items")
    if text_at(document, "kind").endswith("List") and isinstance(items, Sequence):
        return items.items
    return [document]
