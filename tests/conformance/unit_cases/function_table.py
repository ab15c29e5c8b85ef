"""Tenure's counterpart of each function of the reference, by kind of case and recorded name.

Functions without a counterpart are counted and named as unmapped: copies and sums of resource records, which
are plain tuples in Tenure; plugin constructors, whose arguments the configuration validates; and amounts of
foreign schedulers.
"""

from tests.conformance.unit_cases.capacity import CAPACITY_CALLS
from tests.conformance.unit_cases.min_runtime import MIN_RUNTIME_CALLS
from tests.conformance.unit_cases.reclaim import QUEUE_ORDER_CALLS, RECLAIM_CALLS, STRATEGY_CALLS
from tests.conformance.unit_cases.shares import RESOURCE_SHARE_CALLS
from tests.conformance.unit_cases.values import Adapter

CALLS: dict[str, dict[str, Adapter]] = {
    "capacity_policy": CAPACITY_CALLS,
    "min_runtime": MIN_RUNTIME_CALLS,
    "queue_order": QUEUE_ORDER_CALLS,
    "reclaim_strategies": STRATEGY_CALLS,
    "reclaimable": RECLAIM_CALLS,
    "resource_share": RESOURCE_SHARE_CALLS,
}
