"""Telemetry: spans, metrics and logs. It has no effect on responses.

| module | contents |
|---|---|
| `timeline` | phases of a cycle as tuples: the solver's observer, with a clock |
| `cycle_spans` | spans from a timeline, within the span of the call |
| `call_metrics` | a span and metrics for each call; links to the spans that pushed a state |
| `cycle_metrics`, `requeue_metrics`, `cycle_log` | results of cycles as metrics and log messages |
| `gauges` | shares of queues, pushed states, calls in flight |
"""
