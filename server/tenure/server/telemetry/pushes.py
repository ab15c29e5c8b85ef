"""Which span brought a state, so that the span of a decision on it can point there.

A link, and no child: a state may be decided on for hours, and a trace of hours is of no use to anybody.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext
from tenure.server.telemetry import names
from tenure.v1.state_pb2 import StateReference

_TRACER: Final = trace.get_tracer("tenure.server")
MOST: Final = 256
"""States of which the span is remembered; there are a few versions of each at a time."""
_Key = tuple[str, str, str, int]


class Pushes:
    """Remembers the spans in which states came, the latest `MOST` of them. For many threads."""

    def __init__(self) -> None:
        self._spans: OrderedDict[_Key, SpanContext] = OrderedDict()
        self._changing = threading.Lock()

    def remember(self, state: StateReference) -> None:
        """The state came in the span at hand, if that is kept."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        with self._changing:
            self._spans[_key(state)] = span.get_span_context()
            self._spans.move_to_end(_key(state))
            if len(self._spans) > MOST:
                self._spans.popitem(last=False)

    @contextmanager
    def delta_span(self) -> Iterator[None]:
        """A trace of its own for one delta of a stream, which may go on for days."""
        stream = trace.get_current_span().get_span_context()
        links = [Link(stream, {"tenure.link": "stream"})] if stream.is_valid else []
        with _TRACER.start_as_current_span(
            names.DELTA, Context(), links=links, record_exception=False, set_status_on_exception=False
        ):
            yield

    def link(self, state: StateReference) -> None:
        """Let the span at hand point to the one in which the state came."""
        with self._changing:
            pushed = self._spans.get(_key(state))
        if pushed is not None:
            trace.get_current_span().add_link(pushed, {"tenure.link": "state"})


def _key(state: StateReference) -> _Key:
    return state.cluster_id, state.node_pool, state.epoch, state.version
