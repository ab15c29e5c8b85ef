"""Metrics and spans of adapters. Without an OpenTelemetry SDK nothing is recorded.

Metric labels come from finite sets; nothing names a workload. A reconcile is a trace: its phases, the calls
to the server, and the first MAX_SPANS decisions and cluster calls. The others are counted. Work outside of a
reconcile, such as watches and lease renewals, has no spans.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue
from tenure.v1.decision_pb2 import Evict

SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Buckets from a call to a nearby API server to listing, pushing and deciding a whole cluster."""
_METER: Final = metrics.get_meter("tenure.adapter")

IS_LEADER: Final = _METER.create_gauge(
    "tenure_adapter_is_leader",
    description="1 while this adapter leads, 0 while it stands by.",
)
RECONCILES: Final = _METER.create_counter(
    "tenure_adapter_reconciles_total",
    description="Reconciles, by result.",
)
LAG: Final = _METER.create_histogram(
    "tenure_adapter_lag_seconds",
    description="Time from the observation of a change until the decisions based on it are applied.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
APPLY_ATTEMPTS: Final = _METER.create_counter(
    "tenure_adapter_apply_attempts_total",
    description="Attempts to apply evictions and bindings, by result.",
)
IN_FLIGHT: Final = _METER.create_gauge(
    "tenure_adapter_groups_in_flight",
    description="Decision groups that are not complete in the observed cluster.",
)
RETRYING: Final = _METER.create_gauge(
    "tenure_adapter_groups_retrying",
    description="In-flight decision groups with a decision that is retried later.",
)
ANNOTATIONS_PENDING: Final = _METER.create_gauge(
    "tenure_adapter_annotations_pending",
    description="Pod groups whose objects do not show all of their annotations yet.",
)
REFUSED: Final = _METER.create_counter(
    "tenure_adapter_refused_decisions_total",
    description="Decisions and patches of objects that this adapter does not schedule.",
)

RECONCILE: Final = "tenure.adapter.reconcile"
OBSERVE: Final = "tenure.adapter.observe"
DECIDE: Final = "tenure.adapter.decide"
JOURNAL: Final = "tenure.adapter.journal"
EVICT: Final = "tenure.adapter.evict"
BIND: Final = "tenure.adapter.bind"
REPORT: Final = "tenure.adapter.report"
APPLY: Final = "tenure.adapter.apply"
"""`evict` or `bind` follows after a space."""

DECISION: Final = "tenure.decision.id"
RESULT: Final = "tenure.result"
GROUPS: Final = "tenure.groups"
PODS: Final = "tenure.pods"
OMITTED_SPANS: Final = "tenure.omitted.spans"
LINK: Final = "tenure.link"

MAX_SPANS: Final = 256
"""Maximum number of spans for decisions and calls per reconcile."""
MAX_LINKS: Final = 1_000
"""Maximum number of pod groups with a stored eviction span; the oldest are dropped."""
_TRACER: Final = trace.get_tracer("tenure.adapter")
_ROLES: Final = ("previous_eviction", "freed_by")
_Key = tuple[str, str]


class _Sample:
    """Counts the sampled spans of one reconcile. For several threads."""

    def __init__(self) -> None:
        self._requested = count()

    def takes_one_more(self) -> bool:
        """Whether another span may be opened."""
        return next(self._requested) < MAX_SPANS

    def omitted(self) -> int:
        """Number of omitted spans. Called once, at the end."""
        return max(0, next(self._requested) - MAX_SPANS)


_SAMPLE: Final[ContextVar[_Sample | None]] = ContextVar("tenure.adapter.sample", default=None)


@contextmanager
def reconcile_span() -> Iterator[Span]:
    """Open the trace of one reconcile."""
    sample = _Sample()
    before = _SAMPLE.set(sample)
    try:
        with _open(RECONCILE) as current:
            yield current
            if more := sample.omitted():
                current.set_attribute(OMITTED_SPANS, more)
    finally:
        _SAMPLE.reset(before)


@contextmanager
def span(name: str, **attributes: int) -> Iterator[Span]:
    """Open a span over a phase of a reconcile. Attributes are named `tenure.NAME`."""
    about = {f"tenure.{key}": value for key, value in attributes.items()}
    with _open(name, attributes=about) as current:
        yield current


@contextmanager
def apply_span(kind: str, decision: str, links: Sequence[Link] = ()) -> Iterator[Span]:
    """Open a sampled span over one decision."""
    with sampled_span(f"{APPLY} {kind}", SpanKind.INTERNAL, {DECISION: decision}, links) as current:
        yield current


@contextmanager
def sampled_span(
    name: str, kind: SpanKind, attributes: Mapping[str, AttributeValue], links: Sequence[Link] = ()
) -> Iterator[Span]:
    """Open a span if the reconcile has fewer than MAX_SPANS; otherwise an invalid one."""
    sample = _SAMPLE.get()
    if sample is None or not trace.get_current_span().is_recording() or not sample.takes_one_more():
        yield trace.INVALID_SPAN
        return
    with _open(name, kind, attributes, links) as current:
        yield current


@contextmanager
def _open(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, AttributeValue] | None = None,
    links: Sequence[Link] = (),
) -> Iterator[Span]:
    """Open a span with an error status but no error message, which may name workloads."""
    with _TRACER.start_as_current_span(
        name, None, kind, attributes, links, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception:
            current.set_status(StatusCode.ERROR)
            raise


class EvictionLinks:
    """Spans of the last eviction of each pod group and of the last eviction for it. For several threads.

    The span of a binding links to them. It is no child of theirs, because the capacity may be released much
    later. Links last for one leadership term.
    """

    def __init__(self) -> None:
        self._spans: OrderedDict[_Key, SpanContext] = OrderedDict()
        self._changing = threading.Lock()

    def add(self, evict: Evict) -> None:
        """Store the current span, if it is recorded, as the span of this eviction."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        with self._changing:
            for key in zip(_ROLES, (evict.pod_group, evict.preemptor), strict=True):
                self._spans[key] = span.get_span_context()
                self._spans.move_to_end(key)
            while len(self._spans) > MAX_LINKS:
                self._spans.popitem(last=False)

    def take_links(self, pod_group: str) -> list[Link]:
        """Remove and return the links of a pod group."""
        with self._changing:
            found = [(role, self._spans.pop((role, pod_group), None)) for role in _ROLES]
        return [Link(span, {LINK: role}) for role, span in found if span is not None]
