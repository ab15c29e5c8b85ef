"""From which level on lines are written, and another level while the process runs."""

import logging
from collections.abc import Callable
from typing import Final

from tenure.server.settings import ConfigurationError
from tenure.server.settings.telemetry import Level, Logs
from tenure.server.telemetry.log_lines import set_level, write_lines

_LOG: Final = logging.getLogger(__name__)


class Levels:
    """The level that the command line says, else the one of the configuration file as it is now.

    `read` reads the file again; it raises ConfigurationError.
    """

    def __init__(self, read: Callable[[], Logs], said: Level | None) -> None:
        self._read = read
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
            level = self._read().level
        except ConfigurationError as error:
            _LOG.error("The level of lines stays as it is, for the configuration cannot be read: %s", error)
            return
        set_level(level)
        _LOG.warning("Lines are written from level %s on.", level)
