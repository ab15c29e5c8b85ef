"""Base class and value types of configuration sections, and the sections `logs` and `telemetry`."""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel
from tenure.terms.durations import format_duration, parse_duration


class ConfigSection(BaseModel):
    """Immutable section with camel-case keys; unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


def parse_empty_section(value: object) -> object:
    """Treat an empty section (`arguments:` without a value) as one without entries."""
    return {} if value == "" else value


def duration_value(value: object) -> int:
    """Nanoseconds of a duration in a document. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("must be a duration such as 30s, 1h30m or 2d")
    return parse_duration(value)


def _duration_or_never(value: object) -> int:
    return -1 if value == "never" else duration_value(value)


def _duration_text(value: int) -> str:
    return "never" if value < 0 else format_duration(value)


_AS_TEXT = PlainSerializer(_duration_text, return_type=str, when_used="json")
"""Durations are text in JSON, as in the file."""


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or (":" in host and not host.startswith("[")) or not port.isdecimal() or int(port) > 65_535:
        raise ValueError("must be HOST:PORT, such as 127.0.0.1:9464")
    return value


def _longer_than_zero(value: int) -> int:
    if value <= 0:
        raise ValueError("must be longer than zero")
    return value


def _host_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", value):
        raise ValueError("must be a host name without a port, such as tenure.example.com")
    return value


HostName = Annotated[str, AfterValidator(_host_name)]
Address = Annotated[str, AfterValidator(_address)]
AtLeastOne = Annotated[int, Field(ge=1)]
Duration = Annotated[int, BeforeValidator(duration_value), _AS_TEXT]
"""Nanoseconds."""
DurationOrNever = Annotated[int, BeforeValidator(_duration_or_never), _AS_TEXT]
"""Nanoseconds; -1 means never."""
PositiveDuration = Annotated[
    int, BeforeValidator(duration_value), AfterValidator(_longer_than_zero), _AS_TEXT
]
"""Nanoseconds, positive."""


def _endpoint(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError("must be an address such as http://127.0.0.1:4317, or https:// for TLS")
    return value


Level = Literal["debug", "info", "warning", "error"]


class Logs(ConfigSection):
    """Logging to standard error."""

    level: Level = "warning"
    """Lowest level of log records: `debug`, `info`, `warning` or `error`; reloaded on SIGHUP."""
    format: Literal["text", "json"] = "text"
    """`text`, or `json` for one object per line."""


class TelemetrySection(ConfigSection):
    """The section `telemetry`. Times in nanoseconds."""

    otlp_endpoint: Annotated[str, AfterValidator(_endpoint)] | None = None
    """Collector for traces, metrics and logs over OTLP/gRPC: `http://HOST:PORT`, or `https://` for TLS. None:
    the OTEL_* variables.
    """
    sample_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fraction of the traces that begin here which is exported, from 0 to 1; traces of callers follow the
    caller's decision. None: OTEL_TRACES_SAMPLER, else all.
    """
    metrics_interval: PositiveDuration | None = None
    """Interval of metric exports to the collector. None: OTEL_METRIC_EXPORT_INTERVAL, else one minute."""
    metrics_listen: Address | None = None
    """HOST:PORT of the page `/metrics` for Prometheus, plaintext and without authentication. None: none."""
    metrics_hosts: tuple[HostName, ...] = ()
    """Host names by which collectors may request that page. IP addresses and `localhost` need no entry."""
    include_workload_names: bool = False
    """Whether span events contain uids of pod groups."""
    logs: Annotated[Logs, BeforeValidator(parse_empty_section)] = Logs()
