"""How fast the console is with a large cluster, and what it costs the service.

The first view is measured in the browser until it is painted, an update by the time of its scripts. The cost
is the processor time of the service with ten open consoles, without that for its scheduler alone, by turns.
Every figure is printed as soon as it is known, and every wait for the browser has an end.
"""

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any, Final, NamedTuple

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.cli.live.demo import server_process
from tenure.client import Client, StateSession
from tenure.console.access import Access
from tenure.console.watch import Watch
from tenure.console.web import Site, SiteOptions

from tests.checks import Counts
from tests.console.browser.large_cluster import BEGIN, large_cluster
from tests.console.browser.live_console import serve

MAX_FIRST_MS: Final = 1_000
MAX_UPDATE_MS: Final = 200
MAX_SHARE: Final = 0.01
CONSOLES: Final = 10
TURNS: Final = 3
VIEWS: Final = 5
UPDATES: Final = 3
OPEN_SECONDS: Final = 60.0
UPDATE_SECONDS: Final = 30.0
"""Time in which an open page has to draw a change."""
SETTLE_SECONDS: Final = 3.0
_PAINTED: Final = (
    "performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint')?.startTime ?? 0"
)
PATHS: Final = ("queues", "workloads", "nodes", "decisions")


def main(
    nodes: int = 1_000,
    workloads: int = 2_000,
    seconds: int = typer.Option(60, help="Time of each measurement."),
) -> Counts:
    """Measure, print the figures, and count those within their limits."""
    from playwright.sync_api import sync_playwright

    results = []
    with server_process("error") as address, Client(address) as client, sync_playwright() as driver:
        scheduler = _Scheduler(client, nodes, workloads)
        scheduler.decide()
        service = _service_pid(address)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for figure in _figures(browser, client, service, scheduler, seconds):
            print(figure, flush=True)
            results.append(figure.value <= figure.most)
        browser.close()
    return Counts(sum(results), len(results) - sum(results))


class _Figure(NamedTuple):
    """A measured value and its limit."""

    name: str
    value: float
    most: float
    form: str

    def __str__(self) -> str:
        return f"{self.name:40} {self.value:{self.form}} (at most {self.most:{self.form}})"


def _figures(
    browser: Any, client: Client, service: int, scheduler: "_Scheduler", seconds: int
) -> Iterator[_Figure]:
    # Pages do not depend on how often they are read: no call has to wait for its share of the time.
    watch = Watch(client, share=1.0)
    with watch, serve(Site(watch, Access(client), SiteOptions())) as site:
        for path in PATHS:
            yield from _measure_page(browser, f"{site}/{path}", path, scheduler)
    alone, together = [], []
    for turn in range(1, TURNS + 1):
        alone.append(_measure_share(service, scheduler, seconds))
        print(f"turn {turn} of {TURNS}: {alone[-1]:.2%} of a core without consoles", flush=True)
        watch = Watch(client)
        with watch, serve(Site(watch, Access(client), SiteOptions())) as site:
            pages = [_open(browser, f"{site}/{PATHS[index % len(PATHS)]}") for index in range(CONSOLES)]
            together.append(_measure_share(service, scheduler, seconds))
            for page in pages:
                page.context.close()
        print(f"turn {turn} of {TURNS}: {together[-1]:.2%} with {CONSOLES}", flush=True)
    yield _Figure(f"{CONSOLES} consoles, part of a core", mean(together) - mean(alone), MAX_SHARE, ".2%")


class _Scheduler:
    """Changes one pod group each second and decides, as a scheduler of a quiet cluster does."""

    def __init__(self, client: Client, nodes: int, workloads: int) -> None:
        self._rows = large_cluster(nodes, workloads)
        self._session = StateSession(client)
        self._session.push(self._rows)

    def decide(self) -> None:
        rows = self._rows
        rows.version += 1
        rows.now.CopyFrom(Timestamp(seconds=BEGIN + rows.version))
        rows.pod_groups[rows.version % len(rows.pod_groups)].priority += 1
        self._session.update(rows)
        self._session.decide()

    def decide_for(self, seconds: float) -> None:
        """Decide each second, for a time."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(1.0, left))
            self.decide()


def _measure_page(browser: Any, address: str, path: str, scheduler: _Scheduler) -> Iterator[_Figure]:
    _open(browser, address).context.close()  # the first reader of a cluster waits for its state
    times = []
    for _ in range(VIEWS):
        page = _open(browser, address)
        times.append(_wait_for(page, _PAINTED, 0.0, OPEN_SECONDS))
        page.context.close()
    yield _Figure(f"{path}: first view, ms, median of {VIEWS}", median(times), MAX_FIRST_MS, ".0f")
    page = _open(browser, address)
    seen = 0.0
    for _ in range(UPDATES):
        scheduler.decide()
        seen = _wait_for(page, "tenureTimings.length", seen, UPDATE_SECONDS)
    longest = page.evaluate("Math.max(...tenureTimings)") if seen < float("inf") else seen
    yield _Figure(f"{path}: update, ms of scripts", longest, MAX_UPDATE_MS, ".0f")
    page.context.close()


def _wait_for(page: Any, expression: str, above: float, seconds: float) -> float:
    """Value of an expression as soon as it is above a number; infinite if that takes too long."""
    deadline = time.monotonic() + seconds
    while (value := float(page.evaluate(expression))) <= above:
        if time.monotonic() >= deadline:
            return float("inf")
        page.wait_for_timeout(100)
    return value


def _open(browser: Any, address: str) -> Any:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(address, timeout=OPEN_SECONDS * 1000)
    page.locator("h1").wait_for()
    return page


def _measure_share(pid: int, scheduler: _Scheduler, seconds: int) -> float:
    """Processor time of the service, as a part of one core, while the scheduler decides each second."""
    scheduler.decide_for(SETTLE_SECONDS)
    began, used = time.monotonic(), _processor_seconds(pid)
    scheduler.decide_for(seconds)
    return (_processor_seconds(pid) - used) / (time.monotonic() - began)


def _service_pid(address: str) -> int:
    """Process ID of the child that serves."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    for child in map(int, children):
        if b"serve" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    sys.exit(f"no process serves {address}")


def _processor_seconds(pid: int) -> float:
    """Processor time of a process and its children."""
    total = 0.0
    for process in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / 100
    return total
