"""Which function of ours stands for which function of the reference, by kind of case and recorded name.

What is missing here is counted and named as unmapped: copies and sums of resource records, which are plain
tuples here; a plugin's constructor, whose arguments our configuration checks; amounts of foreign schedulers.
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
