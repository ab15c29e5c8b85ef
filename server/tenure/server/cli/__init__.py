"""The command line `tenure`. Commands import what they need when they run, so that help is quick."""

import gc
from typing import Final

import typer
from tenure.server.cli.adapter import adapter
from tenure.server.cli.capture import capture
from tenure.server.cli.decide import decide
from tenure.server.cli.demo import demo
from tenure.server.cli.explain import explain
from tenure.server.cli.failures import failures_told
from tenure.server.cli.importing import import_app
from tenure.server.cli.migrate import migrate
from tenure.server.cli.records import records
from tenure.server.cli.redact import redact
from tenure.server.cli.replay import replay
from tenure.server.cli.serve import serve
from tenure.server.cli.simulate import simulate
from tenure.server.cli.workloads import workloads

_OBJECTS_PER_COLLECTION: Final = 50_000
"""A snapshot is millions of small objects without cycles: looking for garbage less often saves a quarter."""

app = typer.Typer(
    help="Tenure: scheduling decisions with runtime guarantees.",
    epilog="Exit codes: 0 done; 1 manifests need work (migrate), or decisions differ (replay); "
    "2 the command line or an input must be mended; 3 the server failed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command()(decide)
app.command()(workloads)
app.command()(simulate)
app.command()(explain)
app.command()(serve)
app.command()(adapter)
app.command()(records)
app.command()(replay)
app.command()(redact)
app.command()(migrate)
app.command()(capture)
app.add_typer(import_app, name="import")


def main() -> None:
    """Run the command that the process was started with."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    with failures_told():
        app()
