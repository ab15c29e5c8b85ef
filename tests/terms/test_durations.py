"""The grammar of durations."""

import pytest
from tenure.terms.durations import SECOND, format_duration, parse_duration

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
VALID = {
    "0": 0,
    "0s": 0,
    "90s": 90 * SECOND,
    "1h30m": HOUR + 30 * MINUTE,
    "5d8h40m": 5 * DAY + 8 * HOUR + 40 * MINUTE,
    "1w": 7 * DAY,
    "1.5h": 90 * MINUTE,
    "0.25s": 250_000_000,
    "100ms": 100_000_000,
    "7us": 7000,
    "7µs": 7000,
    "3ns": 3,
    "1m1m": 2 * MINUTE,
}
INVALID = (
    "",
    "5",
    "-5s",
    "+5s",
    "5 s",
    "s",
    "1y",
    "1h30",
    "h1",
    "1,5h",
    ".5h",
    "1.h",
    "\u0661s",
    "5S",
    " 5s",
    "5s ",
)


@pytest.mark.parametrize(("text", "expected"), VALID.items())
def test_valid_durations(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", INVALID)
def test_invalid_duration_is_an_error_with_the_expected_format(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write it like 30s, 1h30m or 2d"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (0, "0s"),
        (45 * SECOND, "45s"),
        (HOUR + 30 * MINUTE, "1h30m"),
        (8 * DAY, "8d"),
        (-5 * SECOND, "-5s"),
        (250_000_000, "250ms"),
        (SECOND + 1, "1s"),
    ],
)
def test_durations_are_shown_to_the_second(nanoseconds: int, expected: str) -> None:
    assert format_duration(nanoseconds) == expected
