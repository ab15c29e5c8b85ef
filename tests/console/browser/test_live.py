"""Pages follow the service: what changed is drawn, and what the reader does is left alone."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.large_cluster import large_cluster
from tests.console.browser.live_console import LiveConsole, run_console
from tests.console.test_watch import wait_for

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
HAS_ROWS = "document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('tr:not(.spacer)') !== null"


@pytest.fixture
def moving() -> Iterator[LiveConsole]:
    with run_console() as console:
        console.play(8)
        yield console


def test_new_decision_appears_without_a_reload(visit: Visit, moving: LiveConsole) -> None:
    page = visit("workloads", address=moving.address)
    page.evaluate("window.isSame = true")
    expect(page.locator("#workloads")).not_to_contain_text("embed-train")
    moving.play(4)
    expect(page.locator("#workloads")).to_contain_text("embed-train")
    expect(page.locator("#context")).to_contain_text("State version 12")
    assert page.evaluate("window.isSame")


def test_update_keeps_focus_text_scroll_and_open_details(visit: Visit, moving: LiveConsole) -> None:
    page = visit("decisions", address=moving.address)
    page.locator("details").last.locator("summary").click()
    page.locator("details").last.locator("summary").focus()
    page.evaluate("window.scrollTo(0, 120)")
    moving.play(2)
    expect(page.locator("#context")).to_contain_text("State version 10")
    expect(page.locator("details[open]")).to_have_count(1)
    assert page.evaluate("document.activeElement.localName") == "summary"
    assert page.evaluate("window.scrollY") > 0
    page = visit("workloads", address=moving.address)
    page.get_by_role("searchbox").fill("half a wor")
    moving.play(2)
    expect(page.locator("#context")).to_contain_text("State version 12")
    expect(page.get_by_role("searchbox")).to_have_value("half a wor")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_updates_can_be_paused(visit: Visit, moving: LiveConsole) -> None:
    page = visit("queues", address=moving.address)
    page.get_by_role("button", name="Pause").click()
    moving.play(2)
    page.wait_for_timeout(2_500)
    expect(page.locator("#context")).to_contain_text("State version 8")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#context")).to_contain_text("State version 10")


def test_ten_thousand_workloads_scroll(visit: Visit) -> None:
    with run_console() as console:
        console.session.push(large_cluster(nodes=100, workloads=10_000))
        page = visit("workloads?sort=name", address=console.address)
        expect(page.locator("#workloads")).to_have_attribute("data-total", "10000")
        expect(page.locator("tbody[data-chunk]")).to_have_count(100)
        for part in (0.3, 0.7, 1.0):
            page.evaluate(f"window.scrollTo(0, document.body.scrollHeight * {part})")
            wait_for(lambda: page.evaluate(HAS_ROWS))
        expect(page.locator("tbody[data-filled] tr").last).to_contain_text("job-09999")
        assert page.locator("tbody tr:not(.spacer)").count() <= 1_000
