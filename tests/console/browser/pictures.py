"""Pictures of the pages: made by a command, kept for the documentation, and compared with new ones.

python -m tests console-pictures             compare
python -m tests console-pictures --update    make them again
"""

import shutil
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from tests.checks import Counts
from tests.console.browser.live_console import TICKS, LiveConsole, run_console

KEPT: Final = Path(__file__).parents[3] / "docs/use/console"
PAGES: Final = {
    "queues": "queues",
    "workloads": "workloads",
    "workload": "workload?uid=sweep-0",
    "decisions": "decisions?action=requeue",
    "what-if": "what-if?run=1&queue=language&pods=2&gpus=1&priority=90&name=llm-finetune",
    "nodes": "nodes",
    "health": "health",
}
LOOKS: Final = {"light": (1440, 900, "light"), "dark-phone": (390, 844, "dark")}
"""Width and height of the window, and color scheme."""
BLOCK: Final = 12
"""Pixels of a block. The mean colors of blocks are compared, so that fonts may differ a little."""
TOLERANCE: Final = 40
"""Difference of a color of a block, of 255, that counts."""
MOST_DIFFERENT: Final = 0.03
"""Part of the blocks that may differ."""
_STILL: Final = """() => {
  for (const time of document.querySelectorAll("#live time")) time.textContent = "0s";
  for (const tile of document.querySelectorAll("#tiles dd")) {
    if (/^[0-9.]+ %$/.test(tile.textContent)) tile.textContent = "0.20 %";
  }
}"""
"""Texts that depend on the time of the picture."""


def main(*, update: bool = False) -> Counts:
    """Compare the pages with the kept pictures, or keep new ones."""
    from playwright.sync_api import sync_playwright

    results = []
    with run_console() as console, sync_playwright() as driver:
        console.play(TICKS)
        program = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, picture in take(browser, console):
            file = KEPT / f"{name}.png"
            if update:
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(compressed(picture))
            problem = difference(file.read_bytes(), picture)
            results.append(not problem)
            if problem:
                print(f"{name}: {problem}", file=sys.stderr)
        browser.close()
    return Counts(sum(results), len(results) - sum(results))


def take(browser: Any, console: LiveConsole) -> Iterator[tuple[str, bytes]]:
    """Pictures of all pages in all looks, by name."""
    for look, (width, height, scheme) in LOOKS.items():
        viewport = {"width": width, "height": height}
        context = browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        for name, path in PAGES.items():
            page = context.new_page()
            page.goto(f"{console.address}/{path}")
            for part in page.locator(".ask[data-load]").all():
                part.locator(".answer").wait_for()
            page.evaluate(_STILL)
            is_long = look == "dark-phone"
            yield f"{name}-{look}", page.screenshot(full_page=not is_long)
            page.close()
        context.close()


def difference(kept: bytes, taken: bytes) -> str:
    """How two pictures differ, by their blocks; empty if they do not."""
    from PIL import Image, ImageChops

    first, second = (Image.open(BytesIO(content)).convert("RGB") for content in (kept, taken))
    if abs(first.height - second.height) > first.height * 0.05 or first.width != second.width:
        return f"is {second.size} and was {first.size}"
    size = first.width // BLOCK, min(first.height, second.height) // BLOCK
    box = (0, 0, size[0] * BLOCK, size[1] * BLOCK)
    small = [each.crop(box).resize(size, Image.Resampling.BOX) for each in (first, second)]
    channels = ImageChops.difference(*small).split()
    blocks = zip(*(channel.tobytes() for channel in channels), strict=True)
    differing = sum(max(block) > TOLERANCE for block in blocks) / (size[0] * size[1])
    return f"{differing:.1%} of its blocks differ" if differing > MOST_DIFFERENT else ""


def compressed(picture: bytes) -> bytes:
    """The picture with a palette of 256 colors, a third of the size."""
    from PIL import Image

    output = BytesIO()
    image = Image.open(BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(output, "PNG", optimize=True)
    return output.getvalue()
