"""Preemptibility of one object: its explicit value, else that of its priority class.

Places are read in the order of the adapter. Ambiguous objects need attention: unknown values and classes,
pods that differ, values in places that are not read (semantics R1.80, R8.1 to R8.3).
"""

from dataclasses import dataclass
from typing import Final

from tenure.cli.migration.edits import Edit, Layout, Path, UnsafeEdit, ValueWriter
from tenure.cli.migration.findings import Finding, NeedsAttention, Status, dotted
from tenure.cli.migration.priority_classes import PriorityClasses
from tenure.cli.migration.syntax_tree import ScalarNode, lookup, text_at
from tenure.cli.migration.workload_kinds import (
    CLASS,
    EXEMPT,
    OTHER_CLASS_PLACES,
    OTHER_CLASSES,
    VOLCANO_KEY,
    ManifestObject,
    WorkloadKind,
    kind_of,
    notes_and_labels,
    pod_templates,
)
from tenure.codec.annotations import PREEMPTIBILITY
from tenure.terms.preemptibility import Preemptibility, effective_preemptibility, parse_preemptibility
from tenure.wire.violations import quote_name


def class_names(manifest: ManifestObject, kind: WorkloadKind) -> tuple[str, ...]:
    """Distinct priority classes of an object: several if its pods differ, none if a default applies.

    The other labels count as well, because KAI does not read all that the adapter reads. Those of pods count
    only for the adapter, and only if the object has none. Raises NeedsAttention if only some of its pods set
    one.
    """
    root = manifest.root
    names = [next(filter(None, (text_at(root, *path) for path in kind.classes)), "")]
    if not kind.has_pods:
        return tuple(filter(None, names))
    others = [text_at(root, *path) for path in OTHER_CLASS_PLACES]
    if not names[0]:
        templates = pod_templates(root)
        names = [pods.text(CLASS) or text_at(pods.spec, CLASS) for pods in templates]
        if not any(others):
            others = [pods.text(*OTHER_CLASSES) for pods in templates]
    if any(names) and not all(names):
        raise NeedsAttention("only some of its pod templates set a priority class; set it in all of them")
    names.extend(others)
    return tuple(dict.fromkeys(filter(None, names)))


def implied_value(names: tuple[str, ...], classes: PriorityClasses) -> Preemptibility:
    """Preemptibility that all these classes imply. Raises NeedsAttention unless they agree."""
    for name in names:
        if not classes.values(name):
            fix = f"add --priority-class {name}=VALUE"
            raise NeedsAttention(f"its priority class {name} is not defined in the manifests; {fix}")
    values = {value for name in names for value in classes.values(name)}
    modes = {effective_preemptibility(Preemptibility.UNSPECIFIED, value) for value in values}
    if len(modes) == 1:
        return modes.pop()
    if len(names) == 1:
        defined = " and ".join(map(str, sorted(values)))
        fix = f"select one with --priority-class {names[0]}=VALUE"
        raise NeedsAttention(f"its priority class {names[0]} is defined as {defined}; {fix}")
    raise NeedsAttention(
        f"it sets several priority classes with different preemptibility: {', '.join(names)}; set one of them"
    )


_BY_PRIORITY: Final = (Preemptibility.PREEMPTIBLE, Preemptibility.NON_PREEMPTIBLE)
"""Values that a priority implies; semi-preemptible is always explicit."""


def explicit_value(manifest: ManifestObject, kind: WorkloadKind) -> str:
    """Explicit value, or empty. Raises NeedsAttention for an unreliable value."""
    for path in kind.places:
        own = lookup(manifest.root, *path)
        if isinstance(own, ScalarNode) and not own.is_empty:
            _check(own.text, path, kind, own.line + 1)
            return own.text
    value = _explicit_pod_value(manifest, kind)
    if not value:
        _reject_ignored_places(manifest, kind)
    return value


def _explicit_pod_value(manifest: ManifestObject, kind: WorkloadKind) -> str:
    templates = pod_templates(manifest.root) if kind.has_pods else []
    for template in templates:
        for path in _POD_PLACES:
            if value := text_at(template.owner, *path):
                _check(value, path, kind, template.spec.line + 1, of="its pods: ")
    values = list(dict.fromkeys(template.text(PREEMPTIBILITY, VOLCANO_KEY) for template in templates))
    if len(values) > 1:
        listed = ", ".join(quote_name(value) if value else "nothing" for value in values)
        raise NeedsAttention(f"its pod templates differ in {PREEMPTIBILITY}: {listed}; {_write(kind)}")
    return next(iter(values), "")


