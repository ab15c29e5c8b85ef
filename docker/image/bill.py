"""The bill of materials of the image: Debian packages of the base, and Python packages of Tenure."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

EPOCH: Final = "1580601600"
"""Time of all files that are made, in seconds."""


def write_bill(folder: Path, version: str, file: Path) -> list[str]:
    """Write the bill of the files in a folder; returns its packages as purls."""
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, f"tenure-{version}"))
    bom.metadata.timestamp = datetime.fromtimestamp(int(EPOCH), tz=UTC)
    bom.metadata.component = Component(name="tenure", version=version, type=ComponentType.CONTAINER)
    for purl in (*_debian(folder), *_python(folder)):
        bom.components.add(
            Component(
                name=purl.name, version=purl.version, purl=purl, type=ComponentType.LIBRARY, bom_ref=str(purl)
            )
        )
    bom.register_dependency(bom.metadata.component, bom.components)
    JsonV1Dot6(bom).output_to_file(str(file), allow_overwrite=True, indent=1)
    return sorted(str(component.purl) for component in bom.components)


def _debian(folder: Path) -> Iterator[PackageURL]:
    for control in sorted((folder / "var/lib/dpkg/status.d").iterdir()):
        fields = dict(
            re.findall(r"^(Package|Version|Architecture): (.*)$", control.read_text(), re.MULTILINE)
        )
        qualifiers = {"arch": fields["Architecture"]}
        yield PackageURL("deb", "debian", fields["Package"], fields["Version"], qualifiers)


def _python(folder: Path) -> Iterator[PackageURL]:
    (packages,) = folder.glob("opt/tenure/lib/python3.*/site-packages")
    for found in distributions(path=[str(packages)]):
        yield PackageURL("pypi", None, found.name.lower().replace("_", "-"), found.version)
