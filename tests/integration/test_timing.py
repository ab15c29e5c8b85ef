"""Pauses double up to a limit."""

from tenure.integration.timing import Backoff, pause_after


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(1.0, 60.0)
    assert [backoff.fail() for _ in range(8)] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_pauses_begin_again_after_a_success() -> None:
    backoff = Backoff(0.5, 10.0)
    backoff.fail(), backoff.fail()
    backoff.reset()
    assert backoff.fail() == 0.5


def test_thousands_of_failures_do_not_overflow() -> None:
    assert pause_after(100_000, 10.0, 300.0) == 300.0
