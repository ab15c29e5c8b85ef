"""What a person does on each page, in a real browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.live_console import run_console
from tests.console.console_site import with_runtimes
from tests.console.test_hostile_names import NAMES, hostile

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
PATHS = ("queues", "workloads", "decisions", "what-if", "nodes", "health")
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def test_from_a_queue_to_a_workload_and_its_story(visit: Visit) -> None:
    page = visit("")
    expect(page).to_have_title("Queues · demo · Tenure")
    page.get_by_role("link", name="vision").first.click()
    expect(page.locator("#workloads tbody tr")).to_have_count(4)
    page.get_by_role("link", name="sweep").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("sweep")
    expect(page.get_by_role("img", name="Time line of sweep")).to_be_visible()
    expect(page.locator("#events")).to_contain_text("evicted for hotfix")
    expect(page.locator("#why")).to_contain_text("What would help")


def test_filter_applies_as_it_is_chosen_and_is_a_deep_link(visit: Visit) -> None:
    page = visit("workloads")
    page.locator("select[name=state]").select_option("waiting")
    page.wait_for_url("**state=waiting**")
    expect(page.locator("#workloads tbody tr").first).to_contain_text("waiting")
    page.get_by_role("searchbox").fill("finetune")
    page.get_by_role("searchbox").press("Enter")
    page.wait_for_url("**q=finetune**")
    expect(page.locator("#workloads tbody tr")).to_have_count(1)
    again = visit(page.url.rpartition("/")[2])
    expect(again.locator("#workloads tbody tr")).to_have_count(1)


def test_columns_sort_by_a_link(visit: Visit) -> None:
    page = visit("workloads")
    page.get_by_role("columnheader", name="Priority").get_by_role("link").click()
    expect(page.locator("#workloads tbody tr").first).to_contain_text("chat-api")
    page.get_by_role("columnheader", name="Priority").get_by_role("link").click()
    expect(page.locator("#workloads tbody tr").last).to_contain_text("chat-api")


def test_decision_is_decided_again(visit: Visit) -> None:
    page = visit("decisions?action=requeue")
    cycle = page.locator(".cycle").first
    expect(cycle).to_contain_text("backfill returns to its queue")
    page = visit("decisions")
    page.get_by_role("link", name="Decide again").first.click()
    expect(page.locator(".cycle header").first).to_be_visible()
    expect(page.locator("#cycles")).to_contain_text("exactly the same again, byte for byte")


def test_form_answers_with_who_yields(visit: Visit) -> None:
    page = visit("what-if")
    page.get_by_label("Queue", exact=True).select_option("language")
    page.get_by_label("Pods", exact=True).fill("2")
    page.get_by_label("Priority", exact=True).fill("90")
    page.get_by_role("radio", name="Semi-Preemptible").check()
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#answer .headline")).to_contain_text("have terminated")
    expect(page.locator(".losses")).to_contain_text("loses")
    expect(page.get_by_role("img")).to_have_count(1)
    assert "run=1" in page.url
    page.get_by_label("Pods", exact=True).fill("-1")
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_label("Pods", exact=True)).to_have_attribute("aria-invalid", "true")


def test_nodes_show_each_gpu_as_a_cell(visit: Visit) -> None:
    page = visit("nodes")
    expect(page.locator("#nodes tbody tr")).to_have_count(4)
    expect(page.locator("#nodes rect.free")).to_have_count(16)
    expect(page.locator("#legend")).to_contain_text("vision")


def test_theme_is_chosen_and_kept(visit: Visit) -> None:
    page = visit("queues")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("size", ["small", "wide", "wall"])
def test_nothing_is_lost_beside_the_screen(visit: Visit, path: str, size: str) -> None:
    page = visit(path, size)
    assert page.evaluate(FITS)


def test_all_links_and_fields_are_reached_by_keyboard(visit: Visit) -> None:
    page = visit("workloads")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.textContent.trim().slice(0, 40)"))
    assert {"CSV", "notebook", "backfill"} <= seen


def test_pages_work_without_scripts(visit: Visit) -> None:
    page = visit("workloads", java_script_enabled=False)
    page.get_by_role("link", name="finetune").click()
    page.get_by_role("link", name="Ask the service what would help").click()
    expect(page.locator("#answer")).to_contain_text("What would help")


def test_page_of_a_waiting_workload_tells_when_it_starts_r17_23(visit: Visit) -> None:
    with run_console() as console:
        console.session.push(with_runtimes())
        console.session.decide()
        page = visit("workload?uid=nightly-eval", address=console.address)
        told = page.locator("#when")
        expect(told).to_contain_text("It starts at about 2025-03-03 10:45:00 UTC")
        expect(told.get_by_role("definition").filter(has_text="expected runtimes say so")).to_be_visible()
        told.get_by_role("link", name="sweep").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("sweep")
        assert page.locator("#when").count() == 0


def test_hostile_names_run_nothing(visit: Visit) -> None:
    with run_console() as console:
        console.session.push(hostile())
        console.session.decide()
        for path in (*PATHS, "workload?uid=nightly-eval"):
            page = visit(path, address=console.address)
            page.on("dialog", lambda dialog: pytest.fail(dialog.message))
            page.wait_for_timeout(300)
            assert page.locator("main img, main script, bdi *").count() == 0
            assert page.evaluate(FITS)
        page = visit("workloads", address=console.address)
        expect(page.locator("#workloads")).to_contain_text(NAMES[0])
