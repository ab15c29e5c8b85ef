"""Saves: ranking every node for every task by the plugin with `Ranking.STATE`; each request keeps its ranks.
Sound: a rank depends on the request and the state of the node alone (`StateRank`), and the state changes only
with its free amounts; nodes with changed amounts are ranked again. Nodes where a task starts now precede
others by more than all ranks (semantics R3.54).
Switch: `node_index`. Plain: `node_order.ScoredNodes`.
Compared by: tests/properties/test_node_index.py (the same order after random moves).
"""

from bisect import insort
from collections.abc import Iterator
from typing import Final

from tenure.solver.framework.ledger import NO, NOW, Ledger
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.traits import NodeState, StateRank
from tenure.solver.search.node_order import NodeFit, bit_set, bits
from tenure.solver.search.speedups.fit_cache import NodeChanges

UNKNOWN: Final = -(1 << 60)
LACKING: Final = -1
NO_SET: Final = -1
MOST_KEPT: Final = 1 << 14
"""States whose rank is kept for a request; beyond it they are ranked again."""


class _KeptRanks:
    """Ranks of all nodes for one request, as of the changes processed so far."""

    __slots__ = (
        "_cpu",
        "_rank",
        "_request",
        "_whole",
        "by_node",
        "by_state",
        "misfits",
        "seen",
        "sets",
        "values",
    )

    def __init__(self, rank: StateRank, request: int) -> None:
        self._rank: Final = rank
        self._request: Final = request
        self._cpu, self._whole = rank.least(request)
        self.by_node: list[int] = []
        self.by_state: dict[NodeState, int] = {}
        """Ranks of states with enough CPU and whole GPUs."""
        self.sets: dict[int, int] = {}
        """Nodes by rank, apart from negative ones."""
        self.values: list[int] = []
        """Ranks that some node has or had, ascending."""
        self.misfits: dict[int, int] = {}
        """By shape: nodes that were found to lack something else, now and later."""
        self.seen = 0
        """Count of the changes that are processed."""

    def fill(self, states: list[NodeState], nodes: dict[NodeState, int]) -> None:
        """Rank all nodes; `nodes` by state."""
        ranks: dict[NodeState, int] = {}
        for state, found in nodes.items():
            is_enough = self._cpu <= state[1] and self._whole <= state[2]
            rank = ranks[state] = self._rank_of(state) if is_enough else LACKING
            if rank >= 0:
                self._add(rank, found)
        self.by_node = [ranks[state] for state in states]

    def put(self, node: int, state: NodeState) -> None:
        """Change the state of a node."""
        old = self.by_node[node]
        rank = self._rank_of(state) if self._cpu <= state[1] and self._whole <= state[2] else LACKING
        if rank != old:
            self.by_node[node] = rank
            if old >= 0:
                self.sets[old] ^= 1 << node
            if rank >= 0:
                self._add(rank, 1 << node)

    def _rank_of(self, state: NodeState) -> int:
        rank = self.by_state.get(state, UNKNOWN)
        if rank == UNKNOWN:
            if len(self.by_state) >= MOST_KEPT:
                self.by_state.clear()
            rank = self.by_state[state] = self._rank.rank(self._request, state)
        return rank

    def _add(self, rank: int, nodes: int) -> None:
        others = self.sets.get(rank, NO_SET)
        if others == NO_SET:
            insort(self.values, rank)
            others = 0
        self.sets[rank] = others | nodes


class RankedNodes:
    """Nodes by rank. Lives as long as a session."""

    def __init__(self, rank: StateRank, ledger: Ledger) -> None:
        self._rank: Final = rank
        self._ledger: Final = ledger
        self._states: list[NodeState] = []
        self._nodes: dict[NodeState, int] = {}
        """Nodes by state."""
        self._seen_changes = -1
        self._kept: dict[int, _KeptRanks] = {}
        """By number of a request."""

    def in_order(self, shape: TaskShape, changes: NodeChanges, nodes: int) -> Iterator[NodeFit]:
        """Nodes of the set on which a task fits: now first, then the best rank, then by name."""
        kept, fit_on, later = self._ranked(self._rank.request_index(shape), changes), self._ledger.fit, 0
        index, sets = shape.index, kept.sets
        nodes &= ~kept.misfits.get(index, 0)
        for rank in reversed(kept.values):
            found = sets[rank] & nodes
            for node in bits(found) if found else ():
                fit = fit_on(shape, node)
                if fit == NOW:
                    yield node, True
                elif fit != NO:
                    later |= 1 << node
                else:
                    kept.misfits[index] = kept.misfits.get(index, 0) | 1 << node
        for rank in reversed(kept.values) if later else ():
            for node in bits(sets[rank] & later):
                yield node, False

    def _ranked(self, request: int, changes: NodeChanges) -> _KeptRanks:
        """Ranks for a request, as of now."""
        states = self._follow(changes)
        kept = self._kept.get(request)
        if kept is None:
            kept = self._kept[request] = _KeptRanks(self._rank, request)
            kept.fill(states, self._nodes)
        elif kept.seen != changes.count:
            changed = changes.since(kept.seen)
            for node in changed:
                kept.put(node, states[node])
            if kept.misfits:
                touched = ~bit_set(changed)
                for shape, misfits in kept.misfits.items():
                    kept.misfits[shape] = misfits & touched
        kept.seen = changes.count
        return kept

    def _follow(self, changes: NodeChanges) -> list[NodeState]:
        """States of all nodes, as of now."""
        states, by_state, state_of = self._states, self._nodes, self._rank.node_state
        if self._seen_changes == changes.count:
            return states
        if self._seen_changes < 0:
            states.extend([state_of(node) for node in range(len(self._ledger.nodes))])
            for node, state in enumerate(states):
                by_state[state] = by_state.get(state, 0) | 1 << node
        else:
            for node in changes.since(self._seen_changes):
                bit, old, state = 1 << node, states[node], state_of(node)
                if left := by_state[old] ^ bit:
                    by_state[old] = left
                else:
                    del by_state[old]
                states[node] = state
                by_state[state] = by_state.get(state, 0) | bit
        self._seen_changes = changes.count
        return states
