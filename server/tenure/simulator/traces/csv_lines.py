"""CSV files line by line: a bad line is named and left out, the rest is read."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from tenure.simulator.jobs import BadLine, Job, Trace, TraceError, in_order


def read_csv(
    lines: Iterable[str],
    columns: Sequence[str],
    read: Callable[[int, Mapping[str, str]], Job | None],
    notes: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Trace:
    """Jobs of a CSV file with a header line that has at least these columns, perhaps those that are optional.

    `read` gets the number of the line and its values, without spaces around them; it returns None for a line
    without a job, and raises ValueError for a bad one. Other columns are ignored, and named in a note. Raises
    TraceError if the header lacks a column.
    """
    rows = csv.DictReader(lines)
    try:
        rows.fieldnames = found = [name.strip() for name in rows.fieldnames or ()]
    except csv.Error as error:
        raise TraceError(f"line 1 is not CSV: {error}") from None
    check_header(found, columns)
    if ignored := [name for name in found if name and name not in columns and name not in optional]:
        notes = (*notes, f"Columns that are not played: {', '.join(ignored)}.")
    jobs: list[Job] = []
    bad: list[BadLine] = []
    names: dict[str, int] = {}
    while True:
        try:
            row = next(rows)
            if None in row or None in row.values():
                raise ValueError(f"has not the {len(found)} values of the header")
            job = read(rows.line_num, {name: value.strip() for name, value in row.items()})
            if job is not None:
                if (earlier := names.setdefault(job.name, rows.line_num)) != rows.line_num:
                    raise ValueError(f"the name {job.name!r} is already used in line {earlier}")
                jobs.append(job)
        except StopIteration:
            return Trace(in_order(jobs), bad, notes)
        except (ValueError, csv.Error) as error:
            bad.append(BadLine(rows.line_num, str(error)))


def check_header(found: Sequence[str], columns: Sequence[str]) -> None:
    """Raise TraceError if a column is missing or written twice."""
    if twice := [name for name, count in Counter(found).items() if name and count > 1]:
        raise TraceError(f"line 1 has the column {twice[0]} more than once")
    missing = [name for name in columns if name not in found]
    if not missing:
        return
    near = {name: [each for each in found if plain_name(each) == plain_name(name)] for name in missing}
    hints = [f"{name} is written {names[0]!r}" for name, names in near.items() if names]
    hint = f" ({'; '.join(hints)})" if hints else ""
    raise TraceError(f"line 1 has no column {', '.join(missing)}{hint}; expected {','.join(columns)}")


def plain_name(name: str) -> str:
    """The name of a column as it may have been meant."""
    return name.lower().replace(" ", "_").replace("-", "_")


def separator_problem(header: str) -> str:
    """What is wrong with a header whose values are not separated by commas; empty: nothing."""
    for sign, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")):
        if sign in header and "," not in header:
            return f"line 1 is separated by {name}; separate values by commas"
    return ""
