"""The report of a run: tables on standard output, or one JSON object."""

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from tests.conformance.results import COUNTED_APART, CaseResult, PassCount, Report


def print_report(report: Report, list_failures: bool) -> None:
    """Print tables by feature tag and by group, the cases counted separately, and the unmapped cases."""
    console = Console(highlight=False, soft_wrap=True)
    if list_failures:
        for failure in report.failures:
            _print_failure(console, failure)
    console.print(_score_table("feature tag", report.by_tag))
    console.print(_score_table("group", report.by_group))
    if report.counted_apart.total:
        score = report.counted_apart
        console.print(f"{COUNTED_APART}, counted apart: {score.passed} of {score.total} match")
    if report.unmapped:
        console.print(_unmapped_line(report))


def as_json(report: Report) -> str:
    """Return the same figures as a JSON object, with all failures."""
    content = {
        "passed": report.total.passed,
        "failed": report.total.failed,
        COUNTED_APART: asdict(report.counted_apart),
        "unmapped": report.unmapped,
        "unmapped_calls": report.unmapped_calls,
        "groups": {name: asdict(score) for name, score in report.by_group.items()},
        "tags": {name: asdict(score) for name, score in report.by_tag.items()},
        "failures": [
            {"id": failure.id, "group": failure.group, "differences": list(failure.details)}
            for failure in report.failures
        ],
    }
    return json.dumps(content, indent=2) + "\n"


def _print_failure(console: Console, failure: CaseResult) -> None:
    console.print(f"[bold]{failure.id}[/bold] ({failure.group})")
    for detail in failure.details:
        console.print(f"    {detail}", markup=False)


def _score_table(heading: str, scores: dict[str, PassCount]) -> Table:
    table = Table(heading, "passed/total", "failed", box=None, pad_edge=False)
    for name, score in scores.items():
        table.add_row(name, str(score), str(score.failed) if score.failed else "")
    return table


def _unmapped_line(report: Report) -> str:
    kinds = ", ".join(f"{kind} {count}" for kind, count in report.unmapped.items())
    calls = ", ".join(f"{call} {count}" for call, count in report.unmapped_calls.items())
    return f"unmapped: {sum(report.unmapped.values())} unit cases ({kinds}); calls: {calls}"
