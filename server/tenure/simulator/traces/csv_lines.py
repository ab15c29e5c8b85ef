"""CSV files line by line: a bad line is named and left out, the rest is read."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence

from tenure.simulator.jobs import BadLine, Job, Trace, TraceError, in_order


def read_csv(
    lines: Iterable[str],
    columns: Sequence[str],
    read: Callable[[int, Mapping[str, str]], Job | None],
    notes: Sequence[str] = (),
) -> Trace:
    """Jobs of a CSV file with a header line that has at least these columns.

    `read` gets the number of the line and its values; it returns None for a line without a job, and raises
    ValueError for a bad one. Raises TraceError if the header lacks a column.
    """
    rows = csv.DictReader(lines)
    try:
        found = rows.fieldnames or []
    except csv.Error as error:
        raise TraceError(f"line 1 is not CSV: {error}") from None
    if missing := [name for name in columns if name not in found]:
        raise TraceError(f"line 1 has no column {', '.join(missing)}; expected {','.join(columns)}")
    jobs: list[Job] = []
    bad: list[BadLine] = []
    names: dict[str, int] = {}
    while True:
        try:
            row = next(rows)
            if None in row or None in row.values():
                raise ValueError(f"has not the {len(found)} values of the header")
            job = read(rows.line_num, row)
            if job is not None:
                if (earlier := names.setdefault(job.name, rows.line_num)) != rows.line_num:
                    raise ValueError(f"the name {job.name!r} is already used in line {earlier}")
                jobs.append(job)
        except StopIteration:
            return Trace(in_order(jobs), bad, notes)
        except (ValueError, csv.Error) as error:
            bad.append(BadLine(rows.line_num, str(error)))
