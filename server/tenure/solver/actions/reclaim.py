"""Reclaim: pod groups of queues below their fair share evict pods of other queues (semantics 6.1).

Victims are preemptible pod groups of other leaf queues; their priority does not matter.
"""

from typing import Final

from tenure.solver.model.decision import Atomicity
from tenure.solver.plugin_api.action import Action, QueueGate, Relation, due_since_start
from tenure.terms.reasons import ReasonCode

RECLAIM: Final = Action(
    "reclaim",
    victims_from=Relation.OTHER_QUEUES,
    gate=QueueGate.FAIR_SHARE,
    reason=ReasonCode.RECLAIMED,
    atomicity=Atomicity.ALL,
    due_since=due_since_start,
)
