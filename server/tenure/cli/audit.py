"""`tenure audit verify`: check that an audit file is complete and was not changed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.process.options import Output

if TYPE_CHECKING:
    from tenure.server.audit.verify import Verification

BROKEN: Final = 1
"""Exit code: lines were changed, removed or inserted."""

audit_app = typer.Typer(help="Check the audit files of a server.", no_args_is_help=True)

AuditFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Audit files of one log, the oldest first.")
]


@audit_app.command()
def verify(
    files: AuditFiles,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
) -> None:
    """Check that every line has the digest of the line before, and that no number is missing.

    Full files beside a file, FILE.NUMBER, are checked before it, without being named.

    The server may be running. Lines that were removed at the end leave no trace in the file: compare the
    last digest with one that you stored elsewhere.

    JSON: an object with these keys.

    \b
      lines                     number of lines
      first_sequence            number of the first line; more than 1: earlier files are missing
      last_sequence, last_digest   number and digest of the last line
      lost                      calls that the server could not write, as its lines state
      problem_count             number of problems
      problems                  the first 20: file, line, description

    Exit status: 0 intact; 1 lines were changed, removed or inserted; 2 invalid command line or file.
    """
    from tenure.server.audit.chain_file import full_files
    from tenure.server.audit.verify import verify as verify_files

    with_full = dict.fromkeys(each for file in files for each in (*full_files(file), file))
    result = verify_files(with_full)
    if output is Output.JSON:
        problems = [problem._asdict() for problem in result.problems]
        typer.echo(json.dumps({**result._asdict(), "problems": problems}, indent=2))
    else:
        _print(result)
    if result.problem_count:
        raise typer.Exit(BROKEN)


def _print(result: "Verification") -> None:
    for problem in result.problems:
        typer.echo(f"{problem.file}, line {problem.line}: {problem.description}")
    if not result.lines:
        typer.echo("No lines.")
        return
    verdict = f"{result.problem_count:,} problems" if result.problem_count else "intact"
    typer.echo(f"{result.lines:,} lines, {result.first_sequence} to {result.last_sequence}: {verdict}.")
    if (result.first_sequence or 0) > 1:
        typer.echo("The first line continues an earlier file, which was not given.")
    if result.lost:
        typer.echo(f"{result.lost:,} calls have no line, because the file could not be written.")
    typer.echo(f"Last digest: {result.last_digest}")
