"""What pydantic objects to in a configuration file, said with paths as people write them.

Faults of a configuration file: each with its path in the file and the fix.

A YAML document whose scalars are text, read without surprises.

Nothing but mappings, lists and text comes out, so `on` stays "on" and `1e3` stays "1e3": what a value means
is for the model that reads it to say. Keys that occur twice are refused.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails


class ConfigProblem(NamedTuple):
    """One fault; the path is empty when the whole file is meant."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigurationError(ValueError):
    """The configuration file cannot be used. Names the file and every fault found in it."""

    def __init__(self, file: str, problems: Iterable[ConfigProblem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{file}: {problem}" for problem in self.problems))


MAX_BYTES: Final = 2**20
"""Largest configuration file."""


class _Loader(yaml.BaseLoader):
    """Plain text scalars only, and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                mark = node.value[position][0].start_mark
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} occurs twice", mark)
        return super().construct_mapping(node, deep)


def read_document(file: Path) -> object:
    """The content of a YAML file. Raises ConfigurationError, with line and column where there is one."""
    try:
        content = file.read_bytes()
        if len(content) > MAX_BYTES:
            raise ConfigurationError(str(file), [ConfigProblem("", f"is larger than {MAX_BYTES:,} bytes")])
        return yaml.load(content, Loader=_Loader)  # noqa: S506 (it builds text, lists and mappings only)
    except OSError as error:
        raise ConfigurationError(
            str(file), [ConfigProblem("", f"cannot be read: {error.strerror}")]
        ) from None
    except yaml.MarkedYAMLError as error:
        raise ConfigurationError(str(file), [_syntax_problem(error)]) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        fault = str(error).partition("\n")[0]
        raise ConfigurationError(str(file), [ConfigProblem("", f"is not YAML: {fault}")]) from None


def _syntax_problem(error: yaml.MarkedYAMLError) -> ConfigProblem:
    mark = error.problem_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return ConfigProblem(where, error.problem or "is not YAML")


Sections = Mapping[tuple[str, ...], type[BaseModel]]
"""The model of each section by the keys that lead to it."""


def find_problems(error: ValidationError, sections: Sections) -> list[ConfigProblem]:
    """Every fault of a file, with the fix for keys that are unknown."""
    return [_problem(fault, sections) for fault in error.errors(include_url=False, include_input=False)]


def _problem(error: ErrorDetails, sections: Sections) -> ConfigProblem:
    path = _path(error["loc"])
    if error["type"] == "extra_forbidden":
        return ConfigProblem(path, _unknown_key(error["loc"], sections))
    return ConfigProblem(path, error["msg"].removeprefix("Value error, "))


def _path(location: tuple[str | int, ...]) -> str:
    """A pydantic location the way people write it: `tiers[0].plugins[3].name`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def _unknown_key(location: tuple[str | int, ...], sections: Sections) -> str:
    *keys, unknown = (step for step in location if isinstance(step, str))
    known = sorted(field.alias or name for name, field in sections[tuple(keys)].model_fields.items())
    close = get_close_matches(unknown, known, n=1)
    return f"unknown key; did you mean {close[0]}?" if close else f"unknown key; known: {', '.join(known)}"
