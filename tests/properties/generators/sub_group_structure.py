"""Structure of a random pod group: one gang, sub groups, or nested sub groups."""

from typing import Any, NamedTuple

from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import GroupOptions

from tests.properties.generators.draw import Draw


class SubGroupStructure(NamedTuple):
    """Sub group tree of a pod group, and its pods in start order."""

    minimum: GroupOptions
    """Minimum of the pod group itself."""
    sub_groups: tuple[tuple[str, dict[str, Any]], ...]
    pods: tuple[str, ...]
    """Sub group of every pod. Empty if there are none."""
    needed: int
    """Number of first pods that meet the minimum of the pod group."""

    def add_to(self, builder: ClusterBuilder, name: str) -> None:
        """Add the sub groups to the pod group of this name."""
        for part, options in self.sub_groups:
            builder.sub_group(name, part, **options)


def random_structure(draw: Draw, count: int, *, is_elastic: bool) -> SubGroupStructure:
    """Draw a tree for this many pods. An elastic pod group needs fewer of them if possible."""
    if count == 1 or not draw.chance(35):
        minimum = _minimum(draw, count, is_elastic)
        return SubGroupStructure({"min_member": minimum}, (), ("",) * count, minimum)
    is_nested = count > 2 and draw.chance(40)
    required: GroupOptions = {"min_sub_groups": 1} if draw.chance(40) else {}
    parent = "teams" if is_nested else ""
    pair = _pair(draw, count - is_nested, parent, is_elastic, is_one_enough=bool(required))
    if not is_nested:
        return pair._replace(minimum=required)
    around = (("lead", {"min_member": 1}), ("teams", dict(required)))
    return SubGroupStructure({}, around + pair.sub_groups, ("lead", *pair.pods), 1 + pair.needed)


def _minimum(draw: Draw, count: int, is_elastic: bool) -> int:
    less = max(1, count - 1)
    return draw.choice((1, less) if is_elastic else (count, count, 1, less))


def _pair(draw: Draw, count: int, parent: str, is_elastic: bool, *, is_one_enough: bool) -> SubGroupStructure:
    """Two leaves with a common parent."""
    first = draw.integer(1, count - 1)
    sizes = (first, count - first)
    minimums = [_minimum(draw, size, is_elastic) for size in sizes]
    leaves = tuple(
        (f"part{number}", {"parent": parent, "min_member": minimum})
        for number, minimum in enumerate(minimums)
    )
    pods = ("part0",) * sizes[0] + ("part1",) * sizes[1]
    needed = minimums[0] if is_one_enough else sizes[0] + minimums[1]
    return SubGroupStructure({}, leaves, pods, needed)
