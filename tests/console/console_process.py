"""Commands with a console, as processes of their own."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.command import ROOT
from tests.small_snapshot import child_environment


@contextmanager
def process(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A command, and the address in the line that ends what it prints first."""
    command = [sys.executable, "-m", "tenure.cli", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=child_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        address = next(found for line in child.stdout if (found := re.search(r"http://\S+", line)))
        try:
            yield child, address[0]
        finally:
            child.kill()
