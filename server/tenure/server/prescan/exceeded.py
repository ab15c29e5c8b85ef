"""What is said when a request has more of something than the server accepts."""


class LimitExceeded(ValueError):
    """A request, or a state, has more rows or entries than the server accepts. Names the field and the limit.

    `limit` is the limit's name in the contract ("pods"), `setting` that in the configuration file.
    """

    def __init__(self, field: str, limit: str, most: int) -> None:
        self.field, self.limit, self.most = field, limit, most
        first, *rest = limit.split("_")
        self.setting = "server.maxRows." + first + "".join(word.capitalize() for word in rest)
        super().__init__(
            f"{field} has more than {most:,} {'rows' if limit != 'elements' else 'entries'}, "
            f"the limit {limit}: send fewer, or raise {self.setting} in the server's configuration"
        )
