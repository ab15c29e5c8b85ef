"""A YAML document whose scalars are text, read without surprises.

Nothing but mappings, lists and text comes out, so `on` stays "on" and `1e3` stays "1e3": what a value means
is for the model that reads it to say. Keys that occur twice are refused.
"""

from pathlib import Path
from typing import Any, Final

import yaml
from tenure.server.settings.problems import ConfigurationError, Problem

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
            raise ConfigurationError(str(file), [Problem("", f"is larger than {MAX_BYTES:,} bytes")])
        return yaml.load(content, Loader=_Loader)  # noqa: S506 (it builds text, lists and mappings only)
    except OSError as error:
        raise ConfigurationError(str(file), [Problem("", f"cannot be read: {error.strerror}")]) from None
    except yaml.MarkedYAMLError as error:
        raise ConfigurationError(str(file), [_syntax_problem(error)]) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        fault = str(error).partition("\n")[0]
        raise ConfigurationError(str(file), [Problem("", f"is not YAML: {fault}")]) from None


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return Problem(where, error.problem or "is not YAML")
