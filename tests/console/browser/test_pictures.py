"""Pages look as on the kept pictures, which the documentation shows."""

from typing import Any

import pytest

from tests.console.browser.live_console import LiveConsole
from tests.console.browser.pictures import KEPT, LOOKS, PAGES, difference, take

pytestmark = pytest.mark.browser


def test_every_page_looks_as_on_its_picture(chromium: Any, console: LiveConsole) -> None:
    kept = {file.stem: file.read_bytes() for file in KEPT.glob("*.png")}
    found = {name: difference(kept[name], picture) for name, picture in take(chromium, console)}
    assert {name: problem for name, problem in found.items() if problem} == {}
    assert len(found) == len(PAGES) * len(LOOKS)


@pytest.mark.parametrize(("first", "second"), [("queues", "nodes"), ("decisions", "health")])
def test_other_pages_look_different(first: str, second: str) -> None:
    kept = [(KEPT / f"{name}-light.png").read_bytes() for name in (first, second)]
    assert difference(*kept)
