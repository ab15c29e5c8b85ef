"""`tenure migrate`: set preemptibility explicitly in Kubernetes manifests."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.cli.exit_codes import INVALID_INPUT

if TYPE_CHECKING:
    from tenure.cli.migration import Plan

UNFINISHED: Final = 1
"""Exit code: manifests need attention, or would change."""


class MigrateOutput(StrEnum):
    """Output formats."""

    DIFF = "diff"
    JSON = "json"


Manifests = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|DIR", help="Manifest, or directory with .yaml, .yml and .json files at any depth."
    ),
]
Check = Annotated[
    bool, typer.Option("--check", help="Write nothing; exit with status 1 if a file would change.")
]
Classes = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Value of a priority class. Repeatable."),
]
Form = Annotated[MigrateOutput, typer.Option(help="Output format: diff, or JSON list of findings.")]


def migrate(
    path: Manifests, check: Check = False, priority_class: Classes = None, output: Form = MigrateOutput.DIFF
) -> None:
    """Set preemptibility explicitly in manifests.

    Changes objects whose preemptibility is derived from their priority.

    A priority below 100 means preemptible, any other non-preemptible. The value of a priority class is that
    of the PriorityClass objects in the manifests, else of --priority-class, else of the classes of KAI
    (train, build-preemptible, build, inference). Pod groups of KAI and workloads of Run:ai get the field
    spec.preemptibility, pod groups of Volcano the annotation kai.scheduler/preemptibility, all others a label
    of that name. Comments, order, quotes and line ends are preserved.

    Objects with an explicit value are not changed. Objects that need attention are listed with the fix.

    Exit status: 0 done; 1 manifests need attention, or --check found changes;
    2 invalid command line or file: nothing is written unless all files are readable.
    """
    from tenure.cli.migration import ManifestError, Status

    try:
        plan = _plan(path, priority_class or [])
        if not check:
            plan.write()
    except ManifestError as error:
        typer.echo(f"tenure: {error}", err=True)
        raise typer.Exit(INVALID_INPUT) from None
    _print(plan, output, written=not check)
    if plan.count(Status.ATTENTION) or (check and plan.count(Status.CHANGED)):
        raise typer.Exit(UNFINISHED)


def _plan(path: Path, options: list[str]) -> "Plan":
    from tenure.cli.migration import OptionError, parse_options, plan_migration

    try:
        return plan_migration(path, parse_options(options))
    except OptionError as error:
        raise typer.BadParameter(str(error), param_hint="--priority-class") from None


def _print(plan: "Plan", output: MigrateOutput, *, written: bool) -> None:
    from tenure.cli.migration.report import as_json, needs_attention, print_differences, summary
    from tenure.render.terminal import TerminalConsole
    from tenure.wire.violations import printable_lines

    if output is MigrateOutput.JSON:
        typer.echo(as_json(plan))
        return
    print_differences(plan, TerminalConsole(highlight=False))
    for line in needs_attention(plan):
        typer.echo(printable_lines(line))
    typer.echo(summary(plan, written=written))
