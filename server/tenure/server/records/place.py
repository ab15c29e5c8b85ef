"""Where records are kept unless somebody says otherwise."""

from pathlib import Path

from platformdirs import user_state_path


def default_path() -> Path:
    """`records.sqlite` where the platform keeps the state of a user's programs.

    On Linux that is `$XDG_STATE_HOME/tenure`, or `~/.local/state/tenure`.
    """
    return user_state_path("tenure", appauthor=False) / "records.sqlite"
