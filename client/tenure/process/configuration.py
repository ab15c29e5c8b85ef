"""Read a YAML configuration file, and report its errors with path and fix.

Documents contain only mappings, lists and text: `on` stays "on" and `1e3` stays "1e3", and the model of a
section interprets them. Duplicate keys are rejected.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from tenure.terms.formatting import known_names_hint
from tenure.wire.yaml_limits import limit_events


class ConfigProblem(NamedTuple):
    """One error; the path is empty if it concerns the whole file."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigurationError(ValueError):
    """A configuration file cannot be used. The message has the file and every error."""

    def __init__(self, file: str, problems: Iterable[ConfigProblem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{file}: {problem}" for problem in self.problems))


MAX_BYTES: Final = 2**20
"""Maximum size of a configuration file."""


class _Loader(yaml.BaseLoader):
    """Plain text scalars only, no duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"the key {key.value!r} occurs twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def read_document(file: Path) -> object:
    """Parse a YAML file. Raises ConfigurationError, with line and column if known."""
    try:
        content = file.read_bytes()
        if len(content) > MAX_BYTES:
            raise ConfigurationError(str(file), [ConfigProblem("", f"is larger than {MAX_BYTES:,} bytes")])
        for _ in limit_events(yaml.parse(content, Loader=_Loader)):
            pass
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


class KeyLines:
    """Lines of the keys of a file that `read_document` can read."""

    def __init__(self, file: Path | None) -> None:
        """Without a file no key has a line."""
        self._root = None if file is None else yaml.compose(file.read_bytes(), Loader=_Loader)

    def line(self, path: Sequence[str | int]) -> int | None:
        """Line of a key or list item, from 1; None if the file does not contain it."""
        found = self._lines(path)
        return found[-1] if path and len(found) == len(path) else None

    def nearest_line(self, path: Sequence[str | int]) -> int | None:
        """Line of a key or list item, else of the innermost section around it."""
        found = self._lines(path)
        return found[-1] if found else None

    def _lines(self, path: Sequence[str | int]) -> list[int]:
        """Lines of the steps of a path, up to the first one that the file does not contain."""
        found: list[int] = []
        node = self._root
        for step in path:
            if isinstance(node, yaml.MappingNode):
                pairs = [(key, value) for key, value in node.value if key.value == str(step)]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                pairs = [(node.value[step], node.value[step])]
            else:
                break
            if not pairs:
                break
            key, node = pairs[0]
            found.append(key.start_mark.line + 1)
        return found


def _syntax_problem(error: yaml.MarkedYAMLError) -> ConfigProblem:
    mark = error.problem_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return ConfigProblem(where, error.problem or "is not YAML")


MISSING: Final = "is required"
"""What is said of a key without a value."""
_SENTENCES: Final = {
    "missing": MISSING,
    "path_type": "must be the name of a file",
    "string_type": "must be text",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "too_short": "must not be empty",
}
"""Sentences for what pydantic finds, by its type of error: its own name types of Python."""

Sections = Mapping[tuple[str, ...], type[BaseModel]]
"""Model of each section, by the keys that lead to it."""


def find_problems(error: ValidationError, sections: Sections) -> list[ConfigProblem]:
    """All errors of a file, with the fix for unknown keys."""
    return [_problem(fault, sections) for fault in error.errors(include_url=False, include_input=False)]


def _problem(error: ErrorDetails, sections: Sections) -> ConfigProblem:
    path = _path(error["loc"])
    if error["type"] == "extra_forbidden":
        return ConfigProblem(path, _unknown_key(error["loc"], sections))
    sentence = _SENTENCES.get(error["type"])
    if sentence is not None:
        return ConfigProblem(path, sentence.format(**error.get("ctx", {})))
    return ConfigProblem(path, error["msg"].removeprefix("Value error, "))


def _path(location: tuple[str | int, ...]) -> str:
    """Format a pydantic location: `tiers[0].plugins[3].name`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def _unknown_key(location: tuple[str | int, ...], sections: Sections) -> str:
    *keys, unknown = (step for step in location if isinstance(step, str))
    known = sorted(field.alias or name for name, field in sections[tuple(keys)].model_fields.items())
    return f"unknown key; {known_names_hint(unknown, known)}"
