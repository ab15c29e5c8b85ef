"""A pod group's own minimum runtime protects it as far as its queue permits, on a real server."""

from collections.abc import Iterator
from typing import Final, NamedTuple
from uuid import uuid4

import pytest
from tenure.client import Client
from tenure.v1.decide_pb2 import WarningCode
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.checker import verify
from tests.codec.snapshots.contested_snapshot import evicted_pods
from tests.server.servers import run_server
from tests.server.telemetry.requeue_cases import HOUR, NOW, add_contender, one_job

KEY: Final = "kai.scheduler/min-runtime"
STARTED: Final = NOW - 2 * HOUR
OWN: Final = "its own minimum runtime"


class Case(NamedTuple):
    """Settings in seconds and texts; when the protection ends, and its source. 0: it does not protect."""

    annotation: str = ""
    field: int | None = None
    most: int | None = None
    of_queue: int | None = None
    until: int = 0
    source: str = ""


CASES: Final = {
    "nothing is permitted by default": Case(annotation="3h"),
    "as far as the queue permits": Case(
        annotation="3h", most=9_000, until=STARTED + 9_000, source=f"{OWN}, limited to 2h30m by queue left"
    ),
    "all of it if the queue permits more": Case(
        annotation="3h", most=5 * HOUR, until=STARTED + 3 * HOUR, source=OWN
    ),
    "the field overrides the annotation": Case(
        annotation="1m", field=4 * HOUR, most=5 * HOUR, until=STARTED + 4 * HOUR, source=OWN
    ),
    "it never shortens that of the queue": Case(
        annotation="3h", most=5 * HOUR, of_queue=4 * HOUR, until=STARTED + 4 * HOUR, source="queue left"
    ),
    "an explicit zero permits none": Case(annotation="3h", most=0),
    "it has passed": Case(annotation="2h", most=5 * HOUR),
    "an invalid one is the longest permitted": Case(
        annotation="soon",
        most=3 * HOUR,
        until=STARTED + 3 * HOUR,
        source=f"{OWN}, limited to 3h by queue left",
    ),
    "a negative one as well": Case(
        field=-1, most=3 * HOUR, until=STARTED + 3 * HOUR, source=f"{OWN}, limited to 3h by queue left"
    ),
}


def snapshot_of(case: Case) -> ClusterSnapshot:
    """A job that started two hours ago on the only GPU, and a contender in its queue or in another one."""
    snapshot = one_job("")
    job, queue = snapshot.pod_groups[0], snapshot.queues[0]
    if case.annotation:
        job.annotations[KEY] = case.annotation
    for message, field, value in (
        (job, "min_runtime", case.field),
        (queue, "max_min_runtime", case.most),
        (queue, "preempt_min_runtime", case.of_queue),
        (queue, "reclaim_min_runtime", case.of_queue),
    ):
        if value is not None:
            getattr(message, field).FromSeconds(value)
    return snapshot


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with run_server() as (_, address), Client(address) as opened:
        yield opened


@pytest.mark.parametrize("action", ["preempt", "reclaim", "requeue"])
@pytest.mark.parametrize("case", CASES)
def test_own_minimum_runtime_protects_as_far_as_the_queue_permits(
    client: Client, case: str, action: str
) -> None:
    expected = CASES[case]
    snapshot = snapshot_of(expected)
    contender = add_contender(snapshot)
    if action == "reclaim":
        snapshot.queues[0].gpu_milli.quota = 0
        snapshot.queues.add(name="right").gpu_milli.quota = 1000
        contender.queue = "right"
    if action == "requeue":
        snapshot.pod_groups[0].expected_runtime.FromSeconds(HOUR)
    answer = client.decide(snapshot, [action])
    assert evicted_pods(answer) == (set() if expected.until else {"job-0"})
    assert verify(snapshot, answer) == []
    if expected.until:
        protections = [one for one in answer.protections if one.pod_group == "job"]
        assert {one.until.seconds for one in protections} == {expected.until}
        assert {one.source for one in protections} == {expected.source}
        assert answer.next_wake_time.seconds == expected.until


@pytest.mark.parametrize("case", ["an invalid one is the longest permitted", "a negative one as well"])
def test_invalid_minimum_runtime_is_a_warning(client: Client, case: str) -> None:
    answer = client.decide(snapshot_of(CASES[case]))
    (warning,) = answer.warnings
    assert WarningCode.Name(warning.code) == "WARNING_CODE_INVALID_MIN_RUNTIME"
    assert warning.message.endswith("treated as the longest one permitted")


@pytest.mark.parametrize("case", ["nothing is permitted by default", "an explicit zero permits none"])
def test_victim_is_told_that_its_own_minimum_runtime_is_not_permitted(client: Client, case: str) -> None:
    snapshot = snapshot_of(CASES[case])
    add_contender(snapshot)
    found = client.explain(ExplainRequest(snapshot=snapshot, why_victim={"pod_group": "job"}))
    for text in (found.explanation.public, found.explanation.tenant, found.explanation.operator):
        assert f"minruntime (no protection, {OWN}, which is not permitted)" in text


@pytest.mark.parametrize(
    ("case", "is_ignored"),
    [
        ("nothing is permitted by default", True),
        ("an explicit zero permits none", True),
        ("as far as the queue permits", False),
        ("it never shortens that of the queue", False),
    ],
)
def test_own_minimum_runtime_that_nobody_permits_is_a_warning(
    client: Client, case: str, is_ignored: bool
) -> None:
    snapshot = snapshot_of(CASES[case])
    pushed = client.decide_state(client.put_snapshot(uuid4().hex, snapshot))
    for answer in (client.decide(snapshot), pushed):
        found = {WarningCode.Name(each.code): each for each in answer.warnings}
        assert ("WARNING_CODE_MIN_RUNTIME_NOT_PERMITTED" in found) == is_ignored
        if is_ignored:
            warning = found["WARNING_CODE_MIN_RUNTIME_NOT_PERMITTED"]
            assert list(warning.pod_groups) == ["job"]
            assert warning.message.startswith("its own minimum runtime is ignored: neither its queue nor")


def test_own_minimum_runtime_that_the_queue_grants_anyway_is_no_warning(client: Client) -> None:
    answer = client.decide(snapshot_of(Case(annotation="1h", of_queue=2 * HOUR)))
    assert not answer.warnings


def test_pending_pod_group_is_told_until_when_it_waits(client: Client) -> None:
    snapshot = snapshot_of(CASES["as far as the queue permits"])
    add_contender(snapshot)
    answer = client.decide(snapshot, ["preempt"])
    (outcome,) = [one for one in answer.outcomes if one.pod_group == "urgent"]
    assert outcome.reason.until.seconds == STARTED + 9_000


def test_surplus_of_a_protected_elastic_pod_group_can_be_evicted(client: Client) -> None:
    snapshot = snapshot_of(CASES["as far as the queue permits"])
    add_contender(snapshot)
    snapshot.pod_groups[0].min_member = 1
    snapshot.nodes[0].allocatable.gpu_milli = 2000
    snapshot.pods.add().CopyFrom(snapshot.pods[0])
    snapshot.pods[-1].uid = "job-1"
    assert len(evicted_pods(client.decide(snapshot, ["preempt"]))) == 1
