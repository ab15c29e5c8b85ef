"""The figures of docs/internals/performance.md, written between two marks of the page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench.reference_figures import PUBLISHED_MS, TWO_CORES_MS
from tests.bench.workloads.case import CallMode

PAGE: Final = Path(__file__).parents[2] / "docs" / "internals" / "performance.md"
BEGIN: Final = "<!-- figures: written by make bench -->\n"
END: Final = "<!-- end of figures -->\n"
_COLUMNS: Final = (
    CallMode.DECIDE,
    CallMode.COLD,
    CallMode.WARM,
    CallMode.AGAIN,
    CallMode.CHURN,
    CallMode.WHAT_IF,
    CallMode.PLAY,
    CallMode.STARTS,
)
_PERCENTILES: Final = 100
"""Minimum number of runs for a 99th percentile."""

Row = Mapping[str, Any]


def render_page(page: str, rows: Sequence[Row], growth: Mapping[str, float]) -> str:
    """Replace the results on the page with these."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no place for figures: {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{_table(rows)}\n{_notes(rows, growth)}\n{END}{after}"


def _table(rows: Sequence[Row]) -> str:
    by_case: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault(row["case"], {})[row["way"]] = row
    titles = ("row", "published", "two cores", *_COLUMNS, "server")
    lines = [titles, ("---", *["---:"] * (len(titles) - 1))]
    for case, found in by_case.items():
        times = [_time(found.get(way)) for way in _COLUMNS]
        reference = [_ms(known.get(case)) for known in (PUBLISHED_MS, TWO_CORES_MS)]
        lines.append((case, *reference, *times, _memory(found.values())))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _notes(rows: Sequence[Row], growth: Mapping[str, float]) -> str:
    loads, runs, stolen = ([row[name] for row in rows] for name in ("load", "runs", "stolen_share"))
    notes = [
        f"Medians of at least {min(runs)} runs; from {_PERCENTILES} runs on, the 99th percentile follows"
        f"{_batched_notes(rows)}. "
        f"Load average during the measurement: {min(loads):.1f} to {max(loads):.1f}. Processor time that the "
        f"host gave to other machines: {min(stolen):.0%} to {max(stolen):.0%}.\n"
    ]
    if growth:
        powers = ", ".join(f"{name} {exponent:.2f}" for name, exponent in growth.items())
        notes.append(f"\nGrowth exponents of time by number of nodes: {powers}.\n")
    return "".join(notes)


def _batched_notes(rows: Sequence[Row]) -> str:
    several = max(len(row["tails_ms"]) for row in rows)
    return f" ({CallMode.CHURN}: the median of {several} runs on separate servers)" if several else ""


def _time(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{_ms(row['median_ms'])}" + (f" / {_ms(row['p99_ms'])}" if row["runs"] >= _PERCENTILES else "")


def _memory(rows: Any) -> str:
    most = max((row["server_mib"] or 0 for row in rows), default=0)
    return f"{most:.0f} MiB" if most else ""


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value / 1_000:,.3g} s" if value >= 1_000 else f"{value:.3g} ms"
