"""Notices that an API server serves a kind that it did not serve when it was asked for it before.

Whoever installs KAI or Volcano while an adapter runs need not restart it. Kinds that are gone are not looked
for: an API server that has just started may not know all of its kinds for a moment, and what cannot be
followed any more stops the rounds anyway.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from tenure.client.kubernetes.failures import ApiFailure
from tenure.client.kubernetes.observe.mirrors import served
from tenure.client.kubernetes.transport import Transport

LOOK_SECONDS: Final = 60.0
_LOG: Final = logging.getLogger(__name__)


class NewKinds:
    """Looks for collections that are not followed; `found` is called once, when there is one."""

    def __init__(
        self,
        transport: Transport,
        without: frozenset[str],
        followed: frozenset[str],
        found: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._known = without | followed
        self._found = found
        self._stopped = threading.Event()

    def run(self) -> None:
        """Look every minute, until there is something or until stopped."""
        while not self._stopped.wait(LOOK_SECONDS):
            if self.look_once():
                return

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped.set()

    def look_once(self) -> bool:
        """Whether there is something new. An API server that does not answer has nothing new."""
        try:
            new = served(self._transport, self._known)
        except ApiFailure:
            return False
        if not new:
            return False
        _LOG.info("The API server serves %s now: all is read anew.", ", ".join(one.path for one in new))
        self._found()
        return True
