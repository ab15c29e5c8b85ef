"""Spans of the adapter's work. Without an SDK set up they cost nothing and go nowhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace

_TRACER: Final = trace.get_tracer("tenure.adapter")


@contextmanager
def span(name: str, **attributes: int) -> Iterator[trace.Span]:
    """A span over the block; attributes are called `tenure.NAME`. Calls to the server join it."""
    with _TRACER.start_as_current_span(name) as current:
        for key, value in attributes.items():
            current.set_attribute(f"tenure.{key}", value)
        yield current
