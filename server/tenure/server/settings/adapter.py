"""The configuration file of an adapter: the sections `adapter` and `telemetry`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, ValidationError
from pydantic.alias_generators import to_camel
from tenure.client.kubernetes.settings import AdapterSettings
from tenure.server.settings.document import read_document
from tenure.server.settings.faults import Sections, problems_of
from tenure.server.settings.problems import ConfigurationError, Problem
from tenure.server.settings.telemetry import Logs, TelemetrySection
from tenure.server.settings.values import Section, nothing

_SECTION: Final = "adapter"
_NO_FILE: Final = "command line"
_MISSING: Final = "Field required"
_LEVEL: Final = "info"
"""An adapter says who leads; a server, which every call could fill pages of, begins at warnings."""


class _File(Section):
    adapter: AdapterSettings
    telemetry: Annotated[TelemetrySection, BeforeValidator(nothing)] = TelemetrySection()


_SECTIONS: Final[Sections] = {
    (): _File,
    (_SECTION,): AdapterSettings,
    ("telemetry",): TelemetrySection,
    ("telemetry", "logs"): Logs,
}


class AdapterConfiguration(NamedTuple):
    """What the file and the command line of an adapter say."""

    adapter: AdapterSettings
    telemetry: TelemetrySection


def load_adapter_settings(file: Path | None, said: Mapping[str, object]) -> AdapterConfiguration:
    """The settings of a file, if there is one, and of the command line, which goes first.

    `said` are fields of AdapterSettings; None was not said. Raises ConfigurationError with every fault.
    """
    document = _document(file) if file else {}
    spoken = {to_camel(name): value for name, value in said.items() if value is not None}
    try:
        read = _File.model_validate({**document, _SECTION: {**document.get(_SECTION, {}), **spoken}})
    except ValidationError as error:
        problems = map(_with_flag, problems_of(error, _SECTIONS))
        raise ConfigurationError(str(file or _NO_FILE), problems) from None
    return AdapterConfiguration(read.adapter, _telling(read.telemetry))


def _document(file: Path) -> dict[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict) or _SECTION not in document:
        raise ConfigurationError(str(file), [Problem("", f"must have a section `{_SECTION}`")])
    if not isinstance(document[_SECTION], dict):
        raise ConfigurationError(
            str(file), [Problem(_SECTION, "must be a mapping with keys such as `server`")]
        )
    return document


def _telling(telemetry: TelemetrySection) -> TelemetrySection:
    if "level" in telemetry.logs.model_fields_set:
        return telemetry
    return telemetry.model_copy(update={"logs": telemetry.logs.model_copy(update={"level": _LEVEL})})


def _with_flag(problem: Problem) -> Problem:
    """A key that is missing may be given on the command line instead."""
    if problem.text != _MISSING:
        return problem
    key = problem.path.removeprefix(f"{_SECTION}.")
    flag = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
    return Problem(problem.path, f"is missing; give it here or as --{flag}")
