"""`tenure migrate`: manifests that say themselves whether a workload may be interrupted."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.cli.exit_codes import INVALID_INPUT

if TYPE_CHECKING:
    from tenure.cli.migration import Plan

UNFINISHED: Final = 1
"""Exit code: something needs attention, or would change."""


class MigrateOutput(StrEnum):
    """How the findings are printed."""

    DIFF = "diff"
    JSON = "json"


Manifests = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|DIR", help="A manifest, or a directory with .yaml, .yml and .json files at any depth."
    ),
]
Check = Annotated[
    bool, typer.Option("--check", help="Change nothing; exit with 1 if there is anything to do.")
]
Classes = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Value of a priority class; repeat it for several."),
]
Form = Annotated[MigrateOutput, typer.Option(help="Output format: a diff, or a JSON list of findings.")]


def migrate(
    path: Manifests, check: Check = False, priority_class: Classes = None, output: Form = MigrateOutput.DIFF
) -> None:
    """Write into Kubernetes manifests whether each workload may be interrupted, where priority decides now.

    A priority below 100 means preemptible, any other non-preemptible. The value of a priority class comes
    from the PriorityClass objects among the manifests, then from --priority-class, then from the classes
    that KAI comes with (train, build-preemptible, build, inference). Pod groups of KAI and workloads of
    Run:ai get the field spec.preemptibility, pod groups of Volcano the annotation
    kai.scheduler/preemptibility, all others a label of that name. Comments, order, quotes and line ends stay.

    What says it already is left alone. What cannot be decided is listed, with what to write.

    Exit status: 0 nothing is left to do; 1 something needs attention, or --check found something to change;
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
    from rich.console import Console
    from tenure.cli.migration.report import as_json, needs_attention, print_differences, summary

    if output is MigrateOutput.JSON:
        typer.echo(as_json(plan))
        return
    print_differences(plan, Console(highlight=False))
    for line in needs_attention(plan):
        typer.echo(line)
    typer.echo(summary(plan, written=written))
