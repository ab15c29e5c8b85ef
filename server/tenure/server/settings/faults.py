"""What pydantic objects to in a configuration file, said with paths as people write them."""

from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from tenure.server.settings.problems import Problem

Sections = Mapping[tuple[str, ...], type[BaseModel]]
"""The model of each section by the keys that lead to it."""


def problems_of(error: ValidationError, sections: Sections) -> list[Problem]:
    """Every fault of a file, with the fix for keys that are unknown."""
    return [_problem(fault, sections) for fault in error.errors(include_url=False, include_input=False)]


def _problem(fault: ErrorDetails, sections: Sections) -> Problem:
    path = _path(fault["loc"])
    if fault["type"] == "extra_forbidden":
        return Problem(path, _unknown_key(fault["loc"], sections))
    return Problem(path, fault["msg"].removeprefix("Value error, "))


def _path(location: tuple[str | int, ...]) -> str:
    """A pydantic location the way people write it: `tiers[0].plugins[3].name`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def _unknown_key(location: tuple[str | int, ...], sections: Sections) -> str:
    *keys, unknown = (step for step in location if isinstance(step, str))
    known = sorted(field.alias or name for name, field in sections[tuple(keys)].model_fields.items())
    close = get_close_matches(unknown, known, n=1)
    return f"unknown key; did you mean {close[0]}?" if close else f"unknown key; known: {', '.join(known)}"
