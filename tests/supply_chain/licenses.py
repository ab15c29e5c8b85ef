"""The check `licenses`: what the image adds to Debian may be distributed under our license, and is listed.

Licenses of Python packages come from the metadata of those that are installed, by pip-licenses; those of
Debian packages and Go modules from `others.py`. Tools are listed, too: they are not part of what is
distributed, so their licenses restrict only their own distribution.
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
from tests.supply_chain.others import DEBIAN, GO, go_modules
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

For operators and lawyers: what the image contains besides Tenure, what its tools and clients use, and under
which license. Tenure itself is under the Apache License 2.0.

<!-- generated: do not edit; {_UPDATE} writes this page -->

## Python packages of the image

All licenses of this table permit distribution together with Tenure. Versions and hashes are in
[docker/locks](../../docker/locks/image.txt).

"""
_DEBIAN: Final = """
## Debian packages of the image

`make image` builds on these packages of Debian 12. Debian distributes them as they are, and Tenure runs on
them; they are not part of it. Some have the GPL or the LGPL: if you pass the image on, you have to offer
their sources, which Debian keeps for every version. The table names the main license; all of them, with their
texts, are in the image, in `/usr/share/doc/PACKAGE/copyright`. Versions are in the bill of the image,
`dist/image/tenure-VERSION-image.cdx.json`.

`docker build` takes the base `python:3.12-slim-bookworm` instead, which has more packages of Debian:
`dpkg-query --show` lists them there.

"""
_GO: Final = """
## Go client

Modules that [client/go](../../client/go/go.mod) requires. They are not part of the image.

"""
_TOOLS: Final = """
## Tools and extras

These packages build and test Tenure, or belong to optional extras. The image does not contain them.

"""
_RELEASE: Final = """
## Tools of releases

More packages of [release.txt](../../docker/locks/release.txt), which make locks, releases and this
documentation. Nothing that is released contains them.

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
    if go_modules() != {*GO}:
        print(f"tests/supply_chain/others.py lacks or has too many: {sorted(go_modules() ^ {*GO})}")
    is_current = go_modules() == {*GO} and PAGE.exists() and PAGE.read_text(encoding="utf-8") == page
    if not is_current:
        print(f"docs/operate/licenses.md is not what the packages say: {_UPDATE} writes it")
    return Counts(len(shipped) - len(unsuitable) + is_current, len(unsuitable) + (not is_current))


def installed_licenses(environment: str = ".venv") -> Mapping[str, str]:
    """Licenses of installed packages by canonical names, as SPDX identifiers where they have one."""
    command = [ROOT / ".venv-release/bin/pip-licenses", "--python", ROOT / environment / "bin/python"]
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
    released = {name for name, pin in read_lock("release.txt").items() if pin.is_for_linux()}
    parts = (
        (_HEAD, licenses, shipped),
        (_DEBIAN, DEBIAN, sorted(DEBIAN)),
        (_GO, GO, sorted(GO)),
        (_TOOLS, licenses, tools),
        (_RELEASE, installed_licenses(".venv-release"), sorted(released - {*shipped, *tools})),
    )
    return "".join([text for head, known, names in parts for text in (head, *_table(known, names))]) + _END


def _table(licenses: Mapping[str, str], names: list[str]) -> Iterator[str]:
    yield "| package | license |\n|---|---|\n"
    yield from (f"| {name} | {licenses.get(name, 'unknown')} |\n" for name in names)
