"""The section `telemetry` of the configuration file: what leaves the server about its work, and where to.

Kinds of values that several sections of the configuration file hold.
"""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from tenure.terms.durations import parse_duration


class ConfigSection(BaseModel):
    """Keys in camel case, none that is unknown, nothing that changes once read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


def parse_empty_section(value: object) -> object:
    """An empty section (`arguments:` and nothing more) is one without entries."""
    return {} if value == "" else value


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("must be a duration like 30s, 1h30m or 2d")
    return parse_duration(value)


def _duration_or_never(value: object) -> int:
    return -1 if value == "never" else _duration(value)


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or (":" in host and not host.startswith("[")) or not port.isdecimal() or int(port) > 65_535:
        raise ValueError("must be HOST:PORT, like 127.0.0.1:9464")
    return value


def _longer_than_zero(value: int) -> int:
    if value <= 0:
        raise ValueError("must be longer than zero")
    return value


Address = Annotated[str, AfterValidator(_address)]
AtLeastOne = Annotated[int, Field(ge=1)]
Duration = Annotated[int, BeforeValidator(_duration)]
"""Nanoseconds."""
DurationOrNever = Annotated[int, BeforeValidator(_duration_or_never)]
"""Nanoseconds; -1 is never."""
PositiveDuration = Annotated[int, BeforeValidator(_duration), AfterValidator(_longer_than_zero)]
"""Nanoseconds, at least one."""


def _endpoint(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError("must be an address like http://127.0.0.1:4317, or https:// for TLS")
    return value


Level = Literal["debug", "info", "warning", "error"]


class Logs(ConfigSection):
    """Lines on standard error."""

    level: Level = "warning"
    """From which level on lines are written; read again on SIGHUP."""
    format: Literal["text", "json"] = "text"
    """`json`: one object a line."""


class TelemetrySection(ConfigSection):
    """All of the section. Times in nanoseconds."""

    otlp_endpoint: Annotated[str, AfterValidator(_endpoint)] | None = None
    """Collector that gets spans, metrics and lines over OTLP/gRPC. None: what OTEL_* variables say."""
    sample_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    """Part of the traces that begin here that is kept; one that began at a caller is kept when it is there.
    None: what OTEL_TRACES_SAMPLER says, else all.
    """
    metrics_interval: PositiveDuration | None = None
    """Between two exports of metrics. None: what OTEL_METRIC_EXPORT_INTERVAL says, else a minute."""
    metrics_listen: Address | None = None
    """Where Prometheus finds `/metrics`, in clear text and for everybody who can reach it. None: nowhere."""
    include_workload_names: bool = False
    """Whether events of spans name pod groups by uid."""
    logs: Annotated[Logs, BeforeValidator(parse_empty_section)] = Logs()
