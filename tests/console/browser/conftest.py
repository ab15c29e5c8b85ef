"""One Chromium for all tests; without it they are skipped, unless REQUIRE_BROWSER is set."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.console.browser.live_console import TICKS, LiveConsole, run_console
from tests.tools.catalog import AXE

if not os.environ.get("REQUIRE_BROWSER"):
    pytest.importorskip("playwright.sync_api", reason="needs python -m tests build browser axe")
SIZES = {"wide": (1440, 900), "phone": (390, 844), "small": (360, 740), "wall": (3840, 2160)}
EXPECTED = ("404 (Not Found)", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_CONNECTION_REFUSED")
"""Lines of the browser about pages that do not exist, and about a console that a test has ended."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser of the system."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None or not AXE.exists():
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("python -m tests build browser axe")
        pytest.skip("needs python -m tests build browser axe")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def console() -> Iterator[LiveConsole]:
    """The story of the demo after half a minute."""
    with run_console() as console:
        console.play(TICKS)
        yield console


@pytest.fixture
def visit(chromium: Any, console: LiveConsole) -> Iterator[Callable[..., Any]]:
    """Open a page of the console. Errors of its scripts, and requests to elsewhere, fail the test."""
    contexts, problems = [], []

    def open_page(
        path: str, size: str = "wide", scheme: str = "light", address: str = "", **options: Any
    ) -> Any:
        viewport = dict(zip(("width", "height"), SIZES[size], strict=True))
        context = chromium.new_context(
            viewport=viewport, color_scheme=scheme, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page, base = context.new_page(), address or console.address
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: problems.append(f"{path}: {error}"))
        page.on("console", lambda line: _is_problem(line) and problems.append(f"{path}: {line.text}"))
        page.on("request", lambda each: each.url.startswith(base) or problems.append(f"{path}: {each.url}"))
        page.goto(f"{base}/{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def _is_problem(line: Any) -> bool:
    return line.type == "error" and not any(each in line.text for each in EXPECTED)
