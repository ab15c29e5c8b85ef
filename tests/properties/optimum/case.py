"""The figures of one seed: its decision today and that of the first sets in order, beside proven optima."""

from dataclasses import fields
from typing import Final, NamedTuple

from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.optimum.gang_snapshots import action_of, gang_snapshot
from tests.properties.optimum.judged_choice import Chosen, choose, engine

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
    in_order: Figures | None


def case_of(seed: int) -> Case:
    """Decide on the snapshot of a seed, with both ways to choose victims if the product has both."""
    snapshot, action = gang_snapshot(seed), action_of(seed)
    now = _figures(ENGINE, snapshot, action)
    return Case(seed, action, now, _figures(FIRST_IN_ORDER, snapshot, action) if HAS_ORDER else now)


def _figures(deciding: Engine, snapshot: ClusterSnapshot, action: str) -> Figures | None:
    chosen = choose(deciding, snapshot, action)
    return None if chosen is None else figures_of(chosen)


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
