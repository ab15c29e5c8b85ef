"""`make telemetry-picture`: docs/trace.svg, one trace as it arrived from a real server.

A client in this process begins the trace, a server decides on a small contested cluster, and what a receiver
gets of it is drawn: one bar for each span, below the one it belongs to, on one axis of time.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tenure.client import Client

from tests.telemetry.receiver import Received, receiving, text_of
from tests.telemetry.served import contested_snapshot, telling_server

FILE: Final = Path(__file__).parents[2] / "docs" / "trace.svg"
CALLS: Final = 20
_ROW, _LEFT, _WIDTH, _TOP = 17, 470, 560, 46
_COLOURS: Final = {
    "caller": "#8250df",
    "tenure.v1.DecisionService/Decide": "#57606a",
    "tenure.cycle": "#0969da",
    "tenure.action": "#1a7f37",
    "tenure.pod_group": "#bf8700",
    "tenure.scenario": "#cf222e",
    "tenure.plugin": "#9a6700",
}
"""Colours by the first word of a span's name; grey for the others."""


class Row(NamedTuple):
    """A span and how deep it lies."""

    depth: int
    span: Span


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.telemetry.picture", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=FILE, help="where to draw it (docs/trace.svg)")
    file = parser.parse_args().file
    with receiving() as (received, address), tempfile.TemporaryDirectory() as folder:
        spans = _shortest_trace(received, address, Path(folder))
    file.write_text(drawn(list(_rows(spans, b"", 0))))
    print(f"{file}: {len(spans)} spans")
    return 0


def _shortest_trace(received: Received, address: str, folder: Path) -> list[Span]:
    """The spans of the call that other work on the machine disturbed least, of `CALLS`."""
    provider = TracerProvider(resource=Resource({"service.name": "caller"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"http://{address}")))
    with telling_server(folder, otlpEndpoint=f"http://{address}") as (_, server), Client(server) as client:
        for _ in range(CALLS):
            with provider.get_tracer("picture").start_as_current_span("caller"):
                client.decide(contested_snapshot())
        received.until(lambda got: len(got.named("tenure.v1.DecisionService/Decide")) == CALLS)
    provider.shutdown()
    shortest = min(
        received.named("caller"), key=lambda span: span.end_time_unix_nano - span.start_time_unix_nano
    )
    return [span for span in received.spans if span.trace_id == shortest.trace_id]


def _rows(spans: list[Span], parent: bytes, depth: int) -> Iterator[Row]:
    """The spans below a parent, in the order of time, each with those below it."""
    children = (span for span in spans if span.parent_span_id == parent)
    for span in sorted(children, key=lambda span: (span.start_time_unix_nano, span.end_time_unix_nano)):
        yield Row(depth, span)
        yield from _rows(spans, span.span_id, depth + 1)


def drawn(rows: list[Row]) -> str:
    """The picture."""
    begin = min(row.span.start_time_unix_nano for row in rows)
    length = max(row.span.end_time_unix_nano for row in rows) - begin
    height = _TOP + _ROW * len(rows) + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 90} {height}" '
        'font-family="ui-monospace, monospace" font-size="11">',
        "<title>One decision, from the caller to what a plugin said</title>",
        f'<rect width="100%" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="18" font-size="13">One decision, {length / 1e6:.1f} ms, as it arrived</text>',
        *_axis(length, height),
    ]
    for number, row in enumerate(rows):
        lines.extend(_bar(row, _TOP + _ROW * number, begin, length))
    return "\n".join([*lines, "</svg>", ""])


def _axis(length: int, height: int) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = _LEFT + _WIDTH * tenth / 10
        yield f'<line x1="{x:.1f}" y1="{_TOP - 8}" x2="{x:.1f}" y2="{height - 8}" stroke="#d0d7de"/>'
        yield f'<text x="{x:.1f}" y="{_TOP - 12}" fill="#57606a">{length * tenth / 1e7:.1f} ms</text>'


def _bar(row: Row, y: int, begin: int, length: int) -> Iterator[str]:
    span = row.span
    x = _LEFT + _WIDTH * (span.start_time_unix_nano - begin) / length
    width = max(1.5, _WIDTH * (span.end_time_unix_nano - span.start_time_unix_nano) / length)
    colour = _COLOURS.get(span.name.split()[0], "#8c959f")
    said = text_of(span.attributes)
    outcome = " ".join(said[key] for key in ("tenure.hook", "tenure.outcome") if key in said)
    link = f" → {said['tenure.decision.id']}" if "tenure.decision.id" in said else ""
    label = escape(f"{span.name}  {outcome}{link}".rstrip())
    yield f'<text x="{12 + 14 * row.depth}" y="{y + 11}" fill="#1f2328">{label}</text>'
    yield f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{_ROW - 6}" rx="2" fill="{colour}"/>'


if __name__ == "__main__":
    sys.exit(main())
