"""docs/reference/reason-codes.md: every reason code with number, outcome and rank, and every condition."""

from tenure.kubernetes.apply.conditions import build_condition
from tenure.solver.diagnosis.outcomes import outcome_kind
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.rejection import Rejection
from tenure.terms.reason_class import ReasonClass
from tenure.terms.reasons import LEAST_DOMINANT, REASONS, ReasonCode
from tenure.v1 import decision_pb2 as pb

from tests.contract.errors_page import ROOT

PAGE = (ROOT / "docs" / "reference" / "reason-codes.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the table of a section, without code marks."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


PENDING = rows("Pending pod groups")


def _outcome(code: ReasonCode) -> OutcomeKind:
    """Return the outcome of a reason. Protections have an end here."""
    until = 1 if REASONS[code].reason_class is ReasonClass.PROTECTION else None
    return outcome_kind(Rejection(code, "", until))


def test_codes_are_complete_with_their_numbers() -> None:
    tables = (rows("Decisions"), PENDING, rows("Protected pod groups"), rows("In-flight groups"))
    listed = {row[0]: int(row[1]) for table in tables for row in table}
    assert listed == {code.name: code.value for code in ReasonCode}


def test_pending_reasons_are_in_the_order_of_their_ranks() -> None:
    ranked = sorted(
        (row.dominance, row.code.name) for row in REASONS.values() if row.dominance < LEAST_DOMINANT
    )
    assert [(row[0], row[2]) for row in PENDING] == [
        (name, str(rank)) for rank, (_, name) in enumerate(ranked, 1)
    ]


def test_pending_reasons_have_their_outcomes() -> None:
    kinds = {row[0]: row[3] for row in PENDING}
    assert kinds == {name: _outcome(ReasonCode[name]).name for name in kinds}


def test_conditions_have_the_reasons_of_the_table() -> None:
    conditions = {}
    for kind in (kind for kind in OutcomeKind if kind is not OutcomeKind.BOUND):
        condition = build_condition(pb.PodGroupOutcome(kind=f"OUTCOME_KIND_{kind.name}"))
        assert condition is not None
        conditions[kind.name] = condition.reason
    assert conditions == {row[0]: row[1] for row in rows("Conditions of pods")}
