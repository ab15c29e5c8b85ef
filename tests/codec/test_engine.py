"""The engine returns identical bytes for identical requests and runs the requested actions."""

import subprocess
import sys

import pytest
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.wire.violations import SnapshotValidationError

from tests.small_snapshot import child_environment, small_snapshot

ENGINE = Engine(default_profile())


def violations(request: DecideRequest) -> list[str]:
    with pytest.raises(SnapshotValidationError) as caught:
        ENGINE.decide(request)
    return [str(violation) for violation in caught.value.violations]


def test_response_header_names_its_state() -> None:
    snapshot = small_snapshot()
    snapshot.node_pool = "pool"
    based_on = ENGINE.decide(DecideRequest(snapshot=snapshot)).parse().header
    assert (based_on.cluster_id, based_on.node_pool, based_on.version) == ("test", "pool", 7)
    assert based_on.now == snapshot.now
    assert len(based_on.profile_digest) == 16


def test_gang_that_fits_is_bound() -> None:
    snapshot = small_snapshot()
    snapshot.pods[0].status = 9
    answer = ENGINE.decide(DecideRequest(snapshot=snapshot)).parse()
    bound = {step.bind.pod for group in answer.groups for step in group.decisions if step.HasField("bind")}
    assert bound == {"waits-0", "waits-1"}


def test_actions_of_the_request_replace_those_of_the_profile() -> None:
    asked = ENGINE.decide(DecideRequest(snapshot=small_snapshot(), actions=["allocate"])).parse()
    usual = ENGINE.decide(DecideRequest(snapshot=small_snapshot())).parse()
    assert {group.action for group in asked.groups} <= {"allocate"}
    assert asked.header.profile_digest != usual.header.profile_digest


def test_unknown_actions_are_named_after_the_fields_of_the_snapshot() -> None:
    snapshot = small_snapshot()
    snapshot.cluster_id = ""
    first, second = violations(DecideRequest(snapshot=snapshot, actions=["allocate", "no"]))
    assert first == "cluster_id: is required"
    assert second.startswith("actions[1]: unknown action 'no'; known: timelimit, allocate, ")


def test_snapshot_is_required() -> None:
    assert violations(DecideRequest()) == ["snapshot: is required"]


SCRIPT = """
import sys
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
request = DecideRequest.FromString(sys.stdin.buffer.read())
sys.stdout.buffer.write(Engine(default_profile()).decide(request).content)
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_bytes_are_the_same_in_every_process(hash_seed: str) -> None:
    request = DecideRequest(snapshot=small_snapshot())
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=request.SerializeToString(),
        env=child_environment(PYTHONHASHSEED=hash_seed),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    assert answer == ENGINE.decide(request).content
