"""What recurs in the rows of an answer: each pod group, node, word and moment is written once."""

from typing import Final

from tenure.server.codec.identifiers import quoted
from tenure.server.codec.printable import printable
from tenure.server.codec.writing import moment, text
from tenure.solver.model.cluster import Cluster

PIECE: Final = 128
"""Most answers mention few of all pod groups and nodes, and some nearly all: there is room for so many more
where one is mentioned.
"""


class Mention:
    """A pod group or node in the forms in which rows mention it."""

    __slots__ = ("begins", "quoted", "said", "written")

    def __init__(self, name: str, said: str) -> None:
        self.written = text(name)
        """Its uid or name as the text of a field."""
        self.quoted = quoted(name)
        """The same in JSON, for ids."""
        self.said = printable(said)
        """What sentences call it."""
        self.begins = self.said[:1].upper() + self.said[1:]
        """The same where they begin with it."""


class _Mentions:
    """Those of pod groups or of nodes, by index."""

    __slots__ = ("_pieces",)

    def __init__(self, count: int) -> None:
        self._pieces: list[list[Mention | None]] = [[]] * (count // PIECE + 1)

    def get(self, index: int) -> Mention | None:
        """None when it was not mentioned yet."""
        piece = self._pieces[index // PIECE]
        return piece[index % PIECE] if piece else None

    def put(self, index: int, mention: Mention) -> Mention:
        """It is mentioned like this from now on."""
        number = index // PIECE
        if not self._pieces[number]:
            self._pieces[number] = [None] * PIECE
        self._pieces[number][index % PIECE] = mention
        return mention


class Recurring:
    """What recurs in one answer, written when it first occurs."""

    __slots__ = ("_cluster", "_moments", "_nodes", "_pod_groups", "_words")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pod_groups = _Mentions(len(cluster.pod_groups))
        self._nodes = _Mentions(len(cluster.nodes))
        self._words: dict[str, bytes] = {}
        self._moments: dict[int, bytes] = {}

    def pod_group(self, index: int) -> Mention:
        """A pod group; sentences tell its queue as well."""
        mention = self._pod_groups.get(index)
        if mention is None:
            group = self._cluster.pod_groups[index]
            said = f"pod group {group.name} (queue {group.queue_name})"
            mention = self._pod_groups.put(index, Mention(group.uid, said))
        return mention

    def node(self, index: int) -> Mention:
        """A node."""
        mention = self._nodes.get(index)
        if mention is None:
            name = self._cluster.nodes[index].name
            mention = self._nodes.put(index, Mention(name, name))
        return mention

    def word(self, word: str) -> bytes:
        """One of few texts, such as names of actions and guards."""
        written = self._words.get(word)
        if written is None:
            written = self._words[word] = text(word)
        return written

    def moment(self, nanoseconds: int) -> bytes:
        """The timestamp of a moment."""
        written = self._moments.get(nanoseconds)
        if written is None:
            written = self._moments[nanoseconds] = moment(nanoseconds)
        return written
