"""The check `manifests`: the plain manifests equal the chart with its default values."""

from typing import Annotated

import typer

from tests.checks import Counts
from tests.packaging.charts import MANIFESTS, template

FILE = MANIFESTS / "tenure.yaml"


def main(update: Annotated[bool, typer.Option("--update", help="Write the file first")] = False) -> Counts:
    """Compare docker/manifests/tenure.yaml with the chart rendered by helm."""
    expected = template(())
    if update:
        FILE.write_text(expected)
    is_same = FILE.read_text() == expected
    if not is_same:
        print(f"{FILE} differs from the chart: python -m tests manifests --update writes it")
    return Counts(int(is_same), int(not is_same))
