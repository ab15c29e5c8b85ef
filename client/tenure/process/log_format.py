"""From which level on lines are written, and another level while the process runs.

Lines on standard error: as text for people or JSON for programs, with the trace they belong to.
"""

import json
import logging
import time
from collections.abc import Callable
from typing import Any, Final

from opentelemetry import trace
from tenure.process.configuration import ConfigurationError
from tenure.process.values import Level, Logs

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure_logging(logs: Logs) -> None:
    """Write lines as the configuration says, from now on and in place of how they were written before.

    Of Tenure's own loggers those of the level and above, of libraries' warnings and errors, when asked for
    these.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if logs.format == "json" else TextFormatter(_TEXT))
    logging.basicConfig(handlers=[handler], force=True)
    set_level(logs.level)


def set_level(level: Level) -> None:
    """Write lines of this level and above from now on."""
    own = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger().setLevel(max(own, logging.WARNING))
    logging.getLogger("tenure").setLevel(own)


class TextFormatter(logging.Formatter):
    """One line for each message, whatever is in it; a traceback follows on lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name is logging's)
        """The line. Line breaks within are escaped, so that nobody can make up a line."""
        line = super().formatMessage(record)
        escaped = line if line.isprintable() else "".join(map(_escaped, line))
        trace_id = trace.get_current_span().get_span_context().trace_id
        return f"{escaped} [trace {trace_id:032x}]" if trace_id else escaped


class JsonFormatter(logging.Formatter):
    """One JSON object for each message, its traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        """The object; line breaks are escaped as JSON does."""
        fields: dict[str, Any] = {
            "time": _iso(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_place(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=True)


def _place() -> dict[str, str]:
    """The trace and the span in which a line is written, if any."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def _iso(seconds: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1_000):03}Z"


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


_LOG: Final = logging.getLogger(__name__)


class LogLevelControl:
    """The level that the command line says, else the one of the configuration file as it is now.

    `read` reads the file again; it raises ConfigurationError.
    """

    def __init__(self, read: Callable[[], Logs], override: Level | None) -> None:
        self._read = read
        self._override = override

    def begin(self, logs: Logs) -> None:
        """Write lines as the file said at the start."""
        configure_logging(logs.model_copy(update={"level": self._override or logs.level}))

    def reload(self) -> None:
        """Read the file again and go on with its level; a file with faults changes nothing."""
        if self._override is not None:
            _LOG.warning("The level of lines stays %s: --log-level says so.", self._override)
            return
        try:
            level = self._read().level
        except ConfigurationError as error:
            _LOG.error("The level of lines stays as it is, for the configuration cannot be read: %s", error)
            return
        set_level(level)
        _LOG.warning("Lines are written from level %s on.", level)
