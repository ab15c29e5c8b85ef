"""`tenure config`: which settings are in force, and whether a configuration file is valid."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.process.options import Output

if TYPE_CHECKING:
    from tenure.cli.configuration.verdict import Finding

INVALID: Final = 1
"""Exit code: the server would reject the file."""

config_app = typer.Typer(help="Show and check the configuration of the server.", no_args_is_help=True)

Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Configuration file. Default: the default profile."),
]
File = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="Configuration file.")
]
Form = Annotated[Output, typer.Option(help="Output format.")]


@config_app.command()
def show(config: Config = None, output: Form = Output.TABLE) -> None:
    """Print all settings that are in force, and where each comes from.

    The output is a configuration file. The comment of each line names the source: default, a line of the
    file, or a variable of the environment. Settings that are not set, or whose value depends on the machine,
    are comments.

    \b
      tenure config show
      tenure config show --config tenure.yaml
      tenure config show > tenure.yaml      start a file from the defaults

    JSON: an object with file and settings, a list of path, value (null: not set), source (default, file,
    environment), line, variable and note.

    Exit status: 0 done; 2 invalid command line or file.
    """
    from tenure.cli.configuration.in_force import list_settings
    from tenure.cli.configuration.listing import as_yaml
    from tenure.process.configuration import KeyLines

    settings = list_settings(config, os.environ)
    if output is Output.JSON:
        items = [each.as_json() for each in settings]
        typer.echo(json.dumps({"file": str(config) if config else None, "settings": items}, indent=2))
        return
    for line in as_yaml(settings, KeyLines(config)):
        typer.echo(line)


@config_app.command()
def check(file: File, output: Form = Output.TABLE) -> None:
    """Check a configuration file, and list every error and warning with its line.

    A warning is about a valid setting whose effect may not be intended, such as a plugin that safety needs
    and that is off. Certificates, keys, tokens and other files that the file names are not read.

    JSON: an object with file, valid, errors and warnings, two lists of path, line (null: the whole file) and
    text.

    Exit status: 0 valid; 1 the server would reject the file; 2 invalid command line, or the file does not
    exist.
    """
    from tenure.cli.configuration.verdict import check_file

    verdict = check_file(file)
    if output is Output.JSON:
        found = {
            "file": str(file),
            "valid": not verdict.errors,
            "errors": [each._asdict() for each in verdict.errors],
            "warnings": [each._asdict() for each in verdict.warnings],
        }
        typer.echo(json.dumps(found, indent=2))
    else:
        _print(file, verdict.errors, "error")
        _print(file, verdict.warnings, "warning")
        typer.echo(f"{file}: {'invalid' if verdict.errors else 'valid'}.")
    if verdict.errors:
        raise typer.Exit(INVALID)


def _print(file: Path, findings: "tuple[Finding, ...]", kind: str) -> None:
    for finding in findings:
        place = f"{file}:{finding.line}" if finding.line else str(file)
        path = f"{finding.path}: " if finding.path else ""
        typer.echo(f"{place}: {kind}: {path}{finding.text}")
