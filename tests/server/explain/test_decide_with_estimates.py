"""R17.24: Decide and Simulate tell when pod groups start if they are asked, and else do nothing for it."""

from collections.abc import Iterator

import pytest
from tenure.client import Client
from tenure.codec.decode import decode_snapshot
from tenure.server.explain.when_starts import encode_start_estimates
from tenure.server.service import queries
from tenure.server.service.admission import TooManyCalls
from tenure.server.service.cycle_queue import CycleQueueTimeout
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.terms.cancellation import never
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta, StateKeys
from tenure.wire.deltas import overlay

from tests.server.servers import run_server
from tests.server.service.test_queries_explain import explain, sample


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address, timeout=20) as client:
        yield client


def whole(client: Client, asks: bool) -> DecideRequest:
    return DecideRequest(snapshot=sample(), estimate_starts=asks)


def pushed(client: Client, asks: bool) -> DecideRequest:
    return DecideRequest(state=client.put_snapshot(f"state {asks}", sample()), estimate_starts=asks)


def changed(client: Client, asks: bool) -> DecideRequest:
    base = client.put_snapshot(f"delta {asks}", sample())
    delta = StateDelta(base=base, version=base.version + 1, upserts=ClusterSnapshot(), now=sample().now)
    return DecideRequest(delta=delta, estimate_starts=asks)


def decide(client: Client, request: DecideRequest) -> DecideResponse:
    return client._service.Decide(request)


@pytest.mark.parametrize("request_of", [whole, pushed, changed])
def test_estimates_are_those_of_explain_and_the_decision_stays_r17_24(client: Client, request_of) -> None:
    with_estimates = decide(client, request_of(client, True))
    assert list(with_estimates.start_estimates) == list(explain(when_starts={}).start_estimates) != []
    with_estimates.ClearField("start_estimates")
    plain = decide(client, request_of(client, False))
    assert plain.groups == with_estimates.groups
    assert plain.outcomes == with_estimates.outcomes
    assert not plain.start_estimates


@pytest.mark.parametrize("reason", [CycleQueueTimeout, TooManyCalls])
def test_decision_stands_without_time_for_estimates_r17_24(
    client: Client, monkeypatch: pytest.MonkeyPatch, reason: type[Exception]
) -> None:
    def refuse(*_: object) -> None:
        raise reason

    monkeypatch.setattr(queries, "acquire_query_slot", refuse)
    response = decide(client, whole(client, True))
    assert response.groups
    assert not response.start_estimates


def test_estimates_use_the_actions_of_the_request_r17_24(client: Client) -> None:
    request = whole(client, True)
    request.actions.append("stalegangeviction")
    assert not any(each.HasField("likely_start") for each in decide(client, request).start_estimates)
    assert isinstance(decide(client, request).start_estimates[0], pb.StartEstimate)


@pytest.mark.parametrize("removed", [(), ("nightly-eval",)], ids=["as it is", "one fewer waits"])
@pytest.mark.parametrize("is_pushed", [False, True])
def test_simulation_tells_starts_of_its_first_cycle_r17_24(
    client: Client, removed: tuple[str, ...], is_pushed: bool
) -> None:
    gone = StateKeys(pod_groups=removed, pods=[p.uid for p in sample().pods if p.pod_group in removed])
    request = SimulateRequest(removals=gone, cycles=2)
    if is_pushed:
        request.state.CopyFrom(client.put_snapshot(f"simulated {removed}", sample()))
    else:
        request.snapshot.CopyFrom(sample())
    plain = client.simulate(request)
    request.estimate_starts = True
    answer = client.simulate(request)
    changed = overlay(sample(), ClusterSnapshot(), gone).snapshot
    question = pb.ExplainRequest(snapshot=changed, when_starts={})
    assert answer.cycles[0].start_estimates == client.explain(question).start_estimates
    assert len(answer.cycles[0].start_estimates) == 5 - len(removed)
    answer.cycles[0].ClearField("start_estimates")
    assert answer == plain


def test_simulation_stands_without_time_for_estimates_r17_24() -> None:
    cluster = decode_snapshot(sample())
    assert encode_start_estimates(BUILT_IN, cluster, default_profile(), never, None)
    assert encode_start_estimates(BUILT_IN, cluster, default_profile(), lambda: True, None) == b""
