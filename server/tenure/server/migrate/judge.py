"""One object: what it says, else what its priority says, written down where the object says such things.

Whatever leaves room for doubt is for somebody to decide: values and classes that nobody knows, pods that
differ, values in places that do not count.
"""

from dataclasses import dataclass

from tenure.server.migrate.classes import PriorityClasses
from tenure.server.migrate.edits import Edit, Unsafe, Writer
from tenure.server.migrate.finding import Doubt, Finding, Status, dotted
from tenure.server.migrate.implied import class_names, implied
from tenure.server.migrate.kinds import CLASS, EXEMPT, Kind, kind_of
from tenure.server.migrate.layout import Layout
from tenure.server.migrate.objects import ManifestObject
from tenure.server.migrate.stated import stated

Judgement = tuple[Finding, Edit | None]
"""What was found, and the edit if the object changes."""

_NO_CLASS = "it names no priority class, so a default decides"


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the objects of one file."""

    file: str
    layout: Layout
    classes: PriorityClasses

    def judge(self, manifest: ManifestObject) -> Judgement | None:
        """The judgement on an object; None when it runs no pods."""
        if reason := EXEMPT.get((manifest.group, manifest.kind)):
            return self._found(manifest, Status.LEFT_ALONE, message=reason), None
        kind = kind_of(manifest)
        if kind is None:
            return None
        field = dotted(kind.place)
        try:
            if value := stated(manifest, kind):
                return self._found(manifest, Status.EXPLICIT, field, value), None
            return self._by_priority(manifest, kind)
        except Doubt as doubt:
            found = self._found(manifest, Status.ATTENTION, field, line=doubt.line, message=str(doubt))
            return found, None

    def _by_priority(self, manifest: ManifestObject, kind: Kind) -> Judgement:
        """Raises Doubt."""
        field, names = dotted(kind.place), class_names(manifest, kind)
        if not names:
            return self._found(manifest, Status.LEFT_ALONE, field, message=_NO_CLASS), None
        value = kind.spell(implied(names, self.classes))
        try:
            edit = Writer(self.layout, manifest.root, value, beside=CLASS).put(kind.place)
        except Unsafe as unsafe:
            raise Doubt(f"{unsafe}; write {field}: {value}") from None
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
