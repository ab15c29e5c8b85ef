"""How fast the console is with a large cluster, and what it costs the service.

The first view is measured in the browser until it is painted, an update by the time of its scripts. The cost
is the processor time of the service with ten open consoles, without that for its scheduler alone, by turns.
"""

import shutil
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

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
_PAINTED: Final = (
    "performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime"
)
PATHS: Final = ("queues", "workloads", "nodes", "decisions")


def main(
    nodes: int = 1_000,
    workloads: int = 2_000,
    seconds: int = typer.Option(60, help="Time of each measurement."),
) -> Counts:
    """Measure, print the figures, and count those within their limits."""
    from playwright.sync_api import sync_playwright

    results: list[tuple[str, float, float, str]] = []
    with server_process("error") as address, Client(address) as client, sync_playwright() as driver:
        scheduler = _Scheduler(client, nodes, workloads)
        scheduler.decide()
        service = _service_pid(address)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shares: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(2 * TURNS):
            if turn % 2 == 0:
                shares[False].append(_measure_share(service, scheduler, seconds))
                continue
            watch = Watch(client)
            with watch, serve(Site(watch, Access(client), SiteOptions())) as site:
                if turn == 1:
                    results += _measure_pages(browser, site, scheduler)
                pages = [_open(browser, f"{site}/{PATHS[index % len(PATHS)]}") for index in range(CONSOLES)]
                shares[True].append(_measure_share(service, scheduler, seconds))
                for page in pages:
                    page.context.close()
        browser.close()
        alone, together = (sum(shares[kind]) / TURNS for kind in (False, True))
        print(f"service: {alone:.2%} of a core without consoles, {together:.2%} with {CONSOLES}")
        results.append((f"{CONSOLES} consoles, part of a core", together - alone, MAX_SHARE, ".2%"))
    for name, value, most, form in results:
        print(f"{name:40} {value:{form}} (at most {most:{form}})")
    failed = sum(value > most for _, value, most, _ in results)
    return Counts(len(results) - failed, failed)


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


def _measure_pages(browser: Any, site: str, scheduler: _Scheduler) -> list[tuple[str, float, float, str]]:
    results = []
    for path in PATHS:
        _open(browser, f"{site}/{path}").context.close()  # the first reader of a cluster waits for its state
        times = []
        for _ in range(VIEWS):
            page = _open(browser, f"{site}/{path}")
            times.append(page.evaluate(_PAINTED))
            page.context.close()
        results.append((f"{path}: first view, ms, median of {VIEWS}", median(times), MAX_FIRST_MS, ".0f"))
        page = _open(browser, f"{site}/{path}")
        for _ in range(3):
            before = page.evaluate("tenureTimings.length")
            deadline = time.monotonic() + 90
            while page.evaluate("tenureTimings.length") == before and time.monotonic() < deadline:
                scheduler.decide()
                page.wait_for_timeout(1_000)
        timings = page.evaluate("tenureTimings")
        results.append(
            (f"{path}: update, ms of scripts", max(timings, default=float("inf")), MAX_UPDATE_MS, ".0f")
        )
        page.context.close()
    return results


def _open(browser: Any, address: str) -> Any:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(address, timeout=60_000)
    page.locator("h1").wait_for()
    return page


def _measure_share(pid: int, scheduler: _Scheduler, seconds: int) -> float:
    """Processor time of the service, as a part of one core, while the scheduler decides each second."""
    stop = threading.Event()

    def decide() -> None:
        while not stop.wait(1.0):
            scheduler.decide()

    thread = threading.Thread(target=decide)
    thread.start()
    time.sleep(3)
    began, used = time.monotonic(), _processor_seconds(pid)
    time.sleep(seconds)
    share = (_processor_seconds(pid) - used) / (time.monotonic() - began)
    stop.set()
    thread.join()
    return share


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
