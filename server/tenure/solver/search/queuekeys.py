"""Where queues stand among their siblings, by what the plugins say."""

from typing import Any

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import Share


class QueueKeys:
    """Asks the plugins where queues stand."""

    __slots__ = ("_keys", "_queues", "versions")

    def __init__(self, session: Session) -> None:
        self._queues = session.cluster.queues
        self._keys = session.chains.queue_key
        self.versions = session.ledger.queue_versions
        """Change when anything moves below a queue."""

    def key(self, queue: int, request: Share, popped: Share) -> tuple[Any, ...]:
        """Of a queue with what its best pod group asks for, or with what was popped from it; unique."""
        if len(self._keys) == 1:
            return (self._keys[0](queue, request, popped), self._queues[queue].rank)
        parts: list[Any] = []
        for key in self._keys:
            parts.append(key(queue, request, popped))
        parts.append(self._queues[queue].rank)
        return tuple(parts)
