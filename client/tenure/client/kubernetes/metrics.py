"""What operators see of an adapter in numbers. Labels come from finite sets; nothing names a workload.

Without an OpenTelemetry SDK set up by the process nothing is recorded.
"""

from typing import Final

from opentelemetry import metrics

_SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""From a call to an API server next door to a whole cluster that is listed, pushed and decided on."""
_METER: Final = metrics.get_meter("tenure.adapter")

LEADS: Final = _METER.create_gauge(
    "tenure_adapter_leads",
    description="1 while this adapter may act, 0 while it waits for its lease.",
)
ROUNDS: Final = _METER.create_counter(
    "tenure_adapter_rounds_total",
    description="Rounds, by what came of them.",
)
LAG: Final = _METER.create_histogram(
    "tenure_adapter_lag_seconds",
    description="From when a change is heard of to when what is decided on it is done.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
STEPS: Final = _METER.create_counter(
    "tenure_adapter_steps_total",
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
RETRIES: Final = _METER.create_gauge(
    "tenure_adapter_groups_to_retry",
    description="Of these, groups with a step that was refused for now and is tried again.",
)
NOTES: Final = _METER.create_gauge(
    "tenure_adapter_annotations_unseen",
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
CHANGES: Final = _METER.create_counter(
    "tenure_adapter_changes_total",
    description="Changes of objects that were heard of.",
)
OBSERVING_FAILURES: Final = _METER.create_counter(
    "tenure_adapter_observing_failures_total",
    description="Lists and watches that failed, by why.",
)
