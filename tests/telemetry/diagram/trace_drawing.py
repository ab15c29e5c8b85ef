"""Draws traces: one bar for each span, below its parent, with one time axis per trace."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.telemetry.otlp_receiver import text_attributes

_ROW, _LEFT, _WIDTH, _HEAD, _RIGHT = 17, 470, 500, 60, 110
_INDENT: Final = 14
_ADAPTER, _SERVER, _CYCLE = "#8250df", "#57606a", "#0969da"
_COLOURS: Final = {
    "tenure.adapter.call": "#cf222e",
    "tenure.adapter": _ADAPTER,
    "tenure.v1": _SERVER,
    "tenure.": _CYCLE,
}
"""Colors by prefix of the span name; the first match applies."""
_LEGEND: Final = (("adapter", "tenure.adapter"), ("server", "tenure.v1"), ("solver", "tenure."))
_LABELS: Final = ("tenure.extension_point", "tenure.outcome", "tenure.result")


class DrawnTrace(NamedTuple):
    """One trace: its title, its spans, and the spans whose children are omitted."""

    title: str
    spans: list[Span]
    collapsed: frozenset[str] = frozenset()


class _Row(NamedTuple):
    depth: int
    span: Span
    hidden: int
    """Number of omitted spans below it."""


def draw_traces(title: str, traces: Sequence[DrawnTrace]) -> str:
    """Draw traces, one below the other, with a line for each link between two of them."""
    lines, places = [], dict[bytes, float]()
    top = 30.0
    for trace in traces:
        rows = list(_rows(trace, b"", 0))
        lines.extend(_trace(trace.title, rows, top))
        places.update({row.span.span_id: _middle(top, at) for at, row in enumerate(rows)})
        top += _HEAD + _ROW * len(rows) + 10
    width = _LEFT + _WIDTH + _RIGHT
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:.0f}" '
        'font-family="ui-monospace, monospace" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="{top:.0f}" fill="#ffffff"/>',
        *_legend(width),
    ]
    return "\n".join([*head, *lines, *_links(traces, places), "</svg>", ""])


def _rows(trace: DrawnTrace, parent: bytes, depth: int) -> Iterator[_Row]:
    """Return the descendants of a span, depth first, ordered by time."""
    children = (span for span in trace.spans if span.parent_span_id == parent)
    for span in sorted(children, key=lambda span: (span.start_time_unix_nano, span.end_time_unix_nano)):
        within = list(_rows(trace, span.span_id, depth + 1))
        if span.name in trace.collapsed:
            yield _Row(depth, span, len(within))
        else:
            yield _Row(depth, span, 0)
            yield from within


def _trace(title: str, rows: list[_Row], top: float) -> Iterator[str]:
    begin = min(row.span.start_time_unix_nano for row in rows)
    length = max(row.span.end_time_unix_nano for row in rows) - begin
    end = top + _HEAD + _ROW * len(rows)
    yield f'<text x="12" y="{top + 16}" font-size="13">{escape(title)}</text>'
    for part in range(6):
        x = _LEFT + _WIDTH * part / 5
        yield f'<line x1="{x:.1f}" y1="{top + _HEAD - 12}" x2="{x:.1f}" y2="{end}" stroke="#d0d7de"/>'
        yield f'<text x="{x:.1f}" y="{top + _HEAD - 16}" fill="#57606a">{length * part / 5e6:.0f} ms</text>'
    for at, row in enumerate(rows):
        yield from _bar(row, _middle(top, at), begin, length)


def _bar(row: _Row, y: float, begin: int, length: int) -> Iterator[str]:
    span = row.span
    taken = span.end_time_unix_nano - span.start_time_unix_nano
    x, width = _LEFT + _WIDTH * (span.start_time_unix_nano - begin) / length, max(2, _WIDTH * taken / length)
    attributes = text_attributes(span.attributes)
    words = [attributes[key] for key in _LABELS if key in attributes]
    if "tenure.decision.id" in attributes:
        words.append(f"→ {attributes['tenure.decision.id'][:8]}")
    if row.hidden:
        words.append(f"({row.hidden} spans within)")
    colour = next((colour for start, colour in _COLOURS.items() if span.name.startswith(start)), _SERVER)
    label = escape("  ".join([span.name, " ".join(words)]).rstrip())
    yield f'<text x="{12 + _INDENT * row.depth}" y="{y + 4:.1f}" fill="#1f2328">{label}</text>'
    yield f'<rect x="{x:.1f}" y="{y - 5:.1f}" width="{width:.1f}" height="10" rx="2" fill="{colour}"/>'
    yield f'<text x="{x + width + 4:.1f}" y="{y + 4:.1f}" fill="#57606a">{taken / 1e6:.1f}</text>'


def _links(traces: Sequence[DrawnTrace], places: dict[bytes, float]) -> Iterator[str]:
    x = _LEFT + _WIDTH + _RIGHT - 50
    for span in (span for trace in traces for span in trace.spans):
        for link in span.links:
            if span.span_id in places and link.span_id in places:
                above, below = places[link.span_id], places[span.span_id]
                path = f"M {x} {below:.1f} C {x + 40} {below:.1f} {x + 40} {above:.1f} {x} {above:.1f}"
                yield f'<path d="{path}" fill="none" stroke="#bf8700" stroke-width="1.5"/>'
                yield f'<circle cx="{x}" cy="{above:.1f}" r="3" fill="#bf8700"/>'
                role = escape(text_attributes(link.attributes)["tenure.link"])
                yield f'<text x="{x - 5}" y="{below + 4:.1f}" fill="#bf8700" text-anchor="end">{role}</text>'


def _legend(width: int) -> Iterator[str]:
    entries = [(word, _COLOURS[start]) for word, start in _LEGEND]
    entries.insert(1, ("call to the API server", _COLOURS["tenure.adapter.call"]))
    for at, (word, colour) in enumerate([*entries, ("link", "#bf8700")]):
        x = width - 560 + 90 * at + (90 if at > 1 else 0)
        yield f'<rect x="{x}" y="10" width="10" height="10" rx="2" fill="{colour}"/>'
        yield f'<text x="{x + 15}" y="19" fill="#1f2328">{word}</text>'


def _middle(top: float, at: int) -> float:
    """Return the vertical center of a row."""
    return top + _HEAD + _ROW * at
