"""Which reader reads a trace: by `--format`, else by the name and the first lines of the file."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final

import yaml
from tenure.simulator.jobs import Trace, TraceError
from tenure.simulator.traces.csv_lines import check_header, plain_name, separator_problem
from tenure.simulator.traces.generated import generate
from tenure.simulator.traces.itp import COLUMNS as ITP_COLUMNS
from tenure.simulator.traces.itp import read_itp
from tenure.simulator.traces.openb import COLUMNS as OPENB_COLUMNS
from tenure.simulator.traces.openb import read_openb
from tenure.simulator.traces.own import REQUIRED_COLUMNS as OWN_COLUMNS
from tenure.simulator.traces.own import read_own
from tenure.simulator.traces.philly import COLUMNS as PHILLY_COLUMNS
from tenure.simulator.traces.philly import read_philly
from tenure.simulator.traces.spot import COLUMNS as SPOT_COLUMNS
from tenure.simulator.traces.spot import read_spot
from tenure.simulator.traces.swf import read_swf
from tenure.simulator.traces.text_file import read_text


class TraceFormat(StrEnum):
    """Formats of traces."""

    SWF = "swf"
    PHILLY = "philly"
    OPENB = "openb"
    SPOT = "spot"
    ITP = "itp"
    JOBS = "jobs"
    GENERATED = "generated"


_READERS: Final[dict[TraceFormat, Callable[[Iterable[str]], Trace]]] = {
    TraceFormat.SWF: read_swf,
    TraceFormat.PHILLY: read_philly,
    TraceFormat.OPENB: read_openb,
    TraceFormat.SPOT: read_spot,
    TraceFormat.ITP: read_itp,
    TraceFormat.JOBS: read_own,
}
_MARK_NOTE: Final = "The file begins with a byte order mark, which is skipped."
_NEAR: Final = 0.5
"""Part of the columns of a format from which on a file is taken for one of it."""
_SQLITE: Final = b"SQLite format 3\0"
_COLUMNS: Final = {
    TraceFormat.PHILLY: PHILLY_COLUMNS,
    TraceFormat.OPENB: OPENB_COLUMNS,
    TraceFormat.SPOT: SPOT_COLUMNS,
    TraceFormat.ITP: ITP_COLUMNS,
    TraceFormat.JOBS: OWN_COLUMNS,
}


def read_trace(
    path: Path, form: TraceFormat | None = None, seed: int | None = None
) -> tuple[TraceFormat, Trace]:
    """The format and the jobs of a file. `seed` replaces that of a description.

    Raises TraceError if the file cannot be read or has no job.
    """
    text, has_mark = read_text(path)
    found = form or _guess(path, text)
    try:
        if form in _COLUMNS and (problem := separator_problem(text.partition("\n")[0])):
            raise TraceError(problem)
        if found is TraceFormat.GENERATED:
            trace = generate(_parse_yaml(text), seed)
        else:
            trace = _READERS[found](text.splitlines())
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    if not trace.jobs:
        bad = trace.bad_lines[0] if trace.bad_lines else None
        first = f"; line {bad.line}: {bad.problem}" if bad else ""
        raise TraceError(f"{path}: no line is a job ({found} format){first}")
    return found, replace(trace, notes=(*trace.notes, _MARK_NOTE)) if has_mark else trace


def is_records(path: Path) -> bool:
    """Whether a file has records of decisions instead of jobs; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _parse_yaml(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TraceError(f"is not YAML: {str(error).splitlines()[0]}") from None


def _guess(path: Path, text: str) -> TraceFormat:
    if path.suffix in (".yaml", ".yml"):
        return TraceFormat.GENERATED
    if path.suffix == ".swf" or text.startswith(";"):
        return TraceFormat.SWF
    header = text.partition("\n")[0].strip()
    if problem := separator_problem(header):
        raise TraceError(f"{path}: {problem}")
    names = [name.strip().strip('"') for name in header.split(",")]
    for form, columns in _COLUMNS.items():
        if set(columns) <= set(names):
            return form
    plain = {plain_name(name) for name in names}
    shared = {
        form: sum(plain_name(name) in plain for name in columns) / len(columns)
        for form, columns in _COLUMNS.items()
    }
    nearest = max(shared, key=lambda form: shared[form])
    if shared[nearest] >= _NEAR:
        try:
            check_header(names, _COLUMNS[nearest])
        except TraceError as error:
            raise TraceError(f"{path}: {error} (format {nearest}; others: --format)") from None
    known = ", ".join(TraceFormat)
    raise TraceError(
        f"{path}: cannot infer the format from its first line; a CSV with the columns "
        f"{','.join(OWN_COLUMNS)} can be played; else use --format with one of {known}"
    )
