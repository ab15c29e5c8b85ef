"""What operators see: spans, metrics and logs. Nothing of it changes an answer.

| file | what it is |
|---|---|
| `timeline` | a cycle as plain tuples: the solver's observer, with a clock |
| `cycle_spans` | from a timeline to spans, within the span of the call |
| `calls` | a span and metrics for every call |
| `cycle_metrics`, `requeue_metrics`, `cycle_log` | what cycles decide, counted and written |
| `gauges`, `load` | what is as it is now: shares of queues; states and who is inside |
| `pushes` | which span pushed a state, for those that decide on it |
| `log_lines`, `log_export` | lines as text or JSON, from which level on, and sent away |
| `providers` | the SDK: exporters, the page for Prometheus, and their end |
"""
