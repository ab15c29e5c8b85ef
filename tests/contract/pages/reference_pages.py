"""The check `reference-pages`: cli.md, api.md, and tables of configuration.md and annotations.md.

They are generated from --help, the protos, the settings and the table of annotations.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from tenure.cli.main import app
from typer.testing import CliRunner

from tests.checks import Counts
from tests.contract.pages.annotations_page import render_annotations
from tests.contract.pages.configuration_page import render_configuration
from tests.contract.proto_comments import Declaration, Member, all_declarations

FOLDER: Final = Path(__file__).parents[3] / "docs" / "reference"
_WIDTH: Final = 100
_UPDATE: Final = "python -m tests reference-pages --update"
_NOTE: Final = f"<!-- generated: do not edit; {_UPDATE} writes this page -->\n"
_CLI_HEAD: Final = """# Command line

For users and administrators: the options of every command, as `--help` prints them.
"""
_CLI_END: Final = """## Next steps

- [Quickstart](../get-started/quickstart.md): the commands on a sample
- [Configuration](configuration.md): the file that `--config` names
- [Errors](errors.md#exit-status-of-the-command-line): exit status
"""
_API_HEAD: Final = """# API

For authors of clients: every method, message and enum of `tenure.v1`. The comments of the protos are the
specification. [The integration overview](../integrate/overview.md) explains how they work together. Working
callers exist in [Python](../integrate/python.md) and [Go](../integrate/go.md).
"""
_API_END: Final = """## Next steps

- [Integration overview](../integrate/overview.md): the control loop of a caller
- [Errors](errors.md): status codes and recovery
- [Compatibility](../integrate/compatibility.md): what can change within v1
"""


def render_cli() -> str:
    """The page of the command line."""
    parts = [_CLI_HEAD, _NOTE]
    for words in _commands(("tenure",), typer.main.get_command(app)):
        parts.append(f"## {' '.join(words)}\n\n```text\n{_help(words[1:])}```\n")
    return "\n".join((*parts, _CLI_END))


def render_api() -> str:
    """The page of the API."""
    declarations = list(all_declarations())
    known = {each.name for each in declarations if each.kind != "service"}
    parts, file = [_API_HEAD, _NOTE], ""
    for declaration in declarations:
        if declaration.file != file:
            file = declaration.file
            parts.append(f"## {file}\n")
        parts.append("\n".join(_declaration(declaration, known)) + "\n")
    return "\n".join((*parts, _API_END))


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": render_cli,
    "api.md": render_api,
    "configuration.md": render_configuration,
    "annotations.md": render_annotations,
}


def main(update: Annotated[bool, typer.Option("--update", help="Write the pages first")] = False) -> Counts:
    """Compare the generated reference pages with their sources."""
    failed = 0
    for name, render in PAGES.items():
        expected = render()
        if update:
            (FOLDER / name).write_text(expected, encoding="utf-8")
        if (FOLDER / name).read_text(encoding="utf-8") != expected:
            print(f"docs/reference/{name} differs from its source: {_UPDATE} writes it")
            failed += 1
    return Counts(len(PAGES) - failed, failed)


def _commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[str, ...]]:
    """The words of a command and of all below it. `command` is of the click that typer brings along."""
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands((*words, name), child)


def _help(words: Sequence[str]) -> str:
    """The help of a command in a terminal of fixed width."""
    ended = CliRunner().invoke(app, [*words, "--help"], prog_name="tenure", terminal_width=_WIDTH)
    if ended.exit_code:
        raise RuntimeError(f"tenure {' '.join(words)} --help: {ended.output}")
    return ended.stdout


def _declaration(declaration: Declaration, known: set[str]) -> Iterator[str]:
    yield f"### {declaration.name}\n"
    yield f"{declaration.kind.capitalize()}. {_prose(declaration.comment)}".rstrip()
    if declaration.members:
        yield ""
    for member in declaration.members:
        yield _member(member, known)


def _member(member: Member, known: set[str]) -> str:
    facts = [_linked(member.type, known)] if member.type else []
    if member.number:
        facts.append(member.number)
    if member.oneof:
        facts.append(f"one of `{member.oneof}`")
    text = _prose(member.comment).replace("\n", "\n  ")
    return f"- **`{member.name}`** ({', '.join(facts)}):\n  {text}".replace("\n  \n", "\n\n")


def _linked(text: str, known: set[str]) -> str:
    return re.sub(
        r"[\w.]+", lambda match: f"[{match[0]}](#{match[0].lower()})" if match[0] in known else match[0], text
    )


def _prose(comment: Iterable[str]) -> str:
    """Comment lines as Markdown: indented lines become a block of code."""
    lines: list[str] = []
    is_code = False
    for line in comment:
        if line.startswith("  ") != is_code:
            if not is_code and lines and lines[-1]:
                lines.append("")
            lines.append("```text" if not is_code else "```")
            is_code = not is_code
        lines.append(line.removeprefix("  ") if is_code else line.replace("<", "&lt;"))
    return "\n".join([*lines, "```"] if is_code else lines)
