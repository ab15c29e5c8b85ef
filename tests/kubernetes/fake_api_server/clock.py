"""The time in the format of objects."""

from datetime import UTC, datetime, timedelta


def now(later: float = 0.0) -> str:
    """Return the time this number of seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=later)).strftime("%Y-%m-%dT%H:%M:%SZ")
