"""The command line `tenure`. Commands import their dependencies when they run, so that help is quick."""

import gc
from importlib.metadata import entry_points
from typing import Annotated, Final

import typer
from tenure.cli.audit import audit_app
from tenure.cli.configuration.commands import config_app
from tenure.cli.decide import decide
from tenure.cli.demo import demo
from tenure.cli.exit_codes import report_errors
from tenure.cli.explain import explain
from tenure.cli.importers.commands import import_app
from tenure.cli.migrate import migrate
from tenure.cli.records import records
from tenure.cli.redact import redact
from tenure.cli.replay import replay
from tenure.cli.serve import serve
from tenure.cli.simulate import simulate
from tenure.cli.workloads import workloads
from tenure.process.version import package_version

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
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"tenure {package_version()}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options before the command."""


app.command()(demo)
app.command()(decide)
app.command()(workloads)
app.command()(simulate)
app.command()(explain)
app.command()(serve)
app.command()(records)
app.command()(replay)
app.command()(redact)
app.command()(migrate)
app.add_typer(import_app, name="import")
app.add_typer(audit_app, name="audit")
app.add_typer(config_app, name="config")
for _entry in sorted(entry_points(group="tenure.commands"), key=lambda entry: entry.name):
    app.command(_entry.name)(_entry.load())


def main() -> None:
    """Run the command that the process was started with."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    with report_errors():
        app()
