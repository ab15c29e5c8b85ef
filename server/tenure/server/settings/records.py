"""The section `records` of the configuration file: what is written down of decisions, where and how long."""

from pathlib import Path

from tenure.server.settings.values import AtLeastOne, PositiveDuration, Section
from tenure.solver.model.duration import SECOND

_DAY = 86_400 * SECOND


class RecordSettings(Section):
    """How decisions are recorded. Times in nanoseconds."""

    enabled: bool = True
    """Whether they are."""
    path: Path | None = None
    """The file. None: `records.sqlite` where the platform keeps the state of a user's programs."""
    max_age: PositiveDuration = 7 * _DAY
    """Older records are dropped."""
    max_mib: AtLeastOne = 512
    """Largest size of the file, in MiB; the oldest records go first."""

    def overruled_by(self, path: Path | None, *, is_off: bool) -> "RecordSettings":
        """With another file, which turns records on, or with none at all."""
        if is_off:
            return self.model_copy(update={"enabled": False})
        return self if path is None else self.model_copy(update={"enabled": True, "path": path})
