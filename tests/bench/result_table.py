"""Tables of results: times, a comparison with earlier results, and the growth of time with size."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

Rows = Sequence[Mapping[str, Any]]


def results(rows: Rows) -> Table:
    """One row for each case and mode. Times are in milliseconds, server memory in MiB."""
    titles = ("case", "way", "runs", "median", "min", "p99", "CPU", "server", "load", "stolen")
    table = Table(*titles, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(
            row["case"],
            row["way"],
            str(row["runs"]),
            _ms(row["median_ms"]),
            _ms(row["min_ms"]),
            _ms(row["p99_ms"]) if row["runs"] >= 100 else "",
            _ms(row["cpu_median_ms"]),
            "" if row["server_mib"] is None else f"{row['server_mib']:.0f}",
            f"{row['load']:.1f}",
            f"{row['stolen_share']:.0%}",
        )
    return table


def comparison(rows: Rows, earlier: Rows) -> Table:
    """Median times and lowest processor times of both, and the speedup by processor time."""
    table = Table("case", "way", "median before", "now", "CPU before", "now", "times as fast")
    before = {(row["case"], row["way"]): row for row in earlier}
    for row in rows:
        then = before.get((row["case"], row["way"]))
        if then is not None:
            times = (then["median_ms"], row["median_ms"], then["cpu_min_ms"], row["cpu_min_ms"])
            ratio = f"{then['cpu_min_ms'] / row['cpu_min_ms']:.2f}"
            table.add_row(row["case"], row["way"], *map(_ms, times), ratio)
    return table


def growth(rows: Rows) -> dict[str, float]:
    """The exponent of time over size, by workload and mode, if there are three sizes of at least 100."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        workload, _, size = row["case"].partition("@")
        if size.isdecimal() and int(size) >= 100:
            point = math.log(int(size)), math.log(row["median_ms"])
            points.setdefault(f"{workload} {row['way']}", []).append(point)
    return {name: _slope(found) for name, found in points.items() if len(found) >= 3}


def exceeded(rows: Rows, max_growth: float, max_server: float) -> list[str]:
    """What is above the limits, in sentences: exponents, and memory of servers in MiB."""
    powers = [
        f"{name}: time grows with size to the power of {power:.2f}; the limit is {max_growth}"
        for name, power in growth(rows).items()
        if power > max_growth
    ]
    servers = [(f"{row['case']} {row['way']}", row["server_mib"] or 0) for row in rows]
    return powers + [
        f"{name}: the server took {taken:.0f} MiB; the limit is {max_server}"
        for name, taken in servers
        if taken > max_server
    ]


def _slope(points: Iterable[tuple[float, float]]) -> float:
    """Slope of the least-squares line."""
    xs, ys = zip(*points, strict=True)
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    rise = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - x_mean) ** 2 for x in xs)


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
