"""axe-core finds nothing on any page, in both color schemes and on a small screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.tools.catalog import AXE

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
PATHS = (
    *(
        "queues",
        "workloads",
        "workload?uid=sweep-0",
        "workload?uid=finetune-0",
        "decisions",
        "nodes",
        "health",
    ),
    *("what-if", "what-if?run=1&queue=language&pods=2&priority=90", "what-if?run=1&queue=&pods=x"),
    *("explain?uid=finetune-0&question=why_pending", "workload?uid=gone", "workloads?q=nothing-matches"),
)


@pytest.mark.parametrize(("scheme", "size"), [("light", "wide"), ("dark", "wide"), ("dark", "small")])
def test_axe_finds_nothing(visit: Visit, scheme: str, size: str) -> None:
    found = {}
    for path in PATHS:
        page = visit("healthz", size, scheme, bypass_csp=True)
        response = page.goto(page.url.replace("healthz", path))
        assert response is not None
        expect(page.locator("main")).to_be_visible()
        for part in page.locator(".ask[data-load] .answer").all():
            expect(part).to_be_visible()
        page.add_script_tag(path=str(AXE))
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        problems = [
            (each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in result["violations"]
        ]
        if problems:
            found[path] = problems
        page.context.close()
    assert found == {}
