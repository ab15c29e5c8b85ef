"""The time as objects tell it."""

from datetime import UTC, datetime, timedelta


def now(later: float = 0.0) -> str:
    """The time in so many seconds."""
    return (datetime.now(UTC) + timedelta(seconds=later)).strftime("%Y-%m-%dT%H:%M:%SZ")
