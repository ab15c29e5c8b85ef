"""Settings as a YAML file with the source of each line in a comment."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml
from tenure.cli.configuration.in_force import Setting

_COLUMN: Final = 44
"""Where comments begin, unless the line is longer."""

_Tree = dict[str | int, Any]


def as_yaml(settings: Sequence[Setting]) -> Iterator[str]:
    """Lines of a configuration file. Settings that are not set, or not from a file, are comments."""
    tree: _Tree = {}
    for setting in settings:
        node = tree
        for step in setting.path[:-1]:
            node = node.setdefault(step, {})
        node[setting.path[-1]] = setting
    for text, comment in _lines(tree, 0):
        yield f"{text:<{_COLUMN}}  # {comment}" if comment else text


def _lines(tree: _Tree, indent: int) -> Iterator[tuple[str, str]]:
    """Lines with their comments."""
    pad = " " * indent
    for key, child in tree.items():
        if isinstance(child, Setting):
            yield _leaf(pad, str(key), child)
        elif isinstance(key, int):
            (first, comment), *rest = _lines(child, indent + 2)
            yield f"{pad}- {first.lstrip()}", comment
            yield from rest
        else:
            yield f"{pad}{key}:", ""
            yield from _lines(child, indent if 0 in child else indent + 2)


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
