"""Reasons for everybody name nobody, whatever the reason."""

import re

from tenure.client.public import public_sentence
from tenure.client.snapshot_file import read_snapshot
from tenure.server.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decision_pb2 import Reason, ReasonCode
from tenure.v1.decision_service_pb2 import DecideRequest

CODES = [value for value in ReasonCode.DESCRIPTOR.values if value.number]


def test_every_code_has_a_sentence_of_its_own() -> None:
    sentences = {public_sentence(Reason(code=code.number)) for code in CODES}
    assert len(sentences) == len(CODES)
    assert all(sentence.endswith(".") and sentence.isprintable() for sentence in sentences)


def test_code_of_a_newer_version_is_said_to_be_decided() -> None:
    assert public_sentence(Reason(code=9_999)) == "The scheduler has decided so."


def test_time_is_told() -> None:
    reason = Reason(code="REASON_CODE_MIN_RUNTIME", until={"seconds": 1_700_000_000})
    assert public_sentence(reason).endswith("This may change at 2023-11-14T22:13:20Z.")


def test_owner_of_a_victim_does_not_learn_for_whom() -> None:
    snapshot = read_snapshot("server/tenure/server/samples/two-departments.yaml")
    answer = Engine(default_profile()).decide(DecideRequest(snapshot=snapshot))
    steps = [step for group in answer.groups for step in group.decisions if step.HasField("evict")]
    names = {row.name for row in (*snapshot.pod_groups, *snapshot.queues, *snapshot.nodes)}
    assert steps
    for reason in [step.reason for step in steps] + [outcome.reason for outcome in answer.outcomes]:
        assert names & words(reason.message)
        assert not names & words(public_sentence(reason))


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]+", text))
