"""Command lines in texts, parsed by the programs that they name."""

import argparse
import re
import runpy
import shlex
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from tenure.cli.main import app
from tenure.kubernetes.plugin.main import app as plugin

from tests.checks import CHECKS
from tests.repository.pages import ROOT, make_targets
from tests.tools.catalog import TOOLS

OTHERS: Final = {
    *("kubectl", "helm", "kustomize", "docker", "gh", "go", "curl", "awk", "dask", "haproxy", "sha256sum"),
    *("cp", "export", "ln"),
    *(".cache/go-client/client", "pre-commit"),
}
"""Programs of others, and words of the shell. Tests run them, see `PROOFS` of snippets.py."""
_ENDS: Final = (">", "2>&1", "|", "&&")
_FILES_OF_OTHERS: Final = {
    "helm": ("docker/",),
    "docker": ("docker/",),
    "haproxy": ("docker/",),
    "kubectl": ("docker/",),
}
_VARIABLES: Final = {
    "BENCH": ("python", "-m", "tests.bench"),
    "LOCK": ("python", "docker/release/lock.py"),
    "IMAGE": ("python", "docker/image/build.py"),
    "SLURM": ("pytest",),
}
"""Variables of the Makefile that hold options, and the commands that get them."""
_PLACEHOLDER: Final = re.compile(r"[A-Z_/.:]*[A-Z]\b|.*\.\.\.")


class _Parsed(Exception):
    """A program has parsed its command line."""


def check_line(line: str, *, whole: bool = True) -> None:
    """Raise an error if the program of a command does not have what it names.

    A command that is not whole, as in sentences, may lack arguments and the value of its last option.
    """
    words = shlex.split(line.removeprefix(".venv/bin/"))
    words = words[: next((at for at, word in enumerate(words) if word in _ENDS), len(words))]
    match words:
        case ["tenure", *rest]:
            _parse(app, "tenure", rest, whole=whole)
        case ["kubectl", "tenure", *rest]:
            _parse(plugin, "kubectl tenure", rest, whole=whole)
        case ["python", "-m", "tests", *rest]:
            _parse_check(rest, whole=whole)
        case ["python", "-m", module, *rest]:
            _parse_module(module, rest, whole=whole)
        case ["python", script, *rest]:
            _parse_script(ROOT / script, rest)
        case ["make", *rest]:
            _check_make(rest, whole=whole)
        case ["pytest", *arguments]:
            assert [word for word in arguments if "/" in word and not (ROOT / word).exists()] == []
        case ["pip", "install", *_]:
            pass  # tests/packaging/test_pip_lines.py
        case [program, *arguments]:
            assert program in OTHERS
            ours = [word for word in arguments if word.startswith(_FILES_OF_OTHERS.get(program, ()) or "\0")]
            assert [word for word in ours if not (ROOT / word).exists()] == []


def sentences(page: str) -> Iterator[str]:
    """Commands of ours between the backquotes of sentences and tables."""
    text = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)
    programs = r"(?:\.venv/bin/)?(?:make|tenure|python -m|python|pytest|kubectl tenure)\s"
    for found in re.findall(rf"`({programs}[^`]*)`", text):
        yield " ".join(found.replace("\\|", "|").split())


def _parse(application: typer.Typer, name: str, words: Sequence[str], *, whole: bool) -> None:
    """Raise UsageError for a command, an option or a value that does not exist."""
    command: Any = typer.main.get_command(application)
    context = command.context_class(command, info_name=name)
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
        context = command.context_class(command, context, info_name=command.name)
    assert not (rest and hasattr(command, "commands")) or rest[0].startswith("-"), "no such command"
    if context.ignore_unknown_options or command.context_settings.get("ignore_unknown_options"):
        return
    try:
        values, extra, _ = command.make_parser(context).parse_args(list(rest))
    except Exception:
        if whole:
            raise
        values, extra, _ = command.make_parser(context).parse_args([*rest, "VALUE"])
    assert not extra or (not whole and extra == ["..."]), "too many arguments"
    for parameter in command.params:
        value = values.get(parameter.name)
        words = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
        is_given = any(isinstance(word, str) for word in words)
        is_path = "Path" in str(parameter.type_descriptor.annotation)
        if is_given and not is_path and not any(_PLACEHOLDER.fullmatch(str(word)) for word in words):
            parameter.get_runtime_param().coerce(value, param=parameter, ctx=context)


def _parse_check(words: Sequence[str], *, whole: bool) -> None:
    """Parse the command line of a check."""
    name, *rest = words or [""]
    if name == "build":
        assert set(rest) <= {tool.name for tool in TOOLS}
    elif name.startswith("--"):
        assert name in str(import_module("tests.__main__").__doc__)
    elif name and not _PLACEHOLDER.fullmatch(name):
        (check,) = (each for each in CHECKS if each.name == name)
        if rest:
            _parse(_single(check.load()), name, rest, whole=whole)


def _parse_module(name: str, words: Sequence[str], *, whole: bool) -> None:
    """Parse the command line of a module with a command of its own."""
    assert find_spec(name), f"no module {name}"
    packaged = find_spec(f"{name}.__main__") if (ROOT / name.replace(".", "/")).is_dir() else None
    module = import_module(f"{name}.__main__" if packaged else name)
    _parse(getattr(module, "app", None) or _single(module.main), name, words, whole=whole)


def _single(function: Any) -> typer.Typer:
    single = typer.Typer(add_completion=False)
    single.command()(function)
    return single


def _parse_script(script: Path, words: Sequence[str]) -> None:
    """Parse the command line of a script, which stops after it has parsed its arguments."""
    if "ArgumentParser" not in script.read_text():
        return

    def parse_and_stop(parser: argparse.ArgumentParser, *_: object) -> None:
        known, unknown = parser.parse_known_args()
        assert not unknown, f"{script.name} does not know {unknown}"
        raise _Parsed(known)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
        patched.setattr(sys, "argv", [str(script), *words])
        patched.syspath_prepend(script.parent)
        with pytest.raises(_Parsed):
            runpy.run_path(str(script), run_name="__main__")


def _check_make(words: Sequence[str], *, whole: bool) -> None:
    """Targets are those of the Makefile, and so are variables; options in variables are parsed, too."""
    text = (ROOT / "Makefile").read_text()
    for word in words:
        variable, is_variable, value = word.partition("=")
        if not is_variable:
            assert word in make_targets(), f"no target {word}"
            continue
        assert re.search(rf"\$\((if \$\()?{variable}\)", text), f"no variable {variable}"
        if variable in _VARIABLES:
            check_line(shlex.join([*_VARIABLES[variable], *shlex.split(value)]), whole=whole)
