"""Reclaim: pod groups of queues below their fair share evict pods of other queues (semantics 6.1).

Victims are preemptible pod groups of other leaf queues; their priority does not matter.
"""

from typing import Final

from tenure.solver.actions.eviction_action import evict_for_pending
from tenure.solver.model.decision import Atomicity
from tenure.solver.plugin_api.action import Action, QueueGate, Relation
from tenure.terms.reasons import ReasonCode

RECLAIM: Final = Action(
    "reclaim",
    victims_from=Relation.OTHER_QUEUES,
    gate=QueueGate.FAIR_SHARE,
    reason=ReasonCode.RECLAIMED,
    atomicity=Atomicity.ALL,
    run=evict_for_pending,
)
