"""A setting with its source, and settings as a YAML file with the source of each line in a comment."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import yaml
from tenure.process.configuration import KeyLines

SettingPath = tuple[str | int, ...]
_COLUMN: Final = 44
"""Where comments begin, unless the line is longer."""
_COMPUTED: Final[frozenset[SettingPath]] = frozenset(
    [("server", "maxMemoryMib"), ("server", "maxConcurrentCycles"), ("records", "path")]
)
"""Settings whose default depends on the machine or the user."""

_Tree = dict[str | int, Any]


class Setting(NamedTuple):
    """A setting in force; a value of None is not set."""

    path: SettingPath
    value: Any
    line: int | None = None
    """Line of the file. None: not from the file."""
    variable: str | None = None
    """Variable of the environment. None: not from the environment."""
    note: str = ""

    @property
    def is_computed(self) -> bool:
        """Whether the value depends on the process, so that it does not belong into a file."""
        return self.line is None and (self.variable is not None or self.path in _COMPUTED)

    @property
    def source(self) -> str:
        """`file`, `environment` or `default`."""
        return "file" if self.line else "environment" if self.variable else "default"

    def as_json(self) -> dict[str, Any]:
        """Fields of the JSON output."""
        return {
            "path": "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in self.path).lstrip("."),
            "value": self.value,
            "source": self.source,
            "line": self.line,
            "variable": self.variable,
            "note": self.note,
        }


def as_yaml(settings: Sequence[Setting], lines: KeyLines) -> Iterator[str]:
    """Lines of a configuration file. Settings that are not set, or not from a file, are comments.

    `lines` are those of the file: a plugin may be enabled there and keep its default arguments.
    """
    tree: _Tree = {}
    for setting in settings:
        node = tree
        for step in setting.path[:-1]:
            node = node.setdefault(step, {})
        node[setting.path[-1]] = setting
    for text, comment in _lines(tree, (), lines):
        yield f"{text:<{_COLUMN}}  # {comment}" if comment else text


def _lines(tree: _Tree, path: SettingPath, lines: KeyLines, indent: int = 0) -> Iterator[tuple[str, str]]:
    """Lines with their comments."""
    pad = " " * indent
    for key, child in tree.items():
        below = (*path, key)
        if isinstance(child, Setting):
            yield _leaf(pad, str(key), child)
        elif isinstance(key, int):
            (first, comment), *rest = _lines(child, below, lines, indent + 2)
            yield f"{pad}- {first.lstrip()}", comment
            yield from rest
        else:
            line = lines.line(below) if path == ("plugins",) else None
            yield f"{pad}{key}:", f"line {line}" if line else ""
            yield from _lines(child, below, lines, indent if 0 in child else indent + 2)


def _leaf(pad: str, key: str, setting: Setting) -> tuple[str, str]:
    source = {
        "file": f"line {setting.line}",
        "environment": f"environment {setting.variable}",
        "default": "default",
    }[setting.source]
    comment = f"{source}: {setting.note}" if setting.note else source
    if setting.value is None:
        return f"{pad}# {key}:", f"not set ({comment})"
    value = yaml.safe_dump(setting.value, default_flow_style=True, width=2**20).splitlines()[0]
    return f"{pad}{'# ' if setting.is_computed else ''}{key}: {value}", comment
