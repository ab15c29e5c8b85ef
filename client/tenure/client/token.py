"""The token that every call carries."""

from pathlib import Path
from typing import NamedTuple

from tenure.client.errors import BadCredentials
from tenure.client.metadata import Entries


class Token(NamedTuple):
    """A token by itself, or the file that holds it, which is read for every call: it may change."""

    text: str | None
    file: Path | None

    def entries(self) -> Entries:
        """The metadata that shows it. Raises BadCredentials."""
        return (("authorization", f"Bearer {self.read()}"),)

    def read(self) -> str:
        """The token. Raises BadCredentials, which never shows it."""
        if self.file is None:
            return _checked(self.text or "", "the token")
        try:
            return _checked(self.file.read_text("ascii").strip(), f"{self.file}: the token")
        except OSError as error:
            raise BadCredentials(f"{self.file}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise BadCredentials(f"{self.file}: the token must be ASCII") from None


def _checked(token: str, what: str) -> str:
    if not token:
        raise BadCredentials(f"{what} is empty")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadCredentials(f"{what} must be one word of printable ASCII characters")
    return token
