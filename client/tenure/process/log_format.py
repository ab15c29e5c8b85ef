"""Logging to standard error, as text or JSON with trace context, and changes of the level at runtime."""

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
    """Configure logging, replacing an earlier configuration.

    Tenure's loggers use the configured level; loggers of libraries use it too, but at least warning.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if logs.format == "json" else TextFormatter(_TEXT))
    logging.basicConfig(handlers=[handler], force=True)
    set_level(logs.level)


def set_level(level: Level) -> None:
    """Set the log level."""
    own = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger().setLevel(max(own, logging.WARNING))
    logging.getLogger("tenure").setLevel(own)


class TextFormatter(logging.Formatter):
    """One line per record, followed by its traceback, if any."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name is logging's)
        """Format a record. Line breaks are escaped, so that content cannot forge records."""
        line = super().formatMessage(record)
        escaped = line if line.isprintable() else "".join(map(_escaped, line))
        trace_id = trace.get_current_span().get_span_context().trace_id
        return f"{escaped} [trace {trace_id:032x}]" if trace_id else escaped


class JsonFormatter(logging.Formatter):
    """One JSON object per record, traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; JSON escapes line breaks."""
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
    """Current trace and span IDs, if any."""
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
    """Log level of the command line, else the current one of the configuration file.

    `read` reads the file again; it raises ConfigurationError.
    """

    def __init__(self, read: Callable[[], Logs], override: Level | None) -> None:
        self._read = read
        self._override = override

    def begin(self, logs: Logs) -> None:
        """Configure logging from the file as read at startup."""
        configure_logging(logs.model_copy(update={"level": self._override or logs.level}))

    def reload(self) -> None:
        """Reload the level from the file; an invalid file changes nothing."""
        if self._override is not None:
            _LOG.warning("Log level stays %s (set by --log-level).", self._override)
            return
        try:
            level = self._read().level
        except ConfigurationError as error:
            _LOG.error("Log level unchanged: cannot read the configuration: %s", error)
            return
        set_level(level)
        _LOG.warning("Log level set to %s.", level)
