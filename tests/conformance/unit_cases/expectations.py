"""The matchers of recorded unit tests."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(matcher: str, actual: Any, expected: Any) -> bool:
    """Whether the value satisfies the matcher. Raises KeyError for an unknown matcher."""
    return _MATCHERS[matcher](actual, expected)


def equal(actual: Any, expected: Any) -> bool:
    """Compare values, records and lists. Numbers are compared as decimal fractions stored as floats."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return actual is expected
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return math.isclose(actual, expected, rel_tol=1e-12, abs_tol=1e-9)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        keys = expected.keys() | actual.keys()
        return all(equal(actual.get(key, 0), expected.get(key, 0)) for key in keys)
    if isinstance(expected, list) and isinstance(actual, (list, tuple)):
        return len(actual) == len(expected) and all(map(equal, actual, expected))
    return bool(actual == expected)


def _numerically(actual: Any, expected: Any) -> bool:
    comparison, bound = expected
    return _COMPARISONS[comparison](actual, bound)


_MATCHERS: dict[str, Callable[[Any, Any], bool]] = {
    "Equal": equal,
    "BeTrue": lambda actual, _: actual is True,
    "BeFalse": lambda actual, _: actual is False,
    "BeZero": lambda actual, _: not actual,
    "NotBeZero": lambda actual, _: bool(actual),
    "NotBeNil": lambda actual, _: actual is not None,
    "HaveOccurred": lambda actual, _: actual is not None,
    "NotHaveOccurred": lambda actual, _: actual is None,
    "HaveLen": lambda actual, expected: len(actual) == expected,
    "BeNumerically": _numerically,
}
