"""Results of cases, and the totals of the report."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tests.conformance.cases import Case

COUNTED_APART = "evicted_after_placement"
"""Tag of cases in which a task is evicted in the session that placed it. Decisions describe the changes
between two snapshots, without the intermediate placement. Random cases are judged by what every task holds in
the end. All are counted separately.
"""


class CaseVerdict(Enum):
    """Result of a case."""

    PASSED = "passed"
    FAILED = "failed"
    UNMAPPED = "unmapped"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The verdict on one case. `details`: the differences, or the recorded calls without a counterpart."""

    id: str
    group: str
    kind: str
    tags: frozenset[str]
    verdict: CaseVerdict
    details: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: Case, verdict: CaseVerdict, details: Iterable[str] = ()) -> "CaseResult":
        """Build the result for this case."""
        return cls(case.id, case.group, case.kind, case.tags, verdict, tuple(details))

    @property
    def is_counted_apart(self) -> bool:
        """Whether the case is listed separately and counts neither as passed nor as failed."""
        return COUNTED_APART in self.tags


@dataclass(frozen=True, slots=True)
class PassCount:
    """Number of passed cases and of all cases that ran."""

    passed: int
    total: int

    @property
    def failed(self) -> int:
        """Number of cases that did not pass."""
        return self.total - self.passed

    def __str__(self) -> str:
        return f"{self.passed}/{self.total}"


@dataclass(frozen=True, slots=True)
class Report:
    """Results and totals of a run."""

    total: PassCount
    counted_apart: PassCount
    by_group: dict[str, PassCount]
    by_tag: dict[str, PassCount]
    unmapped: dict[str, int]
    unmapped_calls: dict[str, int]
    failures: tuple[CaseResult, ...]


def summarize(results: Sequence[CaseResult]) -> Report:
    """Count results by group and by tag; both are sorted by name."""
    apart = [result for result in results if result.is_counted_apart]
    unmapped = [result for result in results if result.verdict is CaseVerdict.UNMAPPED]
    judged = [
        result
        for result in results
        if not result.is_counted_apart and result.verdict is not CaseVerdict.UNMAPPED
    ]
    groups = sorted({result.group for result in judged})
    tags = sorted({tag for result in judged for tag in result.tags})
    return Report(
        total=_score(judged),
        counted_apart=_score(apart),
        by_group={group: _score([r for r in judged if r.group == group]) for group in groups},
        by_tag={tag: _score([r for r in judged if tag in r.tags]) for tag in tags},
        unmapped=_sorted_counts(result.kind for result in unmapped),
        unmapped_calls=_sorted_counts(call for result in unmapped for call in result.details),
        failures=tuple(result for result in judged if result.verdict is CaseVerdict.FAILED),
    )


def _score(results: Sequence[CaseResult]) -> PassCount:
    return PassCount(sum(result.verdict is CaseVerdict.PASSED for result in results), len(results))


def _sorted_counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
