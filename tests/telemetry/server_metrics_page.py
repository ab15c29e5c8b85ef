"""The metrics of a server after calls of every kind that metrics count."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tenure.client import Client, StateSession
from tenure.client.errors import InvalidSnapshot
from tenure.client.in_flight import track_group
from tenure.solver.registry import BUILT_IN
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, ReportResultsRequest
from tenure.v1.snapshot_pb2 import (
    HOLD_REASON_USER,
    POD_STATUS_PENDING,
    POD_STATUS_SUCCEEDED,
    ClusterSnapshot,
)

from tests.examples.installation import install
from tests.requirements.cluster import ClusterText
from tests.requirements.cluster_life import go_on
from tests.requirements.victims.notice_story import notice
from tests.telemetry.external_programs import free_port
from tests.telemetry.otlp_receiver import ReceivedTelemetry, run_receiver
from tests.telemetry.telemetry_server import (
    AMPLE_RATE,
    METRICS_INTERVAL,
    contested_snapshot,
    fetch_metrics,
    run_telemetry_server,
)

CYCLES = 3
NOTICES = "notices"
"""ID of another cluster, on which pods are given notice."""
NOTICE_CYCLES = 3
RESERVATIONS = "reservations"
"""ID of another cluster, on which capacity is reserved for a large pod group."""
RESERVATION_CYCLES = 5
CHECKPOINTS = "checkpoints"
"""ID of another cluster, and its queue, which a guard of another package protects."""
CHECKPOINT = Path(__file__).parents[1] / "examples/checkpoint"
CHECKPOINT_CYCLES = 1
MEASURED = "tenure_call_duration_seconds"
"""A histogram whose exemplars refer to traces."""


class ServerMetrics(NamedTuple):
    """The Prometheus page as text and parsed, and the telemetry received over OTLP."""

    page: str
    families: dict[str, Metric]
    received: ReceivedTelemetry

    def value(self, sample: str, **labels: str) -> float:
        """Return the value of the only series with this name and these labels."""
        (found,) = [
            each.value
            for family in self.families.values()
            for each in family.samples
            if each.name == sample and labels.items() <= each.labels.items()
        ]
        return found


def collect_server_metrics(folder: Path) -> ServerMetrics:
    port, site = free_port(), folder / "site"
    install(CHECKPOINT, site)
    with (
        _import_path(site),
        run_receiver() as (received, address),
        run_telemetry_server(
            folder,
            options={**AMPLE_RATE, "maxNotice": "1h"},
            plugins={
                "checkpoint": {"queue": CHECKPOINTS},
                "evictioncost": {},
                "reservation": {"minWait": "200d"},
            },
            actions=", ".join(sorted(BUILT_IN.actions, key="timelimit".__eq__)),
            otlpEndpoint=f"http://{address}",
            metricsInterval=METRICS_INTERVAL,
            metricsListen=f"127.0.0.1:{port}",
        ) as (_, server),
        Client(server) as client,
    ):
        _call(client)
        text = fetch_metrics(port)
        received.wait_until(lambda got: got.metrics.get("tenure_call_failures_total"))
        received.wait_until(_has_the_traces)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return ServerMetrics(text, families, received)


@contextmanager
def _import_path(site: Path) -> Iterator[None]:
    """Processes that start in the context find the packages of a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        yield


def _has_the_traces(received: ReceivedTelemetry) -> bool:
    """Whether all traces of exemplars have arrived. Spans and metrics are exported separately."""
    leads = received.exemplars.get(MEASURED, set())
    return bool(leads) and leads <= {span.trace_id for span in received.spans}


def _call(client: Client) -> None:
    session, snapshot = StateSession(client), protected_snapshot()
    session.push(snapshot)
    for later in range(CYCLES):
        now = Timestamp(seconds=snapshot.now.seconds + later)
        answer = session.decide(now=now)
    assert session.decide(now=now) == answer
    _give_notices(client)
    _reserve(client)
    cluster = ClusterText().node().queue(CHECKPOINTS).runs("v", CHECKPOINTS)
    cluster.waits("p", CHECKPOINTS, priority=75).snapshot.cluster_id = CHECKPOINTS
    client.decide(cluster.snapshot)
    client.report_results(_report_first_applied(answer))
    with pytest.raises(InvalidSnapshot):
        client.decide(ClusterSnapshot())


def _give_notices(client: Client) -> None:
    """A notice is given, then carried out; or withdrawn, since the victim opts out."""
    cluster = notice(ClusterText().node().queue("q").runs("v", "q").waits("p", "q", priority=75), "v", "2m")
    snapshot = cluster.snapshot
    snapshot.cluster_id = NOTICES
    snapshot.in_flight_groups.extend([track_group(group) for group in client.decide(snapshot).groups])
    cluster.group("v").opt_out_actions.append("preempt")
    client.decide(snapshot)
    del cluster.group("v").opt_out_actions[:]
    snapshot.now.seconds += 120
    client.decide(snapshot)


def _reserve(client: Client) -> None:
    """A start is planned, and moves because of an overrun; a pod group starts before it, and yields."""
    cluster = ClusterText().node(gpus=4).queue("q")
    cluster.runs("old", "q", gpus=2).waits("big", "q", gpus=4).waits("next", "q", gpus=4)
    cluster.snapshot.cluster_id = RESERVATIONS
    cluster.group("old").time_limit.seconds = cluster.group("big").time_limit.seconds = 7_200
    go_on(cluster, client.decide(cluster.snapshot), 60)
    cluster.waits("soft", "q")
    go_on(cluster, client.decide(cluster.snapshot), 3_600)
    go_on(cluster, client.decide(cluster.snapshot), 60)
    cluster.snapshot.pods[0].status = POD_STATUS_SUCCEEDED
    go_on(cluster, client.decide(cluster.snapshot), 60)
    client.decide(cluster.snapshot)


def protected_snapshot() -> ClusterSnapshot:
    """The contested cluster, with a guard that protects one of the candidates."""
    snapshot = contested_snapshot()
    group = next(group for group in snapshot.pod_groups if group.uid == "runs")
    group.last_start_time.CopyFrom(snapshot.now)
    next(queue for queue in snapshot.queues if queue.name == "left").reclaim_min_runtime.FromSeconds(60)
    next(queue for queue in snapshot.queues if queue.name == "left").gpu_milli.lending_limit = 0
    next(queue for queue in snapshot.queues if queue.name == "left").class_limits.add(node_class="h100")
    snapshot.nodes[0].node_class = "h100"
    snapshot.queue_usage.add(queue="left").normalized.gpu = 250_000
    snapshot.pod_groups.add(uid="held", queue="left", held_by=HOLD_REASON_USER).creation_time.CopyFrom(
        snapshot.now
    )
    snapshot.pods.add(
        uid="held-0", pod_group="held", shape=snapshot.shapes[0].id, status=POD_STATUS_PENDING
    ).creation_time.CopyFrom(snapshot.now)
    return snapshot


def _report_first_applied(answer: DecideResponse) -> ReportResultsRequest:
    (group,) = answer.groups
    request = ReportResultsRequest(cluster_id=answer.header.cluster_id, now=answer.header.now)
    report = request.groups.add(group=group)
    report.results.add(decision_id=group.decisions[0].id, status=APPLY_STATUS_APPLIED)
    return request
