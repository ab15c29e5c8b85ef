"""The figures of one seed: its decision today and that of the first sets in order, beside proven optima."""

from dataclasses import fields
from typing import Final, NamedTuple

from tenure.solver.plugin_api.profile import CycleOptions

from tests.properties.optimum.gang_snapshots import action_of, gang_snapshot
from tests.properties.optimum.judged_choice import Chosen, Missed, choose, engine

ENGINE: Final = engine()
IN_ORDER: Final = {"victim_choice": "inOrder"}
"""Options of a profile that takes the first victims in order."""
HAS_ORDER: Final = IN_ORDER.keys() <= {field.name for field in fields(CycleOptions)}
FIRST_IN_ORDER: Final = engine(**IN_ORDER) if HAS_ORDER else ENGINE


class Figures(NamedTuple):
    """What one decision disrupts, beside certified sets."""

    pods: int
    gpus: int
    fewest_pods: int
    gpus_of_fewest_pods: int
    fewest_gpus: int
    dominated: bool
    refuted: str
    remarks: tuple[str, ...]


class Case(NamedTuple):
    """One seed. None: the gang does not start with victims."""

    seed: int
    action: str
    now: Figures | None
    first: Figures | None
    """Where the first victims in order are taken."""
    is_missed: bool
    """It does not start, although a certified set exists."""


def case_of(seed: int, in_order: bool = True) -> Case:
    """Decide on the snapshot of a seed, with both ways to choose victims if the product has both.

    In order: compare with sets that take surplus from the last pod on.
    """
    snapshot, action = gang_snapshot(seed), action_of(seed)
    chosen = choose(ENGINE, snapshot, action, in_order)
    now = figures_of(chosen) if isinstance(chosen, Chosen) else None
    first = now
    if HAS_ORDER:
        other = choose(FIRST_IN_ORDER, snapshot, action, in_order)
        first = figures_of(other) if isinstance(other, Chosen) else None
    return Case(seed, action, now, first, isinstance(chosen, Missed))


def figures_of(chosen: Chosen) -> Figures:
    """The numbers of a compared decision."""
    return Figures(
        chosen.taken.measures.pods,
        chosen.taken.measures.gpus,
        chosen.fewest.measures.pods,
        chosen.fewest.measures.gpus,
        chosen.least_gpus.measures.gpus,
        chosen.better is not None,
        chosen.refuted,
        chosen.remarks,
    )
