"""Which span evicted whom and for whom, so that the binding that follows can point there.

A link, and no child: room may come much later than the eviction that makes it, and who was evicted may wait
for days. It is known for as long as one adapter leads: after a restart, links to what was before are missing.

What operators see of an adapter in numbers. Labels come from finite sets; nothing names a workload.

Without an OpenTelemetry SDK set up by the process nothing is recorded.

Spans of the adapter's work. Without an SDK set up they cost little and go nowhere.

A round is a trace: what is heard of the cluster is observed, told to the server, decided on there in spans of
the server's own, and done by calls to the API server. Its phases always have a span; of steps and calls the
first `MAX_SPANS` of a round have one, the rest is counted. Nothing that nobody waits for, as watching
and the lease, has spans.
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

_SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""From a call to an API server next door to a whole cluster that is listed, pushed and decided on."""
_METER: Final = metrics.get_meter("tenure.adapter")

IS_LEADER: Final = _METER.create_gauge(
    "tenure_adapter_is_leader",
    description="1 while this adapter may act, 0 while it waits for its lease.",
)
RECONCILES: Final = _METER.create_counter(
    "tenure_adapter_reconciles_total",
    description="Rounds, by what came of them.",
)
LAG: Final = _METER.create_histogram(
    "tenure_adapter_lag_seconds",
    description="From when a change is heard of to when what is decided on it is done.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
APPLY_ATTEMPTS: Final = _METER.create_counter(
    "tenure_adapter_apply_attempts_total",
    description="Evictions and bindings, by what came of each attempt.",
)
CALLS: Final = _METER.create_histogram(
    "tenure_adapter_api_call_duration_seconds",
    description="How long calls to the API server took, watches apart.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
IN_FLIGHT: Final = _METER.create_gauge(
    "tenure_adapter_groups_in_flight",
    description="Decision groups that are not seen done yet.",
)
RETRYING: Final = _METER.create_gauge(
    "tenure_adapter_groups_retrying",
    description="Of these, groups with a step that was refused for now and is tried again.",
)
ANNOTATIONS_PENDING: Final = _METER.create_gauge(
    "tenure_adapter_annotations_pending",
    description="Pod groups whose annotations are to be written, or not seen on the object yet.",
)
LISTS: Final = _METER.create_counter(
    "tenure_adapter_lists_total",
    description="Times a collection was listed as a whole.",
)
WATCHES: Final = _METER.create_counter(
    "tenure_adapter_watches_total",
    description="Times watching a collection began.",
)
OBJECT_CHANGES: Final = _METER.create_counter(
    "tenure_adapter_object_changes_total",
    description="Changes of objects that were heard of.",
)
LIST_WATCH_FAILURES: Final = _METER.create_counter(
    "tenure_adapter_list_watch_failures_total",
    description="Lists and watches that failed, by why.",
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
CALL: Final = "tenure.adapter.call"
"""Method and resource follow: `tenure.adapter.call POST pods/binding`."""

DECISION: Final = "tenure.decision.id"
RESULT: Final = "tenure.result"
RESOURCE: Final = "tenure.resource"
GROUPS: Final = "tenure.groups"
PODS: Final = "tenure.pods"
OMITTED_SPANS: Final = "tenure.omitted.spans"
LINK: Final = "tenure.link"

MAX_SPANS: Final = 256
_TRACER: Final = trace.get_tracer("tenure.adapter")


class _Sample:
    """Which spans of one round there are: the first. For many threads."""

    def __init__(self) -> None:
        self._requested = count()

    def takes_one_more(self) -> bool:
        """Whether there may be another."""
        return next(self._requested) < MAX_SPANS

    def omitted(self) -> int:
        """How many were asked for beyond those; to be asked once, in the end."""
        return max(0, next(self._requested) - MAX_SPANS)


_SAMPLE: Final[ContextVar[_Sample | None]] = ContextVar("tenure.adapter.sample", default=None)


@contextmanager
def reconcile_span() -> Iterator[Span]:
    """A trace over one round."""
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
    """A span over a phase of a round; attributes are called `tenure.NAME`. Calls to the server join it."""
    about = {f"tenure.{key}": value for key, value in attributes.items()}
    with _open(name, attributes=about) as current:
        yield current


@contextmanager
def apply_span(kind: str, decision: str, links: Sequence[Link] = ()) -> Iterator[Span]:
    """A span over one step of a decision group, as far as the round has room for it."""
    with _sampled(f"{APPLY} {kind}", SpanKind.INTERNAL, {DECISION: decision}, links) as current:
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
    with _open(name, kind, attributes, links) as current:
        yield current


@contextmanager
def _open(
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


MAX_LINKS: Final = 1_000
"""Pod groups of which it is remembered, those that came up last."""
_ROLES: Final = ("previous_eviction", "freed_by")
_Key = tuple[str, str]


class EvictionLinks:
    """The last eviction of each pod group, and the last one for it. For many threads."""

    def __init__(self) -> None:
        self._spans: OrderedDict[_Key, SpanContext] = OrderedDict()
        self._changing = threading.Lock()

    def add(self, evict: Evict) -> None:
        """The eviction is made in the span at hand, if that is kept."""
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
        """To what came before the binding of a pod group; the second time to nothing."""
        with self._changing:
            found = [(role, self._spans.pop((role, pod_group), None)) for role in _ROLES]
        return [Link(span, {LINK: role}) for role, span in found if span is not None]
