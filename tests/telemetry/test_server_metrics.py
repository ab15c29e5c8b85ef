"""Metrics of a real server, for Prometheus and over OTLP: names, labels, values, and the maximum number of
series.
"""

import subprocess
from operator import attrgetter

import pytest
from tenure.codec.decisions.planned_starts import NO_PLANNED_STARTS
from tenure.codec.encoded_response import CycleSummary, QueueSummary
from tenure.server.telemetry.gauges import MAX_QUEUES, MAX_SHARDS, OTHER, LastCycles
from tenure.terms.durations import SECOND
from tenure.v1 import decision_pb2 as pb
from tenure.wire.enum_labels import enum_label

from tests.server.telemetry.cycle_summaries import summary_with
from tests.telemetry.external_programs import find_program
from tests.telemetry.server_metrics_page import (
    CHECKPOINT_CYCLES,
    CYCLES,
    MEASURED,
    NOTICE_CYCLES,
    NOTICES,
    RESERVATION_CYCLES,
    RESERVATIONS,
    ServerMetrics,
)


def test_metrics_page_passes_promtool(server_metrics: ServerMetrics) -> None:
    checked = subprocess.run(
        [find_program("promtool"), "check", "metrics"],
        input=server_metrics.page,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_every_family_has_help_and_a_type(server_metrics: ServerMetrics) -> None:
    for family in server_metrics.families.values():
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")


ALL_CYCLES = CYCLES + NOTICE_CYCLES + RESERVATION_CYCLES + CHECKPOINT_CYCLES


@pytest.mark.parametrize(
    ("sample", "labels", "value"),
    [
        ("tenure_cycle_duration_seconds_count", {}, ALL_CYCLES),
        (
            "tenure_action_duration_seconds_count",
            {"action": "reclaim"},
            ALL_CYCLES,
        ),
        (
            "tenure_cycle_phase_duration_seconds_count",
            {"phase": "encode"},
            ALL_CYCLES,
        ),
        (
            "tenure_call_duration_seconds_count",
            {"method": "Decide", "code": "OK"},
            ALL_CYCLES + 1,
        ),
        ("tenure_call_duration_seconds_count", {"method": "Decide", "code": "INVALID_ARGUMENT"}, 1),
        ("tenure_call_failures_total", {"cause": "snapshot_validation_error"}, 1),
        ("tenure_decisions_total", {"action": "reclaim", "kind": "evict"}, 2 * CYCLES),
        ("tenure_guard_allowed_evictions_total", {"guard": "minruntime", "action": "reclaim"}, 2 * CYCLES),
        ("tenure_victim_sets_total", {"action": "reclaim", "minimality": "least"}, CYCLES),
        ("tenure_victims_put_back_total", {"action": "reclaim"}, 0),
        ("tenure_eviction_rate_tokens", {"rate": "ample", "cluster": "test"}, 998),
        ("tenure_decisions_total", {"action": "preempt", "kind": "notify"}, 1),
        ("tenure_decisions_total", {"action": "preempt", "kind": "withdraw_notice"}, 1),
        ("tenure_decisions_total", {"action": "preempt", "kind": "evict"}, 1),
        ("tenure_notices_given_total", {"action": "preempt"}, 1),
        ("tenure_notices_carried_out_total", {"action": "preempt"}, 1),
        ("tenure_notices_withdrawn_total", {"action": "preempt", "reason": "not_needed"}, 1),
        ("tenure_notice_duration_seconds_sum", {"action": "preempt"}, 120),
        ("tenure_pods_with_notice", {"cluster": NOTICES, "queue": "q"}, 0),
        ("tenure_reservations", {"cluster": RESERVATIONS, "certainty": "bounded"}, 1),
        ("tenure_reservation_delays_total", {"cause": "overrun"}, 1),
        ("tenure_reservation_slip_seconds_count", {}, 1),
        ("tenure_backfills_total", {"event": "started"}, 1),
        ("tenure_backfills_total", {"event": "evicted"}, 1),
        ("tenure_reserved_idle_gpu_milli", {"cluster": RESERVATIONS}, 0),
        ("tenure_reserved_idle_gpu_seconds_total", {}, 2 * 60 + 1 * 900 + 1 * 60 + 3 * 60),
        ("tenure_eviction_rate_refusals_total", {"rate": "ample"}, 0),
        ("tenure_pod_group_outcomes_total", {"outcome": "waiting_for_victims"}, CYCLES + 3),
        ("tenure_cycles_stopped_early_total", {}, 0),
        ("tenure_cached_responses_total", {}, 1),
        ("tenure_states", {}, 1),
        ("tenure_guard_protected_pod_groups", {"guard": "minruntime"}, 1),
        ("tenure_decision_results_total", {"kind": "evict", "status": "applied"}, 1),
        ("tenure_records_dropped_total", {"reason": "disk"}, 0),
        ("tenure_calls_in_flight", {}, 0),
        ("tenure_cycles_queued", {}, 0),
        ("tenure_queue_fair_share", {"queue": "right", "resource": "gpu"}, 2),
        ("tenure_held_pod_groups", {"why": "user"}, 1),
        ("tenure_queue_class_allocated", {"queue": "left", "class": "h100"}, 1),
        ("tenure_queue_usage", {"queue": "left", "resource": "gpu"}, 0.25),
        ("tenure_queue_allocated", {"queue": "left", "resource": "gpu"}, 2),
        ("kai_scheduler_requeue_nominations_total", {"plugin": "expectedruntime"}, 0),
    ],
)
def test_events_are_counted(
    sample: str, labels: dict[str, str], value: float, server_metrics: ServerMetrics
) -> None:
    assert server_metrics.value(sample, **labels) == value


def test_every_skip_reason_is_exposed_before_it_occurs(server_metrics: ServerMetrics) -> None:
    family = server_metrics.families["kai_scheduler_requeue_nomination_skipped"]
    reasons = {
        enum_label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value
    }
    assert {sample.labels["reason"] for sample in family.samples} == reasons


def test_collector_receives_the_metrics_of_the_page(server_metrics: ServerMetrics) -> None:
    sent = {name.removesuffix("_total") for name in server_metrics.received.metrics}
    shown = {name for name in server_metrics.families if name.startswith(("tenure_", "kai_"))}
    assert sent == shown


def test_exemplars_refer_to_traces(server_metrics: ServerMetrics) -> None:
    leads = server_metrics.received.exemplars[MEASURED]
    assert leads
    assert leads <= {span.trace_id for span in server_metrics.received.spans}


def cycle_with_queues(cluster: str, queues: int) -> CycleSummary:
    fair = [QueueSummary(f"queue-{number:05}", (0, 0, 1_000), (0, 0, 0)) for number in range(queues)]
    return summary_with(cluster_id=cluster, queues=tuple(fair))


def test_pods_with_notice_are_counted_by_queue() -> None:
    cycles = LastCycles()
    queues = (QueueSummary("a", (0, 0, 0), (0, 0, 0), 2), QueueSummary("b", (0, 0, 0), (0, 0, 0)))
    cycles.update(summary_with(cluster_id="c", queues=queues))
    pods = {each.attributes["queue"]: each.value for each in cycles.pods_with_notice(None)}
    assert pods == {"a": 2, "b": 0}


@pytest.mark.parametrize(
    ("idle", "seconds", "gpu_seconds"),
    [(1_500, 60, 90), (1_500, 3_600, 1_350), (1_500, -60, 0), (None, 60, 0)],
)
def test_reserved_capacity_is_charged_until_the_next_cycle(
    idle: int | None, seconds: int, gpu_seconds: float
) -> None:
    """Of the same shard, and for at most 15 minutes: a caller may stay away."""
    cycles, counts = LastCycles(), NO_PLANNED_STARTS._replace(idle=idle)
    assert cycles.update(summary_with(cluster_id="c", planned_starts=counts, now=10**18)) == 0
    later = summary_with(cluster_id="other", now=10**18 + seconds * SECOND)
    assert cycles.update(later) == 0
    assert cycles.update(later._replace(cluster_id="c")) == gpu_seconds


def test_queues_beyond_the_cap_are_merged() -> None:
    cycles = LastCycles()
    cycles.update(cycle_with_queues("c", MAX_QUEUES + 50))
    gpus = {
        each.attributes["queue"]: each.value
        for each in cycles.shares(attrgetter("fair_share"))(None)
        if each.attributes["resource"] == "gpu"
    }
    assert len(gpus) == MAX_QUEUES + 1
    assert gpus[OTHER] == 50


def test_oldest_shards_beyond_the_cap_are_dropped() -> None:
    cycles = LastCycles()
    for number in range(MAX_SHARDS + 3):
        cycles.update(cycle_with_queues(f"c{number}", 1))
    clusters = [each.attributes["cluster"] for each in cycles.times(None)]
    assert clusters == [f"c{number}" for number in range(3, MAX_SHARDS + 3)]
