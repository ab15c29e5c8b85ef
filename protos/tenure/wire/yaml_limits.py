"""Limits on the nesting of a YAML document, and on what its aliases add to it.

Deep nesting exhausts the stack of parsers. A few lines of anchors that refer to each other stand for millions
of nodes. Code that copies them, such as merge keys and conversions to messages, needs memory and time for all
of them.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 200
"""Maximum nesting; a snapshot needs about ten levels, a manifest with a schema about sixty."""
MAX_ALIASED_NODES: Final = 250_000
"""Maximum number of nodes that the aliases of one document stand for, together."""


def limit_events(events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    """Pass on the events of a stream of documents.

    Raises yaml.MarkedYAMLError when a document is nested too deeply, when its aliases stand for too many
    nodes, or when one refers to a node that contains it.
    """
    sizes: dict[str, int] = {}
    enclosing: list[tuple[str | None, int]] = []
    """Anchor of each open collection, and the number of nodes before it."""
    nodes = aliased = 0
    for event in events:
        match event:
            case yaml.DocumentStartEvent():
                sizes, nodes, aliased = {}, 0, 0
            case yaml.AliasEvent():
                if any(anchor == event.anchor for anchor, _ in enclosing):
                    raise _error(f"the alias *{event.anchor} refers to a node that contains it", event)
                size = sizes.get(event.anchor or "", 1)
                nodes, aliased = nodes + size, aliased + size
                if aliased > MAX_ALIASED_NODES:
                    raise _error(f"the aliases stand for more than {MAX_ALIASED_NODES:,} nodes", event)
            case yaml.CollectionStartEvent():
                if len(enclosing) == MAX_DEPTH:
                    raise _error("nested too deeply", event)
                enclosing.append((event.anchor, nodes))
                nodes += 1
            case yaml.CollectionEndEvent():
                anchor, before = enclosing.pop()
                if anchor:
                    sizes[anchor] = nodes - before
            case yaml.ScalarEvent():
                nodes += 1
                if event.anchor:
                    sizes[event.anchor] = 1
        yield event


def _error(problem: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    mark: Any = event.start_mark  # the parser in C has a mark of its own, with the same fields
    return yaml.MarkedYAMLError(None, None, problem, mark)
