"""A response is encoded once, with the bytes of the protobuf serializer, and agrees with its summary."""

import pickle
from collections import Counter
from dataclasses import replace

import pytest
from tenure.codec.encoded_response import CycleSummary, EncodedResponse, summarize
from tenure.codec.engine import Engine
from tenure.solver.diagnosis.answer import answer
from tenure.solver.play.next_cluster import apply_decisions
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse, ResponseHeader

from tests.conformance.cases import Case, load_cases
from tests.conformance.command import CHECKOUT, DEFAULT_CASES
from tests.conformance.conversion.profile import to_profile
from tests.conformance.plain_cases import plain_cases
from tests.conformance.rounds import run_sessions
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.guard_profiles import random_profile
from tests.state.generated_snapshots import generate_snapshot

_FOLDER = CHECKOUT / DEFAULT_CASES
CASES = [
    case
    for case in [*plain_cases(), *(load_cases(_FOLDER) if _FOLDER.is_dir() else [])]
    if case.kind == "scheduling"
]
SEEDS = range(40)


def decide_random(seed: int) -> EncodedResponse:
    draw = SeededDraw(seed)
    engine = Engine(random_profile(draw))
    return engine.decide(DecideRequest(snapshot=generate_snapshot(draw, 12, 120)))


def check_canonical(response: EncodedResponse) -> DecideResponse:
    """Parse the bytes and check that serializing the message gives the same bytes."""
    message = response.parse()
    assert message.SerializeToString(deterministic=True) == response.content
    return message


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=() if part < 2 else pytest.mark.long) for part in range(8)]
)
def test_responses_to_conformance_cases_are_those_of_the_serializer(part: int) -> None:
    for case in CASES[part::8]:
        _check_case(case)


def _check_case(case: Case) -> None:
    engine = Engine(to_profile(case.data))
    assert list(run_sessions(case.data, lambda request: check_canonical(engine.decide(request))))


def test_responses_with_every_kind_of_decision_are_those_of_the_serializer() -> None:
    kinds, states = set(), set()
    for seed in SEEDS:
        message = check_canonical(decide_random(seed))
        kinds |= {step.WhichOneof("kind") for group in message.groups for step in group.decisions}
        states |= {status.state for status in message.in_flight_group_statuses}
    assert kinds == {"bind", "evict", "reserve", "requeue", "patch"}
    assert len(states) >= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_summary_agrees_with_the_message(seed: int) -> None:
    response = decide_random(seed)
    message, summary = response.parse(), response.summary
    header = message.header
    assert summary[:5] == (
        header.cluster_id,
        header.node_pool,
        header.version,
        header.now.ToNanoseconds(),
        header.profile_digest,
    )
    assert summary.stopped_early == message.stopped_early
    wake = message.next_wake_time.ToNanoseconds() if message.HasField("next_wake_time") else None
    assert summary.next_wake_time == wake
    assert summary.counters == {
        field.name: getattr(message.counters, field.name) for field in message.counters.DESCRIPTOR.fields
    }
    _check_decisions(message, summary)
    _check_pod_groups(message, summary)


def _check_decisions(message: DecideResponse, summary: CycleSummary) -> None:
    assert summary.groups == tuple((each.id, each.action, len(each.decisions)) for each in message.groups)
    steps = [(group.action, step) for group in message.groups for step in group.decisions]
    assert summary.decisions == Counter((action, step.WhichOneof("kind")) for action, step in steps)
    assert summary.allowed_evictions == Counter(
        (verdict.guard, action) for action, step in steps for verdict in step.evict.guards
    )
    sets = [(group.action, group.victim_set) for group in message.groups if group.HasField("victim_set")]
    assert summary.victim_sets == Counter((action, known.minimality) for action, known in sets)
    assert sum(summary.put_back.values()) == sum(known.put_back_pods for _, known in sets)
    for action, cost in summary.evicted_cost.items():
        assert cost == sum(known.cost for group, known in sets if group == action)


def _check_pod_groups(message: DecideResponse, summary: CycleSummary) -> None:
    pending = [each for each in message.outcomes if each.kind != pb.OUTCOME_KIND_BOUND]
    assert summary.outcomes == Counter(each.kind for each in message.outcomes)
    assert summary.pending_reasons == Counter(each.reason.code for each in pending)
    assert summary.has_outcome_until == any(each.reason.HasField("until") for each in message.outcomes)
    assert summary.protected == Counter(
        guard for _, guard in {(each.pod_group, each.guard) for each in message.protections}
    )
    assert summary.in_flight_states == {each.state for each in message.in_flight_group_statuses}
    assert [(*each[:2], each.skip_reason) for each in summary.nominations] == [
        (each.pod_group, each.result, each.skip_reason) for each in message.nominations
    ]
    for ours, theirs in zip(summary.nominations, message.nominations, strict=True):
        assert (ours.plugins if ours.is_candidate else ()) == tuple(theirs.nominated_by)
        assert (ours.overrun, ours.contender) == (theirs.overrun.ToNanoseconds(), theirs.contender)
        assert ours.detail == theirs.reason.detail
        assert (f": {ours.detail}." if ours.detail else ".") in theirs.reason.message
    for warning, each in zip(summary.warnings, message.warnings, strict=True):
        assert (warning.code, warning.pod_groups) == (each.code, tuple(each.pod_groups))
        assert (warning.detail, warning.total) == (each.detail, each.count)
        assert f"{warning.subject}{warning.detail}" == each.message
    for queue, status in zip(summary.queues, message.queues, strict=True):
        assert queue.name == status.name
        for share, amounts in (
            (queue.fair_share, status.fair_share),
            (queue.allocated, status.allocated_after),
        ):
            assert share == (amounts.cpu_milli, amounts.memory_bytes, amounts.gpu_milli)


def test_time_of_a_response_can_be_replaced() -> None:
    response = decide_random(0)
    later = response.summary.now + 10**12 + 1
    message = response.parse()
    message.header.now.FromNanoseconds(later)
    moved = response.at(later)
    assert check_canonical(moved) == message
    assert moved.at(response.summary.now) == response


def test_response_can_be_pickled() -> None:
    response = decide_random(1)
    assert pickle.loads(pickle.dumps(response)) == response


def test_announced_evictions_count_once_and_cost_when_they_are_carried_out() -> None:
    default = default_profile()
    plugins = (*default.plugins, PluginConfig("evictioncost"))
    profile = replace(default, plugins=plugins, options=replace(default.options, max_notice=3600 * SECOND))
    builder = ClusterBuilder().queue("q").node("n", gpus=1)
    builder.pod_group("v", queue="q", priority=50, notice="2m", restart_cost="1m")
    builder.running("v", node="n", gpus=1).pending("p", queue="q", priority=75, gpus=1)
    cluster, header, found = builder.build(), ResponseHeader(), []
    for _ in range(3):
        result = answer(cluster, profile)
        summary = summarize(cluster, result, header, [""] * len(result.groups))
        found.append((sum(summary.victim_sets.values()), sum(summary.evicted_cost.values())))
        cluster = apply_decisions(cluster, result, 60 * SECOND)
    assert [sets for sets, _ in found] == [1, 0, 0]
    assert [cost > 0 for _, cost in found] == [False, False, True]
