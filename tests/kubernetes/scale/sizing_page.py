"""The figures of docs/operate/sizing.md, written between two marks of the page for each cluster size."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.kubernetes.scale.large_cluster import ClusterSize
from tests.kubernetes.scale.measurement import Measurement

PAGE: Final = Path(__file__).parents[3] / "docs" / "operate" / "sizing.md"
END: Final = "<!-- end of figures -->\n"


def begin(size: ClusterSize) -> str:
    """Return the mark before the figures of a cluster size."""
    return f"<!-- figures: {size.nodes} nodes, {size.pods} pods; python -m tests adapter-scale -->\n"


def render_page(
    page: str, size: ClusterSize, tables: Mapping[str, Sequence[Measurement]], load_average: float
) -> str:
    """Replace the figures of this cluster size. Raises ValueError if the page has no place for them."""
    before, mark, rest = page.partition(begin(size))
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{PAGE.name} has no place for figures: {begin(size).strip()}")
    rows = [("when", "what", "measured"), ("---", "---", "---:")]
    for name, figures in tables.items():
        rows += [
            ("" if number else name, figure.what, shown(figure)) for number, figure in enumerate(figures)
        ]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    note = f"Load average at the end of the measurement: {load_average:.1f}.\n"
    return f"{before}{mark}\n{table}\n{note}\n{END}{after}"


def shown(figure: Measurement) -> str:
    """Return a figure with its unit."""
    value = f"{figure.value:,.2f}" if figure.unit == "s" else f"{figure.value:,.0f}"
    return f"{value} {figure.unit}".rstrip()
