"""Whether a pod group may be evicted: the only module that reads what its owner wrote (R1.80, R8.1).

The field precedes the annotation, and that the priority. An unknown text protects.
"""

from enum import IntEnum
from typing import Final, NamedTuple


class Preemptibility(IntEnum):
    """Whether a pod group may be evicted; numbers as on the wire. UNSPECIFIED: its priority decides."""

    UNSPECIFIED = 0
    PREEMPTIBLE = 1
    NON_PREEMPTIBLE = 2
    SEMI_PREEMPTIBLE = 3


class PreemptibilitySource(IntEnum):
    """Where the preemptibility of a pod group is from; numbers as on the wire."""

    UNSPECIFIED = 0
    FIELD = 1
    ANNOTATION = 2
    PRIORITY = 3
    """The legacy rule (semantics R1.80)."""
    LABEL = 4
    """The label with the name of the annotation."""


class PreemptibilityReading(NamedTuple):
    """What a field and an annotation say, without the legacy rule."""

    mode: Preemptibility
    """UNSPECIFIED: neither is set."""
    source: PreemptibilitySource
    is_unknown: bool = False
    """Whether the text is unknown, so that it counts as non-preemptible (semantics R8.20)."""


PROTECTION: Final = {
    Preemptibility.UNSPECIFIED: 0,
    Preemptibility.PREEMPTIBLE: 0,
    Preemptibility.SEMI_PREEMPTIBLE: 1,
    Preemptibility.NON_PREEMPTIBLE: 2,
}
"""How much each value protects; a higher number protects more."""
SPELLINGS: Final = {
    Preemptibility.PREEMPTIBLE: "Preemptible",
    Preemptibility.NON_PREEMPTIBLE: "Non-Preemptible",
    Preemptibility.SEMI_PREEMPTIBLE: "Semi-Preemptible",
}
"""Values of the annotation in their usual spelling."""
_MODES: Final = {
    "": Preemptibility.UNSPECIFIED,
    "preemptible": Preemptibility.PREEMPTIBLE,
    "non-preemptible": Preemptibility.NON_PREEMPTIBLE,
    "nonpreemptible": Preemptibility.NON_PREEMPTIBLE,
    "semi-preemptible": Preemptibility.SEMI_PREEMPTIBLE,
    "semipreemptible": Preemptibility.SEMI_PREEMPTIBLE,
}
"""All valid spellings. A similar text such as "-preemptible" is unknown."""
LEGACY_LIMIT: Final = 100
"""Lowest priority at which a pod group without a value is non-preemptible (semantics R1.80)."""
_UNSET: Final = PreemptibilityReading(Preemptibility.UNSPECIFIED, PreemptibilitySource.PRIORITY)


def parse_preemptibility(text: str) -> Preemptibility | None:
    """Mode of a text, in any case and with or without the hyphen; blank is UNSPECIFIED, unknown None."""
    return _MODES.get(text.strip().lower())


def read_preemptibility(field: int, text: str, is_label: bool = False) -> PreemptibilityReading:
    """Read the field of a pod group, a number of the enum, and the text of its annotation; "": none.

    `is_label`: the text is that of a label, which counts likewise.
    """
    if field:
        return PreemptibilityReading(Preemptibility(field), PreemptibilitySource.FIELD)
    if not text:
        return _UNSET
    mode = parse_preemptibility(text)
    source = PreemptibilitySource.LABEL if is_label else PreemptibilitySource.ANNOTATION
    if mode is None:
        return PreemptibilityReading(Preemptibility.NON_PREEMPTIBLE, source, is_unknown=True)
    return PreemptibilityReading(mode, source) if mode else _UNSET


def effective_preemptibility(mode: Preemptibility, priority: int) -> Preemptibility:
    """The mode, or that of the legacy rule if it is UNSPECIFIED (semantics R1.80)."""
    if mode is not Preemptibility.UNSPECIFIED:
        return mode
    return Preemptibility.PREEMPTIBLE if priority < LEGACY_LIMIT else Preemptibility.NON_PREEMPTIBLE
