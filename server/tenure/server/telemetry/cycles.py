"""What operators see of cycles: spans, metrics and lines, written when a cycle is over."""

import threading

from opentelemetry.metrics import get_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from tenure.server.telemetry import cycle_metrics, cycle_spans, requeue_metrics
from tenure.server.telemetry.cycle_log import CycleLog
from tenure.server.telemetry.gauges import LAST_CYCLES
from tenure.server.telemetry.timeline import Timeline
from tenure.server.view import View


class Cycles:
    """Writes about one cycle after the other. Nothing of it changes an answer."""

    def __init__(self, *, names_workloads: bool = False) -> None:
        self._names_workloads = names_workloads
        self._log = CycleLog()
        self._one_writes = threading.Lock()

    def timeline(self) -> Timeline:
        """For the cycle that comes: with a close look at it when spans of the call are kept."""
        return Timeline(is_close=cycle_spans.is_watched())

    def write(self, view: View, timeline: Timeline) -> None:
        """Write about one cycle. Threads wait for each other.

        When nothing happened, the answer is that of an earlier cycle, which was written about.
        """
        answer = view.response
        if not timeline.entries:
            cycle_metrics.count_again()
            return
        if isinstance(get_meter_provider(), MeterProvider):
            cycle_metrics.count(answer)
            cycle_metrics.measure(timeline)
            requeue_metrics.count(answer)
            LAST_CYCLES.keep(answer)
        if timeline.is_close:
            uids = sorted(view.pod_groups) if self._names_workloads else ()
            cycle_spans.write(timeline, answer, uids)
        with self._one_writes:
            self._log.write(view)
