"""From which level on lines are written, and another level while the server runs."""

import logging
from pathlib import Path
from typing import Final

from tenure.server.settings import ConfigurationError, load_settings
from tenure.server.settings.telemetry import Level, Logs
from tenure.server.telemetry.log_lines import set_level, write_lines

_LOG: Final = logging.getLogger(__name__)


class Levels:
    """The level that the command line says, else the one of the configuration file as it is now."""

    def __init__(self, file: Path | None, said: Level | None) -> None:
        self._file = file
        self._said = said

    def begin(self, logs: Logs) -> None:
        """Write lines as the file said at the start."""
        write_lines(logs.model_copy(update={"level": self._said or logs.level}))

    def reread(self) -> None:
        """Read the file again and go on with its level; a file with faults changes nothing."""
        if self._said is not None:
            _LOG.warning("The level of lines stays %s: --log-level says so.", self._said)
            return
        try:
            level = load_settings(self._file).telemetry.logs.level
        except ConfigurationError as error:
            _LOG.error("The level of lines stays as it is, for the configuration cannot be read: %s", error)
            return
        set_level(level)
        _LOG.warning("Lines are written from level %s on.", level)
