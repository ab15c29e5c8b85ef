"""With method `lca`, values below the lowest common ancestor's children do not affect other subtrees."""

from itertools import product

import pytest

from tests.solver.plugins.guards.min_runtime.contested_gpu import evicted_pods, profile, reclaim_cluster, tree

PARENTS = {"org": "", "a": "org", "a1": "a", "a2": "a", "b": "org", "b1": "b", "far": "", "far1": "far"}
VALUES = (None, "0s", "2h")

METHODS = {
    "R7.3 no method is lca": {},
    "lca": {"reclaimResolveMethod": "lca"},
    "queue": {"reclaimResolveMethod": "queue"},
}
BY_LCA: dict[str, tuple[str, list[str]]] = {
    "R7.12 a cousin asks: only the department's value": ("b1", ["old-0"]),
    "R7.12 a sibling asks: the leaf's own value": ("a2", []),
    "R7.12.1 another top level asks: only the top's value": ("far1", ["old-0"]),
}


@pytest.mark.parametrize(("reclaimer", "by_lca"), BY_LCA.values(), ids=BY_LCA)
@pytest.mark.parametrize("method", METHODS)
def test_scope_of_a_leaf_value_depends_on_the_method(reclaimer: str, by_lca: list[str], method: str) -> None:
    """Only the leaf has a value, two hours. With method `queue` it applies to every reclaimer."""
    cluster = reclaim_cluster(tree(PARENTS, rich=reclaimer, reclaim={"a1": "2h"}), reclaimer, "a1", "1h")
    expected = [] if method == "queue" else by_lca
    assert evicted_pods(cluster, profile(**METHODS[method])) == expected


@pytest.mark.parametrize(
    ("department", "expected"), [("2h", []), ("1m", ["old-0"])], ids=["protected", "not protected"]
)
@pytest.mark.parametrize("inside", list(product(VALUES, VALUES)), ids=str)
def test_values_within_a_department_do_not_affect_other_departments_r7_12(
    department: str, expected: list[str], inside: tuple[str | None, str | None]
) -> None:
    """The value of the department applies to a cousin, whatever its descendants set."""
    values = {"a": department, **{leaf: v for leaf, v in zip(("a1", "a2"), inside, strict=True) if v}}
    assert (
        evicted_pods(reclaim_cluster(tree(PARENTS, rich="b1", reclaim=values), "b1", "a1", "1h")) == expected
    )


TOPS = {
    "R7.12.1 the victim's top level has a value": ({"org": "2h"}, "1m", []),
    "R7.12.1 it has none: the default, not what is below": ({"a": "1m", "a1": "1m"}, "2h", []),
    "R7.12.1 the asking side's values do not matter": ({"far": "2h", "far1": "2h"}, "1m", ["old-0"]),
    "R7.13 an explicit 0 at the top ends the search": ({"org": "0s"}, "2h", ["old-0"]),
}


@pytest.mark.parametrize(("values", "default", "expected"), TOPS.values(), ids=TOPS)
def test_trees_without_a_common_root_meet_at_the_victim_s_top_level(
    values: dict[str, str], default: str, expected: list[str]
) -> None:
    cluster = reclaim_cluster(tree(PARENTS, rich="far1", reclaim=values), "far1", "a1", "1h")
    assert evicted_pods(cluster, profile(defaultReclaimMinRuntime=default)) == expected
