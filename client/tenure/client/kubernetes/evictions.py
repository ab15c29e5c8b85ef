"""Which span evicted whom and for whom, so that the binding that follows can point there.

A link, and no child: room may come much later than the eviction that makes it, and who was evicted may wait
for days. It is known for as long as one adapter leads: after a restart, links to what was before are missing.
"""

import threading
from collections import OrderedDict
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Link, SpanContext
from tenure.client.kubernetes.spans import LINK
from tenure.v1.decision_pb2 import Evict

MOST: Final = 1_000
"""Pod groups of which it is remembered, those that came up last."""
_ROLES: Final = ("evicted", "room")
_Key = tuple[str, str]


class Evictions:
    """The last eviction of each pod group, and the last one for it. For many threads."""

    def __init__(self) -> None:
        self._spans: OrderedDict[_Key, SpanContext] = OrderedDict()
        self._changing = threading.Lock()

    def remember(self, evict: Evict) -> None:
        """The eviction is made in the span at hand, if that is kept."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        with self._changing:
            for key in zip(_ROLES, (evict.pod_group, evict.beneficiary), strict=True):
                self._spans[key] = span.get_span_context()
                self._spans.move_to_end(key)
            while len(self._spans) > MOST:
                self._spans.popitem(last=False)

    def take_links(self, pod_group: str) -> list[Link]:
        """To what came before the binding of a pod group; the second time to nothing."""
        with self._changing:
            found = [(role, self._spans.pop((role, pod_group), None)) for role in _ROLES]
        return [Link(span, {LINK: role}) for role, span in found if span is not None]
