"""Sentences for people that quote names of the caller's: nothing in them moves a cursor or breaks a line."""


def printable(sentence: str) -> str:
    """The sentence with everything escaped that cannot be printed, such as newlines and escape sequences."""
    if sentence.isprintable():
        return sentence
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in sentence)
