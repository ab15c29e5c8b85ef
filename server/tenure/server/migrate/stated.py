"""What an object says itself about its preemptibility (semantics R8.1, R8.2)."""

from typing import Final

from tenure.server.codec.annotations import PREEMPTIBILITY, preemptibility
from tenure.server.codec.violations import shown
from tenure.server.migrate.finding import Doubt, dotted
from tenure.server.migrate.kinds import Kind
from tenure.server.migrate.nodes import Scalar, lookup
from tenure.server.migrate.objects import ManifestObject
from tenure.server.migrate.pods import pod_templates
from tenure.solver.model.workload import Preemptibility

_BY_PRIORITY: Final = (Preemptibility.PREEMPTIBLE, Preemptibility.NON_PREEMPTIBLE)
"""What a priority can mean; semi-preemptible is only ever said."""


def stated(manifest: ManifestObject, kind: Kind) -> str:
    """The value it gives; empty when it gives none. Raises Doubt when the value cannot be relied on."""
    own = lookup(manifest.root, *kind.place)
    if isinstance(own, Scalar) and not own.is_empty:
        _check(own.text, dotted(kind.place), kind, own.line + 1)
        return own.text
    # A label that is there but empty ends the pod grouper's search: then the pods are not asked.
    value = _stated_by_pods(manifest, kind) if own is None else ""
    if not value:
        _refuse_elsewhere(manifest, kind)
    return value


def _stated_by_pods(manifest: ManifestObject, kind: Kind) -> str:
    templates = pod_templates(manifest.root) if kind.has_pods else []
    values = {template.label(PREEMPTIBILITY): template.spec.line + 1 for template in templates}
    for value, line in values.items():
        if value:
            _check(value, f"the label {PREEMPTIBILITY} of its pods", kind, line)
    if len(values) > 1:
        said = ", ".join(shown(value) if value else "nothing" for value in values)
        raise Doubt(f"its pod templates differ in the label {PREEMPTIBILITY}: {said}; {_write(kind)}")
    return next(iter(values), "")


def _refuse_elsewhere(manifest: ManifestObject, kind: Kind) -> None:
    """Raises Doubt when a value stands where it does not count: what was meant may differ from what is."""
    for path in kind.elsewhere:
        found = lookup(manifest.root, *path)
        if isinstance(found, Scalar) and not found.is_empty:
            says = f"{dotted(path)} is {shown(found.text)}, but that is not where it counts"
            raise Doubt(f"{says}; {_write(kind)}", found.line + 1)


def _check(value: str, field: str, kind: Kind, line: int) -> None:
    if value in map(kind.spell, (*_BY_PRIORITY, Preemptibility.SEMI_PREEMPTIBLE)):
        return
    mode = preemptibility(value)
    if mode and kind.any_spelling:
        return
    if mode:
        raise Doubt(f"{field} is {shown(value)}, which counts only as {kind.spell(mode)}; write that", line)
    raise Doubt(f"{field} is {shown(value)}, which means nothing; {_write(kind, there=True)}", line)


def _write(kind: Kind, *, there: bool = False) -> str:
    values = " or ".join(map(kind.spell, _BY_PRIORITY))
    return f"write {values}" if there else f"write {dotted(kind.place)}: {values}"
