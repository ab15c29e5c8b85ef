"""What a real server exposes for Prometheus and sends over OTLP: names, labels, values, and no more series
than there may be.
"""

import subprocess

import pytest
from tenure.server.labels import label
from tenure.server.telemetry.gauges import MOST_QUEUES, MOST_SHARDS, OTHER, LastCycles
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import DecideResponse

from tests.telemetry.exposed import CYCLES, MEASURED, Exposed
from tests.telemetry.programs import found


def test_the_page_is_clean_for_promtool(exposed: Exposed) -> None:
    checked = subprocess.run(
        [found("promtool"), "check", "metrics"],
        input=exposed.page,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_every_family_has_help_and_a_type(exposed: Exposed) -> None:
    for family in exposed.families.values():
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")


@pytest.mark.parametrize(
    ("sample", "labels", "value"),
    [
        ("tenure_cycle_duration_seconds_count", {}, CYCLES),
        ("tenure_action_duration_seconds_count", {"action": "reclaim"}, CYCLES),
        ("tenure_cycle_phase_duration_seconds_count", {"phase": "encode"}, CYCLES),
        ("tenure_call_duration_seconds_count", {"method": "Decide", "code": "OK"}, CYCLES + 1),
        ("tenure_call_duration_seconds_count", {"method": "Decide", "code": "INVALID_ARGUMENT"}, 1),
        ("tenure_call_failures_total", {"cause": "invalid_snapshot"}, 1),
        ("tenure_decisions_total", {"action": "reclaim", "kind": "evict"}, 2 * CYCLES),
        ("tenure_guard_passed_total", {"guard": "minruntime", "action": "reclaim"}, 2 * CYCLES),
        ("tenure_outcomes_total", {"outcome": "waiting_for_victims"}, CYCLES),
        ("tenure_cycles_stopped_early_total", {}, 0),
        ("tenure_answers_given_again_total", {}, 1),
        ("tenure_states", {}, 1),
        ("tenure_guard_protected_pod_groups", {"guard": "minruntime"}, 1),
        ("tenure_decision_outcomes_total", {"step": "evict", "result": "applied"}, 1),
        ("tenure_records_dropped_total", {"reason": "disk"}, 0),
        ("tenure_calls_inside", {}, 0),
        ("tenure_turns_waiting", {}, 0),
        ("tenure_queue_fair_share", {"queue": "right", "resource": "gpu"}, 2),
        ("tenure_queue_allocated", {"queue": "left", "resource": "gpu"}, 2),
        ("kai_scheduler_requeue_nominations_total", {"plugin": "expectedruntime"}, 0),
    ],
)
def test_what_happened_is_counted(
    sample: str, labels: dict[str, str], value: float, exposed: Exposed
) -> None:
    assert exposed.value(sample, **labels) == value


def test_every_reason_of_a_skip_is_there_before_it_happens(exposed: Exposed) -> None:
    family = exposed.families["kai_scheduler_requeue_nomination_skipped"]
    reasons = {label(pb.NominationSkipReason, value) for value in pb.NominationSkipReason.values() if value}
    assert {sample.labels["reason"] for sample in family.samples} == reasons


def test_a_collector_gets_what_the_page_shows(exposed: Exposed) -> None:
    sent = {name.removesuffix("_total") for name in exposed.received.metrics}
    shown = {name for name in exposed.families if name.startswith(("tenure_", "kai_"))}
    assert sent == shown


def test_measurements_lead_to_traces(exposed: Exposed) -> None:
    leads = exposed.received.exemplars[MEASURED]
    assert leads
    assert leads <= {span.trace_id for span in exposed.received.spans}


def answer(cluster: str, queues: int) -> DecideResponse:
    response = DecideResponse()
    response.based_on.cluster_id = cluster
    for number in range(queues):
        response.queues.add(name=f"queue-{number:05}").fair_share.gpu_milli = 1_000
    return response


def test_queues_beyond_the_cap_are_one() -> None:
    cycles = LastCycles()
    cycles.keep(answer("c", MOST_QUEUES + 50))
    gpus = {
        each.attributes["queue"]: each.value
        for each in cycles.shares("fair_share")(None)
        if each.attributes["resource"] == "gpu"
    }
    assert len(gpus) == MOST_QUEUES + 1
    assert gpus[OTHER] == 50


def test_shards_beyond_the_cap_are_forgotten_the_oldest_first() -> None:
    cycles = LastCycles()
    for number in range(MOST_SHARDS + 3):
        cycles.keep(answer(f"c{number}", 1))
    clusters = [each.attributes["cluster"] for each in cycles.times(None)]
    assert clusters == [f"c{number}" for number in range(3, MOST_SHARDS + 3)]
