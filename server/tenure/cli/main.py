"""The command line `tenure`. Commands import their dependencies when they run, so that help is quick."""

import gc
import os
from collections.abc import Callable
from typing import Annotated, Final

import typer
from tenure.cli.audit import audit_app
from tenure.cli.configuration.commands import config_app
from tenure.cli.decide import decide
from tenure.cli.exit_codes import INVALID_INPUT, report_errors
from tenure.cli.explain import explain
from tenure.cli.importers.commands import import_app
from tenure.cli.live.console import console
from tenure.cli.live.demo import demo
from tenure.cli.migrate import migrate
from tenure.cli.play.command import play
from tenure.cli.records import records
from tenure.cli.redact import redact
from tenure.cli.replay import replay
from tenure.cli.serve import serve
from tenure.cli.simulate import simulate
from tenure.cli.sweep.command import sweep
from tenure.cli.workloads import workloads
from tenure.process.entry_points import check_callable, load_group
from tenure.process.printable_output import printable_output
from tenure.process.version import is_compiled, package_version

_KEPT: Final = "\t" if "_TENURE_COMPLETE" in os.environ else ""
"""Shells read a candidate and its description, separated by a tab."""
_OBJECTS_PER_COLLECTION: Final = 50_000
"""Garbage collection threshold. A snapshot has millions of small objects without cycles, so collecting less
often saves a quarter of the time.
"""

app = typer.Typer(
    help="Tenure: scheduling decisions with runtime guarantees.",
    epilog="Exit status: 0 done; 1 manifests need attention (migrate), decisions differ (replay), lines were "
    "changed (audit verify) or a configuration is invalid (config check); 2 invalid command line or input; "
    "3 the server failed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        form = "compiled" if is_compiled("tenure.solver.cycle") else "interpreted"
        typer.echo(f"tenure {package_version()} (solver: {form})")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version, and whether the solver is compiled, and exit.",
        ),
    ] = False,
) -> None:
    """Options before the command."""


def _failed_command(problem: str) -> Callable[[], None]:
    """A command in place of one that cannot be loaded: the others work, and this one says why it does not."""

    def fail() -> None:
        typer.echo(f"tenure: {problem}", err=True)
        raise typer.Exit(INVALID_INPUT)

    fail.__doc__ = f"Not available: {problem}"
    return fail


_ANY_ARGUMENTS: Final = {"allow_extra_args": True, "ignore_unknown_options": True}

app.command()(demo)
app.command()(decide)
app.command()(workloads)
app.command()(simulate)
app.command()(explain)
app.command()(play)
app.command()(sweep)
app.command()(serve)
app.command()(console)
app.command()(records)
app.command()(replay)
app.command()(redact)
app.command()(migrate)
app.add_typer(import_app, name="import")
app.add_typer(audit_app, name="audit")
app.add_typer(config_app, name="config")
_commands = load_group("tenure.commands", check_callable)
for _name, _command in _commands.found.items():
    app.command(_name)(_command)
for _name, _problem in _commands.failures.items():
    app.command(_name, context_settings=_ANY_ARGUMENTS)(_failed_command(_problem))


def main() -> None:
    """Run the command that the process was started with."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    with printable_output(_KEPT), report_errors():
        app()
