"""Docstrings of plugins, actions and settings, read from the source, because compiled classes have none."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[3]
_SOLVER: Final = _ROOT / "server/tenure/solver"
_SOURCES: Final = ("server", "client", "protos")
_REFERENCES: Final = re.compile(
    r"\s*\((?:semantics )?(?:section )?(?:R?\d[\d.]*|R[\d.]+)(?:[-, ]+R?[\d.]+)*\)"
)
"""References to rules, such as `(semantics R3.9)`."""


def plugin_description(factory: Any) -> str:
    """The first sentence about a plugin, without references to rules."""
    module, name = _module(factory.__module__), getattr(factory, "__name__", type(factory).__name__)
    (found,) = (
        node for node in module.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
    )
    return _first_sentence(ast.get_docstring(found) or "")


def action_description(name: str) -> str:
    """What an action does, from the first sentence of the module that defines it."""
    folders = ("actions", "reservations")
    for file in (file for each in folders for file in sorted((_SOLVER / each).glob("*.py"))):
        module = ast.parse(file.read_text())
        defined = importlib.import_module(f"tenure.solver.{file.parent.name}.{file.stem}")
        if any(getattr(defined, action).name == name for action in _actions(module)):
            effect = _first_sentence(ast.get_docstring(module) or "").partition(": ")[2]
            return effect[:1].upper() + effect[1:]
    raise LookupError(name)


def field_descriptions(section: type) -> dict[str, str]:
    """Descriptions of the fields of a class, by name."""
    (found,) = (
        node
        for node in _module(section.__module__).body
        if isinstance(node, ast.ClassDef) and node.name == section.__name__
    )
    descriptions = {}
    for field, text in zip(found.body, found.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            descriptions[field.target.id] = _prose(str(text.value.value)) if is_text else ""  # type: ignore[attr-defined]
    return descriptions


def _module(name: str) -> ast.Module:
    (file,) = (
        file for source in _SOURCES if (file := _ROOT / source / f"{name.replace('.', '/')}.py").exists()
    )
    return ast.parse(file.read_text())


def _actions(module: ast.Module) -> Iterator[str]:
    """Names of the constants of a module that it defines as actions."""
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            value = node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Action":
                yield node.target.id


def _first_sentence(text: str) -> str:
    return _prose(text).partition(". ")[0].removesuffix(".")


def _prose(text: str) -> str:
    return _REFERENCES.sub("", " ".join(text.split()))
