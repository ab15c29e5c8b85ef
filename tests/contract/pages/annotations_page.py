"""The tables of docs/reference/annotations.md that are written from the table of annotations."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tenure.terms.annotations import ANNOTATIONS, Annotation, Writer, written_by
from tenure.v1 import snapshot_pb2 as pb

PAGE: Final = Path(__file__).parents[3] / "docs" / "reference" / "annotations.md"


def render_annotations() -> str:
    """The page with the current tables between its markers."""
    page = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"{PAGE.name} must contain {begin.strip()} and {end} once")
        text = f"{begin}{table()}{end}"
        page = re.sub(f"{begin}.*?{end}", lambda _, text=text: text, page, flags=re.DOTALL)
    return page


def _users() -> str:
    rows = (each for each in written_by(Writer.USER) if each.on_pod_group)
    cells = ((_keys(each), each.on_pod_group, _field(each, "PodGroup"), each.invalid) for each in rows)
    return _table(("annotation", "value", "field", "effect of an invalid value"), cells)


def _adapter() -> str:
    rows = written_by(Writer.ADAPTER)
    cells = ((_keys(each), each.on_pod_group, _field(each, "PodGroup")) for each in rows)
    return _table(("annotation", "value", "field"), cells)


def _queues() -> str:
    rows = (each for each in ANNOTATIONS if each.on_queue)
    return _table(
        ("annotation", "value", "field"),
        ((_keys(each), each.on_queue, _field(each, "Queue")) for each in rows),
    )


def _keys(each: Annotation) -> str:
    return ", else ".join(f"`{key}`" for key in each.keys)


def _field(each: Annotation, message: str) -> str:
    """The field with its message: amounts of one resource are in a message of their own."""
    if not each.field:
        return ""
    is_of_resource = message == "Queue" and each.field not in pb.Queue.DESCRIPTOR.fields_by_name
    return f"`{'QueueResource' if is_of_resource else message}.{each.field}`"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def lines() -> Iterator[str]:
        cells = [*head]
        yield f"| {' | '.join(cells)} |"
        yield f"|{'---|' * len(cells)}"
        for row in rows:
            yield f"| {' | '.join(row)} |".replace("  |", " |")

    return "\n".join([*lines(), ""])


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "set by users": _users,
    "written by the adapter": _adapter,
    "queues": _queues,
}