def _reject_ignored_places(manifest: ManifestObject, kind: WorkloadKind) -> None:
    """Raises NeedsAttention for a value in a place that is not read."""
    for path in kind.ignored_places:
        found = lookup(manifest.root, *path)
        if isinstance(found, ScalarNode) and not found.is_empty:
            problem = f"{dotted(path)} is {quote_name(found.text)}, but this field is not read"
            raise NeedsAttention(f"{problem}; {_write(kind)}", found.line + 1)


_POD_PLACES: Final = notes_and_labels(PREEMPTIBILITY, VOLCANO_KEY)
_BOOLEANS: Final = frozenset(("1", "t", "true", "0", "f", "false"))


def _check(value: str, path: Path, kind: WorkloadKind, line: int, of: str = "") -> None:
    """Raises NeedsAttention for an unknown value. Definitions accept one spelling of a field only."""
    problem = f"{of}{dotted(path)} is {quote_name(value)}, which "
    if path[-1] == VOLCANO_KEY:
        if value.strip().lower() not in _BOOLEANS:
            raise NeedsAttention(f"{problem}is not true or false; {_write(kind)}", line)
    elif not (mode := parse_preemptibility(value)):
        raise NeedsAttention(f"{problem}is not a known value; {_write(kind, there=True)}", line)
    elif path[-1] != PREEMPTIBILITY and value != kind.spell(mode):
        raise NeedsAttention(f"{problem}must be spelled {kind.spell(mode)}", line)


def _write(kind: WorkloadKind, *, there: bool = False) -> str:
    values = " or ".join(map(kind.spell, _BY_PRIORITY))
    return f"write {values}" if there else f"write {dotted(kind.place)}: {values}"


Assessment = tuple[Finding, Edit | None]
"""Finding, and the edit if the object changes."""

_NO_CLASS = "it sets no priority class, so a default applies"


@dataclass(frozen=True, slots=True)
class ManifestAssessor:
    """Assesses the objects of one file."""

    file: str
    layout: Layout
    classes: PriorityClasses

    def assess(self, manifest: ManifestObject) -> Assessment | None:
        """Assessment of an object; None if it runs no pods."""
        if reason := EXEMPT.get((manifest.group, manifest.kind)):
            return self._found(manifest, Status.UNCHANGED, message=reason), None
        kind = kind_of(manifest)
        if kind is None:
            return None
        field = dotted(kind.place)
        try:
            if value := explicit_value(manifest, kind):
                return self._found(manifest, Status.EXPLICIT, field, value), None
            return self._by_priority(manifest, kind)
        except NeedsAttention as problem:
            found = self._found(manifest, Status.ATTENTION, field, line=problem.line, message=str(problem))
            return found, None

    def _by_priority(self, manifest: ManifestObject, kind: WorkloadKind) -> Assessment:
        """Raises NeedsAttention."""
        field, names = dotted(kind.place), class_names(manifest, kind)
        if not names:
            return self._found(manifest, Status.UNCHANGED, field, message=_NO_CLASS), None
        value = kind.spell(implied_value(names, self.classes))
        try:
            edit = ValueWriter(self.layout, manifest.root, value, neighbor=CLASS).put(kind.place)
        except UnsafeEdit as unsafe:
            raise NeedsAttention(f"{unsafe}; write {field}: {value}") from None
        return self._found(manifest, Status.CHANGED, field, value, names), edit

    def _found(
        self,
        manifest: ManifestObject,
        status: Status,
        field: str = "",
        value: str = "",
        priority_classes: tuple[str, ...] = (),
        line: int | None = None,
        message: str = "",
    ) -> Finding:
        return Finding(
            status=status,
            file=self.file,
            document=manifest.document,
            line=line or manifest.line,
            kind=manifest.kind,
            name=manifest.name,
            field=field,
            value=value,
            priority_classes=priority_classes,
            message=message,
        )
