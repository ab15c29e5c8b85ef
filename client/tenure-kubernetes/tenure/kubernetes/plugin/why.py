"""`kubectl tenure why`: what Tenure wrote on a workload: conditions, annotations and events.

All of it is for the owner of the workload: it names nothing of other namespaces.
"""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.text import Text
from tenure.kubernetes.apply.events import CONTROLLER
from tenure.kubernetes.plugin.access import KubeApi
from tenure.kubernetes.plugin.workload_list import WorkloadObjects, workload_json

_MOST_EVENTS: Final = 10
_LABELS: Final = {
    "last_start": "last start",
    "last_eviction": "last eviction",
    "requeue_not_before": "not requeued before",
    "eviction_count": "evictions",
    "total_eviction_wait": "wait after evictions",
    "evictions_without_progress": "evictions without progress",
    "held_by": "held since it was",
    "on_evict": "when it is evicted",
    "evictions": "evictions by cause",
    "last_checkpoint": "last checkpoint",
    "eviction_cost": "declared cost of an eviction (GPU-seconds)",
    "expected_runtime": "expected runtime",
    "min_runtime": "minimum runtime",
}


def read_events(api: KubeApi, workload: WorkloadObjects) -> list[dict[str, Any]]:
    """The last events of Tenure about a workload and its pods, the newest last. Raises ApiError."""
    items = api.items("events.k8s.io/v1", "events", workload.namespace)
    ours = [
        one
        for one in items
        if one.get("reportingController") == CONTROLLER and _about(one).get("uid") in workload.uids
    ]
    ours.sort(key=_time)
    return [_event(one) for one in ours[-_MOST_EVENTS:]]


def _about(event: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = event.get("regarding") or {}
    return found


def _time(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("eventTime") or "")


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    about = _about(event)
    return {
        "time": _time(event),
        "count": (event.get("series") or {}).get("count", 1),
        "reason": event.get("reason", ""),
        "object": f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        "note": event.get("note", ""),
    }


def print_why(console: Console, workload: WorkloadObjects, events: list[dict[str, Any]]) -> None:
    """Print what is known about a workload."""
    one = workload
    kind = "Pod group" if one.kind == "PodGroup" else one.kind
    pods = f"{one.running} of {one.running + one.pending} pods on nodes"
    console.print(Text(f"{kind} {one.namespace}/{one.name}: {one.state.lower()}, {pods}.", style="bold"))
    if one.message:
        console.print(Text(f"{one.message} ({one.code})"))
    elif one.pending:
        console.print("Tenure has not written a reason yet.")
    if one.evict_time:
        of_all = f"{one.pods_with_notice} of its pods" if one.pods_with_notice < one.running else "it"
        sentence = f" {one.notice}" if one.notice else ""
        console.print(Text(f"Notice of eviction: {of_all}, at {one.evict_time}.{sentence}"))
    facts = [("queue", one.queue), ("preemptibility", one.preemptibility)]
    facts += [(_LABELS[key], text) for key, text in one.annotations.items()]
    for label, text in facts:
        if text:
            console.print(Text(f"  {label}: {text}"))
    for event in events:
        times = f" ({event['count']} times)" if event["count"] > 1 else ""
        head = f"{event['time'][:19]}Z {event['object']} {event['reason']}{times}"
        console.print(Text(f"{head}: {event['note']}"))


def why_json(workload: WorkloadObjects, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Workload and events for `--output json`."""
    return {**workload_json(workload), "events": events}
