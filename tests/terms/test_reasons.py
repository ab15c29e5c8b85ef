"""The reason catalog: a complete row for every code of the contract."""

import pytest
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.registry import BUILT_IN
from tenure.terms.reason_class import OUTCOMES
from tenure.terms.reasons import (
    GUARDED_ACTIONS,
    LEAST_DOMINANT,
    REASONS,
    Reason,
    ReasonClass,
    ReasonCode,
    dominance,
)
from tenure.v1 import decision_pb2 as pb

EVICTIONS = {
    *("RECLAIMED", "PREEMPTED", "CONSOLIDATED", "STALE_GANG", "STALE_SUB_GROUP", "REQUEUED"),
    *("TIME_LIMIT", "BACKFILL_ENDED"),
}


def test_codes_agree_with_the_contract_both_ways() -> None:
    contract = {value.number: value.name for value in pb.ReasonCode.DESCRIPTOR.values if value.number}
    assert contract == {number: f"REASON_CODE_{row.code.name}" for number, row in REASONS.items()}
    assert set(REASONS) == set(ReasonCode)


@pytest.mark.parametrize("row", REASONS.values(), ids=lambda row: row.code.name)
def test_row_has_every_column_its_class_requires(row: Reason) -> None:
    assert row.public.endswith(".")
    assert bool(row.eviction) == (row.code.name in EVICTIONS)
    if row.reason_class in (ReasonClass.APPLIED, ReasonClass.IN_FLIGHT):
        assert not row.clause
        assert not row.stands
        return
    assert row.clause or row.victim_clause
    assert row.remedy
    assert row.condition


@pytest.mark.parametrize("row", REASONS.values(), ids=lambda row: row.code.name)
def test_clauses_are_clauses(row: Reason) -> None:
    for text in (row.clause, row.victim_clause, row.eviction, row.remedy):
        assert not text.endswith(".")
        assert text[:1] == text[:1].lower()


def test_row_requires_every_column() -> None:
    assert not Reason._field_defaults


def test_no_two_dominant_reasons_are_equal() -> None:
    ranks = [row.dominance for row in REASONS.values() if row.dominance != LEAST_DOMINANT]
    assert len(ranks) == len(set(ranks))
    assert dominance(ReasonCode.INVALID_QUEUE) == min(ranks)


def test_every_outcome_kind_has_a_predicate() -> None:
    assert set(OUTCOMES) == set(OutcomeKind) == set(pb.OutcomeKind.values()) - {0}


def test_guarded_actions_are_those_of_the_registry() -> None:
    assert set(BUILT_IN.guarded.names) == GUARDED_ACTIONS
