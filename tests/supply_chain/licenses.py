"""The check `licenses`: what the image contains may be distributed under our license, and the page lists it.

Licenses come from the metadata of the installed packages, by pip-licenses. Tools for development are listed,
too: they are not part of what is distributed, so their licenses restrict only their own distribution.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import typer
from packaging.utils import canonicalize_name

from tests.checks import Counts
from tests.supply_chain.locks import read_lock
from tests.tools.tool import ROOT

PAGE: Final = ROOT / "docs/operate/licenses.md"
_UPDATE: Final = "python -m tests licenses --update"
_NAMES: Final = {
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""Identifiers of licenses that packages name otherwise."""
PERMISSIVE: Final = frozenset(
    {"Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0"}
)
"""Licenses whose code may be part of what is distributed under Apache-2.0."""
_HEAD: Final = f"""# Licenses of dependencies

For operators and lawyers: what the image contains besides Tenure, and under which license. Tenure itself is
under the Apache License 2.0.

<!-- generated: do not edit; {_UPDATE} writes this page -->

All licenses of this table permit distribution together with Tenure. Versions and hashes are in
[docker/locks](../../docker/locks/image.txt).

"""
_TOOLS: Final = """
## Tools and extras

These packages build and test Tenure, or belong to optional extras. The image does not contain them.

"""
_END: Final = """
## Next steps

- [Install](install.md): build the image from these packages
- [Contribute](../../CONTRIBUTING.md): add a dependency
"""


def main(update: Annotated[bool, typer.Option("--update", help="Write the page first")] = False) -> Counts:
    """Check the licenses of the image's packages, and compare the page with them."""
    licenses = installed_licenses()
    shipped = sorted(name for name, pin in read_lock("image.txt").items() if pin.is_for_linux())
    unsuitable = [name for name in shipped if not is_permissive(licenses.get(name, "not installed here"))]
    for name in unsuitable:
        print(
            f"{name} must not be in the image: {licenses.get(name, 'not installed here: make .venv/ready')}"
        )
    page = render(licenses, shipped)
    if update:
        PAGE.write_text(page, encoding="utf-8")
    is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page
    if not is_current:
        print(f"docs/operate/licenses.md is not what the packages say: {_UPDATE} writes it")
    return Counts(len(shipped) - len(unsuitable) + is_current, len(unsuitable) + (not is_current))


def installed_licenses() -> Mapping[str, str]:
    """Licenses of the packages in .venv by canonical names, as SPDX identifiers where they have one."""
    command = [ROOT / ".venv-release/bin/pip-licenses", "--python", ROOT / ".venv/bin/python"]
    ended = subprocess.run(
        [*command, "--from=mixed", "--format=json", "--with-system"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {canonicalize_name(one["Name"]): identifier(one["License"]) for one in json.loads(ended.stdout)}


def identifier(text: str) -> str:
    """The SPDX expression of what a package says about its license."""
    parts = (_NAMES.get(part.strip(), part.strip()) for part in text.split(";"))
    return " AND ".join(dict.fromkeys(parts))


def is_permissive(expression: str) -> bool:
    """Whether an expression permits distribution: one choice of each OR, all parts of each AND."""
    alternatives = re.split(r"\s+OR\s+", expression)
    return any(all(part in PERMISSIVE for part in re.split(r"\s+AND\s+", one)) for one in alternatives)


def render(licenses: Mapping[str, str], shipped: list[str]) -> str:
    """The page."""
    locked = {name for name, pin in read_lock("development.txt").items() if pin.is_for_linux()}
    tools = sorted(locked - {*shipped})
    return "".join((_HEAD, *_table(licenses, shipped), _TOOLS, *_table(licenses, tools), _END))


def _table(licenses: Mapping[str, str], names: list[str]) -> Iterator[str]:
    yield "| package | license |\n|---|---|\n"
    yield from (f"| {name} | {licenses.get(name, 'unknown')} |\n" for name in names)
