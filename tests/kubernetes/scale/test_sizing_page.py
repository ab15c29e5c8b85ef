"""Figures of `adapter-scale` replace those on the page, for each size that the page has a place for."""

import pytest

from tests.kubernetes.scale.large_cluster import ClusterSize
from tests.kubernetes.scale.measurement import Measurement
from tests.kubernetes.scale.sizing_page import END, PAGE, begin, render_page

SMALL = ClusterSize(2, 20)
FIGURES = {
    "first": [Measurement("pods listed", 1.234, "s"), Measurement("binding", 0.5, "s")],
    "after it": [Measurement("memory, adapter", 99.6, "MiB")],
}


def test_figures_replace_earlier_ones_between_the_marks() -> None:
    page = f"before\n{begin(SMALL)}\nold\n{END}after\n"
    assert render_page(page, SMALL, FIGURES, 0.25) == (
        f"before\n{begin(SMALL)}\n"
        "| when | what | measured |\n| --- | --- | ---: |\n"
        "| first | pods listed | 1.23 s |\n|  | binding | 0.50 s |\n"
        "| after it | memory, adapter | 100 MiB |\n"
        "\nLoad average at the end of the measurement: 0.2.\n"
        f"\n{END}after\n"
    )


@pytest.mark.parametrize("size", [ClusterSize(1_000, 10_000), ClusterSize(5_000, 50_000)])
def test_page_has_a_place_for_both_sizes(size: ClusterSize) -> None:
    once = render_page(PAGE.read_text(), size, FIGURES, 1.0)
    assert render_page(once, size, FIGURES, 1.0) == once


def test_other_sizes_have_no_place() -> None:
    with pytest.raises(ValueError, match="no place for figures: <!-- figures: 2 nodes, 20 pods"):
        render_page(PAGE.read_text(), SMALL, FIGURES, 1.0)
