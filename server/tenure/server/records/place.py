"""Where records are kept unless somebody says otherwise."""

from pathlib import Path

from platformdirs import user_state_path
from tenure.server.records.schema import RecordsError


def default_path() -> Path:
    """`records.sqlite` where the platform keeps the state of a user's programs.

    On Linux that is `$XDG_STATE_HOME/tenure`, or `~/.local/state/tenure`. Raises RecordsError for a user
    without a home, as in a container with a user id of its own.
    """
    try:
        return user_state_path("tenure", appauthor=False) / "records.sqlite"
    except RuntimeError:
        told = "this user has no home: name a file of records, or set HOME or XDG_STATE_HOME"
        raise RecordsError(told) from None
