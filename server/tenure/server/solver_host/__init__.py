"""Where cycles run: in a thread of the server, or in supervised processes of their own.

A process uses a processor of its own, holds nobody up, and can be killed when it hangs. It costs the memory
of an interpreter, and its questions and answers are copied.
"""

from tenure.server.solver_host.engine import ProcessEngine
from tenure.server.solver_host.solver_pool import SolverPool, SolverUnavailable
from tenure.server.solver_host.solver_process import SolverProcess, SolverProcessLost

__all__ = ["ProcessEngine", "SolverPool", "SolverProcess", "SolverProcessLost", "SolverUnavailable"]
