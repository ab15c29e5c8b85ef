"""Deciding again on what is recorded, by the same code that serves."""

from typing import NamedTuple

from tenure.server.engine import Engine
from tenure.server.records.differences import Difference, differences, lost, other_fields
from tenure.server.records.reading import Record, RecordsFile
from tenure.server.records.schema import RecordsError
from tenure.solver.framework.profile import Profile
from tenure.solver.registry import check_profile
from tenure.v1.decision_service_pb2 import DecideRequest, DecideResponse


class Replayed(NamedTuple):
    """A record by what names it, and what is decided differently now. Answers are let go: they are large."""

    id: int
    cluster_id: str
    node_pool: str
    version: int
    now: int
    stopped_early: bool
    engine_version: str
    differences: list[Difference]
    """None: it is the same as far as was compared."""


def replay(file: RecordsFile, record: Record, profile: Profile | None = None) -> Replayed:
    """Decide again, by the profile of the record or by another one, without a deadline.

    With the same profile the answer is to be the same, byte for byte. With another one decisions and outcomes
    are compared. A record that was stopped early is compared as far as it came, for the whole cycle decides
    more. Raises RecordsError when the record or its profile cannot be used here.
    """
    used = _profile(record) if profile is None else profile
    question = DecideRequest(snapshot=file.snapshot(record), actions=record.actions)
    answer = Engine(used).decide(question)
    return Replayed(
        record.id,
        *(record.cluster_id, record.node_pool, record.version, record.now),
        record.stopped_early,
        record.engine_version,
        _compared(record, answer, is_exact=profile is None),
    )


def _compared(record: Record, answer: DecideResponse, *, is_exact: bool) -> list[Difference]:
    if record.stopped_early:
        return lost(record.answer, answer)
    found = differences(record.answer, answer)
    return found or (list(other_fields(record.answer, answer)) if is_exact else [])


def _profile(record: Record) -> Profile:
    """That of the record. Raises RecordsError when something of it is not known here."""
    try:
        profile = record.profile
        problems = [f"{path}: {problem}" for path, problem in check_profile(profile)]
    except ValueError as error:
        problems = [str(error)]
    if problems:
        told = "; ".join(problems)
        raise RecordsError(f"record {record.id} cannot be decided again: its profile: {told}")
    return profile
