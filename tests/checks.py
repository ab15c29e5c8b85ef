"""The named checks: campaigns, comparisons and measurements that are too long for the test suite."""


class CannotRun(Exception):
    """A check or a build cannot run here; the message says why."""
