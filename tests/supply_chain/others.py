"""Licenses of what no Python metadata describes: Debian packages of the image, modules of the Go client.

Those of Debian are the main ones that `/usr/share/doc/PACKAGE/copyright` names for the files in the image.
"""

import re
from collections.abc import Mapping
from typing import Final

from tests.tools.tool import ROOT

_GCC: Final = "GPL-3.0-or-later WITH GCC-exception-3.1"
_PUBLIC: Final = "public domain"
DEBIAN: Final[Mapping[str, str]] = {
    "base-files": "GPL-2.0-or-later",
    "base-passwd": "GPL-2.0-only AND public domain",
    "ca-certificates": "GPL-2.0-or-later AND MPL-2.0",
    "gcc-12-base": _GCC,
    "libacl1": "LGPL-2.0-or-later",
    "libbz2-1.0": "bzip2-1.0.6",
    "libc6": "LGPL-2.1-or-later",
    "libcom-err2": "MIT",
    "libcrypt1": "LGPL-2.1-or-later",
    "libdb5.3": "Sleepycat AND BSD-3-Clause",
    "libdebconfclient0": "BSD-2-Clause",
    "libexpat1": "MIT",
    "libffi8": "MIT",
    "libgcc-s1": _GCC,
    "libgssapi-krb5-2": "MIT",
    "libk5crypto3": "MIT",
    "libkeyutils1": "LGPL-2.0-or-later",
    "libkrb5-3": "MIT",
    "libkrb5support0": "MIT",
    "liblzma5": _PUBLIC,
    "libmd0": "BSD-3-Clause AND BSD-2-Clause AND ISC AND Beerware",
    "libncursesw6": "MIT",
    "libnsl2": "LGPL-2.1-only",
    "libpcre2-8-0": "BSD-3-Clause",
    "libpython3-stdlib": "PSF-2.0",
    "libpython3.11-minimal": "PSF-2.0",
    "libpython3.11-stdlib": "PSF-2.0",
    "libreadline8": "GPL-3.0-or-later",
    "libselinux1": _PUBLIC,
    "libsqlite3-0": _PUBLIC,
    "libssl3": "Apache-2.0",
    "libstdc++6": _GCC,
    "libtinfo6": "MIT",
    "libtirpc-common": "BSD-3-Clause",
    "libtirpc3": "BSD-3-Clause",
    "libuuid1": "BSD-3-Clause",
    "libzstd1": "BSD-3-Clause OR GPL-2.0-only",
    "media-types": _PUBLIC,
    "python-is-python3": "GPL-3.0-only",
    "python3": "PSF-2.0",
    "python3-minimal": "PSF-2.0",
    "python3.11": "PSF-2.0",
    "python3.11-minimal": "PSF-2.0",
    "readline-common": "GPL-3.0-or-later",
    "tzdata": _PUBLIC,
    "zlib1g": "Zlib",
}
"""Packages of the base that `make image` makes; the check `image` compares them with its bill."""
GO: Final[Mapping[str, str]] = {
    "golang.org/x/net": "BSD-3-Clause",
    "golang.org/x/sys": "BSD-3-Clause",
    "golang.org/x/text": "BSD-3-Clause",
    "google.golang.org/genproto/googleapis/rpc": "Apache-2.0",
    "google.golang.org/grpc": "Apache-2.0",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc": "Apache-2.0",
    "google.golang.org/protobuf": "BSD-3-Clause",
}
"""Modules that client/go requires."""


def go_modules() -> set[str]:
    """Modules that client/go requires, also those that others need."""
    text = (ROOT / "client/go/go.mod").read_text()
    return set(re.findall(r"^\s+(\S+) v\S+", text, re.MULTILINE))
