"""Soundness of trees that are given as flat lists: queues, and the sub groups of a pod group."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tenure.server.codec.limits import MAX_DEPTH
from tenure.server.codec.violations import shown

_NAMES_OF_A_CYCLE: Final = 4


def tree_problems(entries: Sequence[tuple[str, str]]) -> dict[int, str]:
    """What is wrong with the parents of (name, parent) pairs, by position; an empty parent is the top.

    Wrong are unknown parents, every entry of a cycle, and what is deeper than MAX_DEPTH. An entry that
    merely hangs below such a one is not. Takes time in proportion to the entries, however deep the tree.
    """
    positions = {name: i for i, (name, _) in reversed(list(enumerate(entries)))}
    parents = [positions.get(parent) if parent else None for _, parent in entries]
    problems = {
        i: f"{shown(parent)} does not exist"
        for i, (_, parent) in enumerate(entries)
        if parent and parents[i] is None
    }
    depths = _depths(parents)
    problems |= {i: f"is more than {MAX_DEPTH} levels deep" for i, d in enumerate(depths) if d > MAX_DEPTH}
    above = {i: parent for i, parent in enumerate(parents) if parent is not None and not depths[i]}
    for cycle in _cycles(above):
        names = [entries[i][0] for i in cycle]
        problems |= {i: _cycle_problem(names[at:] + names[:at]) for at, i in enumerate(cycle)}
    return problems


def _depths(parents: Sequence[int | None]) -> list[int]:
    """Levels from the top, 1 being the top; 0 for what does not reach it."""
    children: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(i)
    depths = [0] * len(parents)
    level, depth = [i for i, parent in enumerate(parents) if parent is None], 1
    while level:
        for i in level:
            depths[i] = depth
        level, depth = [child for i in level for child in children[i]], depth + 1
    return depths


def _cycles(above: Mapping[int, int]) -> Iterator[list[int]]:
    """The cycles among entries that do not reach the top, each from its first entry upwards."""
    seen: set[int] = set()
    for start in above:
        branch, at = [], start
        while at not in seen:
            seen.add(at)
            branch.append(at)
            at = above[at]
        if at in branch:
            yield branch[branch.index(at) :]


def _cycle_problem(names: Sequence[str]) -> str:
    steps = [shown(name) for name in names[:_NAMES_OF_A_CYCLE]]
    if len(names) > _NAMES_OF_A_CYCLE:
        steps.append("...")
    return f"is its own ancestor: {' -> '.join([*steps, steps[0]])}"
