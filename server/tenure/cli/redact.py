"""`tenure redact`: anonymize a snapshot."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.cli.options import Form, SnapshotFile, SnapshotFormat

if TYPE_CHECKING:
    from tenure.client.snapshot_file import Format


def redact(
    snapshot: SnapshotFile,
    output: Annotated[
        str,
        typer.Option(metavar="FILE", help="File for the redacted snapshot; - is standard output."),
    ],
    name_map: Annotated[
        Path | None,
        typer.Option(
            "--name-map",
            metavar="FILE",
            help="File for the new and old names (JSON), readable by its owner only. Do not share it.",
        ),
    ] = None,
    form: Form = None,
) -> None:
    """Anonymize a snapshot so that you can share it.

    Nodes, queues, pod groups, pods, namespaces, labels, taints and other objects get new names in the order
    of the old ones, so decisions on the result equal those on SNAPSHOT except for names. Amounts, times,
    priorities and names defined by Tenure or Kubernetes are preserved.

    SNAPSHOT and --output are JSON, YAML, text or binary protobuf, by file name extension; standard output has
    the format of SNAPSHOT.

    For example: tenure redact cluster.yaml --output redacted.yaml --name-map names.json

    Exit status: 0 written; 2 invalid command line, file or snapshot; 3 internal error.
    """
    from tenure.cli.redaction import redact as redacted
    from tenure.client.snapshot_file import STANDARD_STREAM, Format, read_snapshot, write_snapshot

    given = Format(form) if form else None
    written = _format(output, snapshot, form)
    _check_apart(snapshot, output, name_map)
    result = redacted(read_snapshot(snapshot, given))
    if name_map:
        _write_names(name_map, result.names)
    write_snapshot(result.snapshot, output, written)
    count = sum(map(len, result.names.values()))
    typer.echo(f"{output}: {count:,} names replaced", err=output == STANDARD_STREAM)


def _format(output: str, snapshot: str, form: SnapshotFormat | None) -> "Format":
    """Format by the name of the output; for standard output that of the snapshot."""
    from tenure.client.snapshot_file import STANDARD_STREAM, Format, format_of

    if output != STANDARD_STREAM:
        return format_of(output)
    return Format(form) if form else format_of(snapshot)


def _check_apart(snapshot: str, output: str, names: Path | None) -> None:
    """Reject outputs that would overwrite the snapshot or each other."""
    read, written = Path(snapshot).resolve(), Path(output).resolve()
    if written == read and snapshot != "-":
        raise typer.BadParameter("would overwrite SNAPSHOT", param_hint="--output")
    if names and names.resolve() in (read, written):
        raise typer.BadParameter("must differ from SNAPSHOT and --output", param_hint="--name-map")


def _write_names(file: Path, names: Mapping[str, Mapping[str, str]]) -> None:
    """Write a file that only its owner can read."""
    import json

    from tenure.client.snapshot_file import SnapshotFileError

    own = stat.S_IRUSR | stat.S_IWUSR
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, own), "w", encoding="utf-8") as stream:
            os.fchmod(stream.fileno(), own)
            json.dump(names, stream, indent=2, ensure_ascii=False)
            stream.write("\n")
    except OSError as error:
        raise SnapshotFileError(str(file), [f"cannot be written: {error.strerror}"]) from None
