"""Metrics and spans of calls to the API server. Those of reconciles are in the integration kit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import metrics
from opentelemetry.trace import Span, SpanKind
from tenure.integration.telemetry import SECONDS, sampled_span

_METER: Final = metrics.get_meter("tenure.adapter")

CALLS: Final = _METER.create_histogram(
    "tenure_adapter_api_call_duration_seconds",
    description="Duration of calls to the API server, without watches.",
    explicit_bucket_boundaries_advisory=SECONDS,
)
LISTS: Final = _METER.create_counter(
    "tenure_adapter_lists_total",
    description="Complete lists of a collection.",
)
WATCHES: Final = _METER.create_counter(
    "tenure_adapter_watches_total",
    description="Started watches of a collection.",
)
OBJECT_CHANGES: Final = _METER.create_counter(
    "tenure_adapter_object_changes_total",
    description="Observed changes of objects.",
)
LIST_WATCH_FAILURES: Final = _METER.create_counter(
    "tenure_adapter_list_watch_failures_total",
    description="Failed lists and watches, by cause.",
)
SET_ASIDE: Final = _METER.create_gauge(
    "tenure_adapter_set_aside_objects",
    description="Objects that are set aside: they are not scheduled, by kind and reason.",
)

CALL: Final = "tenure.adapter.call"
"""Method and resource follow: `tenure.adapter.call POST pods/binding`."""
RESOURCE: Final = "tenure.resource"


@contextmanager
def call_span(method: str, resource: str) -> Iterator[Span]:
    """Open a sampled span over one call to the API server."""
    about = {"http.request.method": method, RESOURCE: resource}
    with sampled_span(f"{CALL} {method} {resource}", SpanKind.CLIENT, about) as current:
        yield current
