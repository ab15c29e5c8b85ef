"""Values of priority classes: from manifests, the command line and the defaults of clusters."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from tenure.cli.migration.syntax_tree import text_at
from tenure.cli.migration.workload_kinds import ManifestObject

BUILT_IN: Final[Mapping[str, int]] = {
    # Classes of KAI (semantics R1.81).
    "train": 50,
    "build-preemptible": 75,
    "build": 100,
    "inference": 125,
    # Older name of build-preemptible in Run:ai.
    "interactive-preemptible": 75,
    # Classes of every Kubernetes cluster.
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Classes that clusters define."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}")


class OptionError(ValueError):
    """The value of a class is invalid. The message has the reason."""


class PriorityClasses:
    """Values of classes. Raises OptionError if a given value contradicts the manifests."""

    def __init__(self, objects: Iterable[ManifestObject], given: Mapping[str, int]) -> None:
        self._found: dict[str, set[int]] = defaultdict(set)
        self._options = given
        for manifest in objects:
            number = text_at(manifest.root, "value")
            if is_priority_class(manifest) and _NUMBER.fullmatch(number):
                self._found[manifest.name].add(int(number))
        for name, value in given.items():
            self._check(name, value)

    def values(self, name: str) -> frozenset[int]:
        """Values of a class: none if unknown, several if manifests differ."""
        found = self._found.get(name, set())
        if len(found) > 1 and name in self._options:
            return frozenset({self._options[name]})
        if found:
            return frozenset(found)
        value = self._options.get(name, BUILT_IN.get(name))
        return frozenset() if value is None else frozenset({value})

    def _check(self, name: str, value: int) -> None:
        found = self._found.get(name)
        if found and value not in found:
            known = " or ".join(map(str, sorted(found)))
            raise OptionError(f"{name} is {known} by its PriorityClass in the manifests, not {value}")


def is_priority_class(manifest: ManifestObject) -> bool:
    """Whether an object is a PriorityClass."""
    return (manifest.group, manifest.kind) == ("scheduling.k8s.io", "PriorityClass")


def parse_options(texts: Iterable[str]) -> dict[str, int]:
    """Parse `NAME=VALUE` texts. Raises OptionError."""
    given: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not _NUMBER.fullmatch(value):
            raise OptionError(f"{text!r} is not NAME=VALUE, such as gold=120")
        if given.setdefault(name, int(value)) != int(value):
            raise OptionError(f"{name} is given twice: as {given[name]} and as {int(value)}")
    return given
