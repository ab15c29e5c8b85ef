"""Spans of the adapter's work. Without an SDK set up they cost little and go nowhere.

A round is a trace: what is heard of the cluster is observed, told to the server, decided on there in spans of
the server's own, and done by calls to the API server. Its phases always have a span; of steps and calls the
first `MOST_SPANS` of a round have one, the rest is counted. Nothing that nobody waits for, as watching
and the lease, has spans.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue

ROUND: Final = "tenure.adapter.round"
OBSERVE: Final = "tenure.adapter.observe"
DECIDE: Final = "tenure.adapter.decide"
REMEMBER: Final = "tenure.adapter.remember"
EVICT: Final = "tenure.adapter.evict"
BIND: Final = "tenure.adapter.bind"
REPORT: Final = "tenure.adapter.report"
STEP: Final = "tenure.adapter.step"
"""`evict` or `bind` follows after a space."""
CALL: Final = "tenure.adapter.call"
"""Method and resource follow: `tenure.adapter.call POST pods/binding`."""

DECISION: Final = "tenure.decision.id"
RESULT: Final = "tenure.result"
RESOURCE: Final = "tenure.resource"
GROUPS: Final = "tenure.groups"
PODS: Final = "tenure.pods"
MORE_SPANS: Final = "tenure.more.spans"
LINK: Final = "tenure.link"

MOST_SPANS: Final = 256
_TRACER: Final = trace.get_tracer("tenure.adapter")


class _Sample:
    """Which spans of one round there are: the first. For many threads."""

    def __init__(self) -> None:
        self._asked = count()

    def takes_one_more(self) -> bool:
        """Whether there may be another."""
        return next(self._asked) < MOST_SPANS

    def left_out(self) -> int:
        """How many were asked for beyond those; to be asked once, in the end."""
        return max(0, next(self._asked) - MOST_SPANS)


_SAMPLE: Final[ContextVar[_Sample | None]] = ContextVar("tenure.adapter.sample", default=None)


@contextmanager
def round_span() -> Iterator[Span]:
    """A trace over one round."""
    sample = _Sample()
    before = _SAMPLE.set(sample)
    try:
        with _opened(ROUND) as current:
            yield current
            if more := sample.left_out():
                current.set_attribute(MORE_SPANS, more)
    finally:
        _SAMPLE.reset(before)


@contextmanager
def span(name: str, **attributes: int) -> Iterator[Span]:
    """A span over a phase of a round; attributes are called `tenure.NAME`. Calls to the server join it."""
    about = {f"tenure.{key}": value for key, value in attributes.items()}
    with _opened(name, attributes=about) as current:
        yield current


@contextmanager
def step_span(kind: str, decision: str, links: Sequence[Link] = ()) -> Iterator[Span]:
    """A span over one step of a decision group, as far as the round has room for it."""
    with _sampled(f"{STEP} {kind}", SpanKind.INTERNAL, {DECISION: decision}, links) as current:
        yield current


@contextmanager
def call_span(method: str, resource: str) -> Iterator[Span]:
    """A span over one call to the API server, as far as the round has room for it."""
    about = {"http.request.method": method, RESOURCE: resource}
    with _sampled(f"{CALL} {method} {resource}", SpanKind.CLIENT, about) as current:
        yield current


@contextmanager
def _sampled(
    name: str, kind: SpanKind, attributes: Mapping[str, AttributeValue], links: Sequence[Link] = ()
) -> Iterator[Span]:
    sample = _SAMPLE.get()
    if sample is None or not trace.get_current_span().is_recording() or not sample.takes_one_more():
        yield trace.INVALID_SPAN
        return
    with _opened(name, kind, attributes, links) as current:
        yield current


@contextmanager
def _opened(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, AttributeValue] | None = None,
    links: Sequence[Link] = (),
) -> Iterator[Span]:
    """A span that says that something failed, but not the words: these may name workloads."""
    with _TRACER.start_as_current_span(
        name, None, kind, attributes, links, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception:
            current.set_status(StatusCode.ERROR)
            raise
