"""Where the runs of a sweep are executed: processes of this machine, or workers of a Dask cluster.

A run that is done is handed over at once. Runs of a worker that is lost are executed again.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any, Final

from tenure.cli.sweep.single_run import Files, SingleRun, execute
from tenure.terms.formatting import format_count

MAX_LOSSES: Final = 3
"""Losses of workers in a row, without a run that is done in between, after which the sweep gives up."""
RETRIES: Final = 2
CONNECT_SECONDS: Final = 30

Done = Callable[[SingleRun, bytes], None]


class SweepError(Exception):
    """The sweep cannot go on. The message says why; runs that are done are kept."""


def run_in_processes(
    runs: Sequence[SingleRun], files: Files, workers: int, done: Done, notify: Callable[[str], None]
) -> None:
    """Execute runs in so many processes. `notify` takes what a user should know. Raises SweepError."""
    open_runs, losses = list(runs), 0
    while open_runs:
        left = _run_in_pool(open_runs, files, workers, done)
        losses = losses + 1 if len(left) == len(open_runs) else int(bool(left))
        if losses >= MAX_LOSSES:
            raise SweepError(f"worker processes are lost again and again; {len(left)} runs are left")
        if left:
            notify(
                f"a worker process was lost and is replaced; {format_count(len(left), 'run')} left to play"
            )
        open_runs = left


def _run_in_pool(runs: Sequence[SingleRun], files: Files, workers: int, done: Done) -> list[SingleRun]:
    """Execute runs until a process of the pool is lost; returns the runs that are left."""
    left = dict.fromkeys(runs)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, initializer=_end_with_parent) as pool:
        futures: dict[Future[bytes], SingleRun] = {}
        try:
            for run in runs:
                futures[pool.submit(execute, run, files)] = run
            for future in as_completed(futures):
                done(futures[future], _result(futures[future], future))
                del left[futures[future]]
        except BrokenProcessPool:
            pass
        except BaseException:
            for future in futures:
                future.cancel()
            for child in multiprocessing.active_children():
                child.terminate()
            raise
    return list(left)


def _end_with_parent() -> None:
    """Let a process of the pool end when the sweep ends or is killed. Ctrl-C is left to the sweep."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _result(run: SingleRun, future: "Future[bytes]") -> bytes:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:
        raise SweepError(f"point {run.point}, seed {run.seed}: {error}") from error


def execute_on_dask(run: SingleRun, files: Files) -> bytes:
    """Play a run on a worker, until it is done or its sweep is gone."""
    import distributed

    dask: Any = distributed  # it has no types
    worker = dask.get_worker()
    key = worker.get_current_task()

    def check(now: int, ended: int, cycles: int) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise SweepError("the sweep has ended")

    return execute(run, files, check)


def run_on_dask(runs: Sequence[SingleRun], files: Files, address: str, done: Done) -> None:
    """Execute runs on the workers of a Dask scheduler, such as tcp://10.0.0.1:8786. Raises SweepError."""
    import distributed

    dask: Any = distributed  # it has no types
    try:
        client = dask.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise SweepError(f"cannot connect to the Dask scheduler at {address}: {error}") from None
    with client:
        (shared,) = client.scatter([dict(files)], broadcast=True, hash=False)
        futures = {
            client.submit(
                execute_on_dask, run, shared, key=f"tenure-{run.digest}", retries=RETRIES, pure=False
            ): run
            for run in runs
        }
        try:
            for future in dask.as_completed(futures):
                run = futures[future]
                if future.status != "finished":
                    why = future.exception() if future.status == "error" else future.status
                    raise SweepError(f"point {run.point}, seed {run.seed}: {why}")
                done(run, future.result())
        finally:
            client.cancel(list(futures))
