"""The configuration file of an adapter: one section, `adapter`, which the command line may overrule."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails
from tenure.client.kubernetes.settings import AdapterSettings
from tenure.server.settings.document import read_document
from tenure.server.settings.problems import ConfigurationError, Problem

_SECTION: Final = "adapter"
_NO_FILE: Final = "command line"


def load_adapter_settings(file: Path | None, said: Mapping[str, object]) -> AdapterSettings:
    """The settings of a file, if there is one, and of the command line, which goes first.

    `said` are fields of AdapterSettings; None was not said. Raises ConfigurationError with every fault.
    """
    section = _section(file) if file else {}
    spoken = {to_camel(name): value for name, value in said.items() if value is not None}
    try:
        return AdapterSettings.model_validate({**section, **spoken})
    except ValidationError as error:
        problems = [_problem(fault) for fault in error.errors(include_url=False, include_input=False)]
        raise ConfigurationError(str(file or _NO_FILE), problems) from None


def _section(file: Path) -> dict[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict) or set(document) != {_SECTION}:
        raise ConfigurationError(str(file), [Problem("", f"must have one section, `{_SECTION}`, alone")])
    section = document[_SECTION]
    if not isinstance(section, dict):
        raise ConfigurationError(
            str(file), [Problem(_SECTION, "must be a mapping with keys such as `server`")]
        )
    return section


def _problem(fault: ErrorDetails) -> Problem:
    key = str(fault["loc"][0]) if fault["loc"] else ""
    path = f"{_SECTION}.{key}" if key else _SECTION
    match fault["type"]:
        case "extra_forbidden":
            return Problem(path, _unknown(key))
        case "missing":
            flag = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
            return Problem(path, f"is missing; give it here or as --{flag}")
    return Problem(path, fault["msg"].removeprefix("Value error, "))


def _unknown(key: str) -> str:
    known = sorted(map(to_camel, AdapterSettings.model_fields))
    close = get_close_matches(key, known, n=1)
    return f"unknown key; did you mean {close[0]}?" if close else f"unknown key; known: {', '.join(known)}"
