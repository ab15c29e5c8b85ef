"""The grammar of durations."""

import pytest
from tenure.terms.durations import (
    MAX_DURATION,
    SECOND,
    format_duration,
    parse_duration,
    parse_signed_duration,
)

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
VALID = {
    "0": 0,
    "0s": 0,
    "90s": 90 * SECOND,
    "1h30m": HOUR + 30 * MINUTE,
    "5d8h40m": 5 * DAY + 8 * HOUR + 40 * MINUTE,
    "1w": 7 * DAY,
    "1.5d": 36 * HOUR,
    "1m1m": 2 * MINUTE,
    "36500d": MAX_DURATION,
}
OF_GO = {
    "+0": 0,
    "30s": 30 * SECOND,
    "1478s": 1478 * SECOND,
    "+5s": 5 * SECOND,
    "5.0s": 5 * SECOND,
    "5.6s": 5_600_000_000,
    "5.s": 5 * SECOND,
    ".5s": 500_000_000,
    "1.004s": 1_004_000_000,
    "1.0040s": 1_004_000_000,
    "100.00100s": 100_001_000_000,
    "10ns": 10,
    "11us": 11_000,
    "12\u00b5s": 12_000,  # the micro sign
    "12\u03bcs": 12_000,  # the Greek letter mu
    "13ms": 13_000_000,
    "15m": 15 * MINUTE,
    "16h": 16 * HOUR,
    "3h30m": 3 * HOUR + 30 * MINUTE,
    "10.5s4m": 4 * MINUTE + 10_500_000_000,
    "1h2m3s4ms5us6ns": HOUR + 2 * MINUTE + 3_004_005_006,
    "39h9m14.425s": 39 * HOUR + 9 * MINUTE + 14_425_000_000,
    "52763797000ns": 52_763_797_000,
    "0.3333333333333333333h": 20 * MINUTE,
    "9007199254740993ns": 2**53 + 1,
    "0.100000000000000000000h": 6 * MINUTE,
    "0.830103483285477580700h": 49 * MINUTE + 48_372_539_827,
}
"""From the tests of Go's `time.ParseDuration`."""
NEGATIVE = {"-5s": -5 * SECOND, "-.5h": -30 * MINUTE, "-2m3.4s": -(2 * MINUTE + 3_400_000_000)}
INVALID = (
    "",
    "5",
    "-",
    "+",
    ".",
    "-.",
    ".s",
    "+.s",
    "+-5s",
    "0.",
    "5 s",
    "s",
    "1y",
    "1h30",
    "h1",
    "1,5h",
    "1..5h",
    "1h.",
    "\u0661s",
    "5S",
    " 5s",
    "5s ",
)


@pytest.mark.parametrize(("text", "expected"), (VALID | OF_GO).items())
def test_valid_durations(text: str, expected: int) -> None:
    assert parse_duration(text) == expected
    assert parse_signed_duration(text) == expected


@pytest.mark.parametrize(("text", "expected"), [*NEGATIVE.items(), ("-0", 0)])
def test_sign_is_read_where_a_duration_may_be_negative(text: str, expected: int) -> None:
    assert parse_signed_duration(text) == expected


@pytest.mark.parametrize("text", NEGATIVE)
def test_negative_duration_is_an_error_elsewhere(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration of zero or more: write it like 30s, 1h30m or 2d"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36501d", "-36501d", "9223372036854775807ns", f"{'9' * 60}w"])
def test_duration_of_more_than_a_century_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is longer than 100 years"):
        parse_signed_duration(text)


def test_error_quotes_the_beginning_of_a_long_text() -> None:
    with pytest.raises(ValueError, match=r"'9{64}\.\.\.' is not a duration"):
        parse_duration(f"{'9' * 5000}h")


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
