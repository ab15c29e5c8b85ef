"""Where cycles run: in a thread of the server, or in supervised processes of their own.

A process uses a processor of its own, holds nobody up, and can be killed when it hangs. It costs the memory
of an interpreter, and its questions and answers are copied.
"""

from tenure.server.host.child import Child, ChildLost
from tenure.server.host.engine import ProcessEngine
from tenure.server.host.pool import NotReady, Pool

__all__ = ["Child", "ChildLost", "NotReady", "Pool", "ProcessEngine"]
