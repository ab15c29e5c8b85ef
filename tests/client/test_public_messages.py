"""Public messages of reasons contain no names, for every reason code."""

import re

from tenure.client.public_messages import format_public_message
from tenure.client.snapshot_file import read_snapshot
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_pb2 import Reason, ReasonCode

CODES = [value for value in ReasonCode.DESCRIPTOR.values if value.number]


def test_every_code_has_a_distinct_sentence() -> None:
    sentences = {format_public_message(Reason(code=code.number)) for code in CODES}
    assert len(sentences) == len(CODES)
    assert all(sentence.endswith(".") and sentence.isprintable() for sentence in sentences)


def test_unknown_code_has_a_generic_sentence() -> None:
    assert format_public_message(Reason(code=9_999)) == "The scheduler rejected it."


def test_sentence_contains_the_end_time() -> None:
    reason = Reason(code="REASON_CODE_MIN_RUNTIME", until={"seconds": 1_700_000_000})
    assert format_public_message(reason).endswith("This may change at 2023-11-14T22:13:20Z.")


def test_public_message_of_a_victim_hides_the_preemptor() -> None:
    snapshot = read_snapshot("server/tenure/cli/samples/two-departments.yaml")
    answer = Engine(default_profile()).decide(DecideRequest(snapshot=snapshot)).parse()
    steps = [step for group in answer.groups for step in group.decisions if step.HasField("evict")]
    names = {row.name for row in (*snapshot.pod_groups, *snapshot.queues, *snapshot.nodes)}
    assert steps
    for reason in [step.reason for step in steps] + [outcome.reason for outcome in answer.outcomes]:
        assert names & words(reason.message)
        assert not names & words(format_public_message(reason))


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]+", text))
