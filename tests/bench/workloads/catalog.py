"""All cases, and their selection by name."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache

from tests.bench.play_measurement import played_cases
from tests.bench.starts_measurement import estimated_cases
from tests.bench.workloads.budgeted_workloads import budgeted_workloads
from tests.bench.workloads.case import Case
from tests.bench.workloads.noticed_workloads import noticed_workloads
from tests.bench.workloads.own_workloads import own_workloads
from tests.bench.workloads.published_workloads import published_workloads
from tests.bench.workloads.reserved_workloads import reserved_workloads


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case, the reference's first."""
    plain = (*published_workloads(), *own_workloads())
    limited = (*budgeted_workloads(plain), *noticed_workloads(plain), *reserved_workloads(plain))
    return (*plain, *limited, *played_cases(), *estimated_cases())


def select_cases(patterns: Sequence[str], *, with_long: bool = False) -> tuple[Case, ...]:
    """Return the cases whose name or workload matches a pattern. Without patterns, long ones are optional."""
    if not patterns:
        return tuple(case for case in all_cases() if with_long or not case.is_long)
    return tuple(case for case in all_cases() if any(_matches(case, pattern) for pattern in patterns))


def _matches(case: Case, pattern: str) -> bool:
    return fnmatchcase(case.name, pattern) or case.workload == pattern
