"""Notices that an API server serves other kinds than it served when it was asked for them before.

Whoever installs or removes KAI or Volcano while an adapter runs need not restart it. A kind is taken for gone
only after some looks: an API server that has just started may not know all of its kinds for a moment.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.object_caches import WORKLOAD_APIS, list_served
from tenure.kubernetes.api.transport import Transport

POLL_SECONDS: Final = 60.0
_LOOKS: Final = 3
"""After so many looks in a row without it, a kind is gone."""
_MAY_GO: Final = frozenset[str]().union(*WORKLOAD_APIS.values())
_LOG: Final = logging.getLogger(__name__)


class ApiDiscovery:
    """Looks for collections to follow from now on, or no more; `found` is called once, when there is one."""

    def __init__(
        self,
        transport: Transport,
        excluded: frozenset[str],
        followed: frozenset[str],
        found: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._excluded, self._followed = excluded, followed
        self._missed: dict[str, int] = {}
        """In how many looks in a row a kind was not there."""
        self._found = found
        self._stopped = threading.Event()

    def run(self) -> None:
        """Look every minute, until there is something or until stopped."""
        while not self._stopped.wait(POLL_SECONDS):
            if self.poll_once():
                return

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped.set()

    def poll_once(self) -> bool:
        """Whether there is something new, or something gone. One that does not answer has nothing."""
        try:
            there = list_served(self._transport, self._excluded)
        except ApiError:
            return False
        new = [one.path for one in there if one.name not in self._followed]
        gone = self._gone(frozenset(one.name for one in there))
        if not new and not gone:
            return False
        if new:
            _LOG.info("The API server serves %s now: all is read anew.", ", ".join(new))
        if gone:
            _LOG.warning("The API server serves no %s any more: all is read anew.", ", ".join(gone))
        self._found()
        return True

    def _gone(self, there: frozenset[str]) -> list[str]:
        missed = sorted(self._followed & _MAY_GO - there)
        self._missed = {name: self._missed.get(name, 0) + 1 for name in missed}
        return [name for name, looks in self._missed.items() if looks >= _LOOKS]
