"""Solver hosts: cycles run in a thread of the server, or in supervised processes.

A process uses its own CPU, does not block other calls, and can be killed when it hangs. It costs the memory
of an interpreter, and copies of requests and responses.
"""

from tenure.server.solver_host.engine import ProcessEngine, SolverError
from tenure.server.solver_host.solver_pool import SolverPool, SolverUnavailable
from tenure.server.solver_host.solver_process import SolverProcess, SolverProcessLost

__all__ = [
    "ProcessEngine",
    "SolverError",
    "SolverPool",
    "SolverProcess",
    "SolverProcessLost",
    "SolverUnavailable",
]
