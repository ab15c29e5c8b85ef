"""Pods are bound to nodes that kube-scheduler would bind them to, in random clusters (`feasible-nodes`)."""

import os

import pytest

from tests.kubernetes.feasible_nodes.command import DRAWS, compare, judge_start
from tests.kubernetes.feasible_nodes.kube_filters import run_kube_filters
from tests.tools.catalog import KUBE_FILTERS

FIRST = 100_000
"""Other clusters than those of the check."""
CLUSTERS = 40
MISSING = "the filters of kube-scheduler are missing: `python -m tests build kube-filters`"


@pytest.mark.kube
def test_feasible_nodes_are_those_of_kube_scheduler() -> None:
    if not KUBE_FILTERS.exists():
        (pytest.fail if os.environ.get("REQUIRE_KUBE") == "1" else pytest.skip)(MISSING)
    with run_kube_filters() as filters:
        found = [compare(filters, FIRST + i, draws) for i in range(CLUSTERS) for draws in DRAWS]
        starts = [judge_start(filters, FIRST + i) for i in range(2 * CLUSTERS)]
    assert [line for one in found for line in one.different] == []
    assert [line for _, lines in starts for line in lines] == []
    assert sum(is_started for is_started, _ in starts) > CLUSTERS // 4
    assert len({reason for one in found for reason in one.rejections}) > 5
    assert sum(one.has_choice for one in found) > CLUSTERS // 2
