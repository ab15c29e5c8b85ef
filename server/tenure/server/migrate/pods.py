"""The pod templates inside an object, wherever its kind keeps them."""

from dataclasses import dataclass

from tenure.server.migrate.nodes import Mapping, Node, Scalar, Sequence, lookup, text_at, walk


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """Metadata and spec of pods; for a pod, the pod itself."""

    owner: Mapping
    spec: Mapping

    def label(self, key: str) -> str:
        """A label of the pods; empty when there is none."""
        return text_at(self.owner, "metadata", "labels", key)


def pod_templates(root: Mapping) -> list[PodTemplate]:
    """All of an object, in the order of the text.

    What a field ending in "spec" holds is the spec of pods when it lists containers or names a priority
    class; the second alone is what a patch looks like.
    """
    return [
        PodTemplate(node, value)
        for node in walk(root)
        if isinstance(node, Mapping)
        for key, value in node.pairs
        if isinstance(value, Mapping) and _names_spec(key) and _is_pod_spec(value)
    ]


def _names_spec(key: Node) -> bool:
    return isinstance(key, Scalar) and key.text.lower().endswith("spec")


def _is_pod_spec(node: Mapping) -> bool:
    containers, name = lookup(node, "containers"), lookup(node, "priorityClassName")
    return isinstance(containers, Sequence) or isinstance(name, Scalar)
