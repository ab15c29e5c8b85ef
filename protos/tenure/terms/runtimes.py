"""How many runtimes of finished pod groups count, for callers that write them and plugins that predict."""

from typing import Final

LAST_RUNTIMES: Final = 16
"""Of a queue and a size: so many, those that finished last (semantics R17.32)."""
