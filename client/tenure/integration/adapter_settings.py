"""The configuration file of an adapter: what its section has with every scheduler, and how it is read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BeforeValidator, ValidationError
from pydantic.alias_generators import to_camel
from tenure.process.configuration import (
    MISSING,
    ConfigProblem,
    ConfigurationError,
    Sections,
    find_problems,
    read_document,
)
from tenure.process.values import Address, ConfigSection, Logs, TelemetrySection, parse_empty_section

_LEVEL: Final = "info"
"""Default log level: an adapter logs its leadership terms."""


def not_empty(value: str) -> str:
    """Check of a text. Raises ValueError."""
    if not value:
        raise ValueError("must not be empty")
    return value


class ServerSettings(ConfigSection):
    """What the section of every adapter has. Keys are in camel case, durations as in `15s`."""

    server: str = "127.0.0.1:50051"
    """Address of the server."""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    """TLS files and the token for the server, as with all commands."""
    allow_plaintext: bool = False
    """Whether a token may be sent in plaintext to another machine."""
    cluster_id: Annotated[str, AfterValidator(not_empty)]
    """Cluster ID in snapshots, records and metrics."""
    node_pool: str = ""
    """Node pool in snapshots."""
    health_listen: Address | None = None
    """Address of `/healthz` and `/readyz`. None: no probes."""


class AdapterFile(ConfigSection):
    """The sections that the file of every adapter has. Subclasses add that of the scheduler."""

    telemetry: Annotated[TelemetrySection, BeforeValidator(parse_empty_section)] = TelemetrySection()

    @property
    def adapter_telemetry(self) -> TelemetrySection:
        """The telemetry, with the log level of an adapter unless the file sets one."""
        telemetry = self.telemetry
        if "level" in telemetry.logs.model_fields_set:
            return telemetry
        return telemetry.model_copy(update={"logs": telemetry.logs.model_copy(update={"level": _LEVEL})})


_File = TypeVar("_File", bound=AdapterFile)
TELEMETRY_SECTIONS: Final[Sections] = {("telemetry",): TelemetrySection, ("telemetry", "logs"): Logs}


def read_adapter_file(
    file: Path | None,
    overrides: Mapping[str, object],
    model: type[_File],
    section: str,
    sections: Sections,
    missing: Callable[[str], str],
) -> _File:
    """Read a file, if there is one, and the command line, which has precedence.

    `overrides` are fields of the section; None is not set. `sections` are those of the file; `missing` says
    where a required key may be set, given its path. Raises ConfigurationError with all errors.
    """
    document = _document(file, section) if file else {}
    spoken = {to_camel(name): value for name, value in overrides.items() if value is not None}
    try:
        return model.model_validate({**document, section: {**document.get(section, {}), **spoken}})
    except ValidationError as error:
        problems = [
            ConfigProblem(problem.path, missing(problem.path)) if problem.text == MISSING else problem
            for problem in find_problems(error, {(): model, **TELEMETRY_SECTIONS, **sections})
        ]
        raise ConfigurationError(str(file or "command line"), problems) from None


def _document(file: Path, section: str) -> dict[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict) or section not in document:
        raise ConfigurationError(str(file), [ConfigProblem("", f"must have a section `{section}`")])
    if not isinstance(document[section], dict):
        raise ConfigurationError(
            str(file), [ConfigProblem(section, "must be a mapping with keys such as `server`")]
        )
    return document
