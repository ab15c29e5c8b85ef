"""Kinds of values that several sections of the configuration file hold."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from tenure.solver.model.duration import parse_duration


class Section(BaseModel):
    """Keys in camel case, none that is unknown, nothing that changes once read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


def nothing(value: object) -> object:
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
