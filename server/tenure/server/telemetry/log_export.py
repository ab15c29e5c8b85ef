"""Lines sent to a collector over OTLP, beside those on standard error."""

import logging
import time
from typing import Final

from opentelemetry._logs import Logger, LoggerProvider, SeverityNumber
from opentelemetry.context import get_current

_SEVERITY: Final = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}


class Sender(logging.Handler):
    """Gives Tenure's own lines to the SDK, which sends them when it can and never waits."""

    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__()
        self._loggers: dict[str, Logger] = {}
        self._provider = provider

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        attributes = {}
        if record.exc_info:
            attributes["exception.stacktrace"] = logging.Formatter().formatException(record.exc_info)
        self._logger(record.name).emit(
            timestamp=int(record.created * 1e9),
            observed_timestamp=time.time_ns(),
            context=get_current(),
            severity_number=_SEVERITY.get(record.levelno, SeverityNumber.UNSPECIFIED),
            severity_text=record.levelname,
            body=record.getMessage(),
            attributes=attributes,
        )

    def _logger(self, name: str) -> Logger:
        if name not in self._loggers:
            self._loggers[name] = self._provider.get_logger(name)
        return self._loggers[name]
