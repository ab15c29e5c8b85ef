"""R17.24: a sentence about place and start for status fields, which changes only noticeably."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tenure.client.start_sentences import start_sentence
from tenure.v1.explain_pb2 import StartEstimate

NOW = datetime(2025, 6, 15, 15, 7, tzinfo=UTC)
NOW_NS = int(NOW.timestamp()) * 10**9
ABOUT = "CERTAINTY_EXPECTED"


def told(position: int = 3, certainty: str = ABOUT, now: datetime = NOW, **minutes: float) -> str:
    """Of a start in so many minutes from 15:07."""
    times: dict[str, Any] = {name: NOW + timedelta(minutes=each) for name, each in minutes.items()}
    estimate = StartEstimate(pod_group="p", position=position, certainty=certainty, **times)
    return start_sentence(estimate, int(now.timestamp()) * 10**9)


@pytest.mark.parametrize(
    ("minutes", "certainty", "sentence"),
    [
        ({}, ABOUT, "third in its queue; no start is known."),
        (
            {"earliest_start": 61, "likely_start": 61},
            "CERTAINTY_BOUNDED",
            "third in its queue; starts by 2025-06-15 16:15 UTC, if nothing more important arrives.",
        ),
        (
            {"earliest_start": 20, "likely_start": 30, "likely_start_by": 40},
            "CERTAINTY_BOUNDED",
            "third in its queue; starts by 2025-06-15 15:50 UTC, if nothing more important arrives.",
        ),
        (
            {"earliest_start": 20, "likely_start": 30, "likely_start_by": 40, "latest_start": 300},
            ABOUT,
            "third in its queue; starts at about 2025-06-15 15:40 UTC, between 2025-06-15 15:30 UTC and "
            "2025-06-15 15:50 UTC, by 2025-06-15 21:00 UTC at the latest, if nothing more important arrives.",
        ),
    ],
    ids=["no start", "bounded", "bounded range", "range"],
)
def test_sentence_has_place_and_rounded_range(
    minutes: dict[str, float], certainty: str, sentence: str
) -> None:
    assert told(certainty=certainty, **minutes) == sentence


def test_who_does_not_wait_has_no_sentence() -> None:
    assert told(position=0) == ""


@pytest.mark.parametrize(
    ("position", "place"),
    [
        (10, "10th"),
        (11, "among the first 20"),
        (100, "among the first 100"),
        (4_321, "among the first 5,000"),
    ],
)
def test_far_places_are_rounded(position: int, place: str) -> None:
    assert told(position).startswith(f"{place} in its queue")


def test_small_changes_of_time_do_not_change_it() -> None:
    before = told(earliest_start=500, likely_start=500)
    assert told(earliest_start=502, likely_start=502) == before
    assert told(earliest_start=500, likely_start=500, now=NOW + timedelta(minutes=2)) == before
    assert told(earliest_start=580, likely_start=580) != before
