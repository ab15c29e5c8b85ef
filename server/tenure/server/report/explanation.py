"""An explanation as text for people: the answer, and what would help."""

from rich.console import Console
from rich.text import Text
from tenure.v1.explain_pb2 import ExplainResponse, Explanation

AUDIENCES = ("public", "tenant", "operator")


def print_explanation(console: Console, answer: ExplainResponse, audience: str) -> None:
    """Prints what a reader may know; remedies in the order of how little they change."""
    console.print(Text(getattr(answer.explanation, audience)))
    if answer.remedies:
        console.print("\nWhat would help:", highlight=False)
        for remedy in answer.remedies:
            console.print(Text(f"· {getattr(remedy.explanation, audience)}"))


def readable_by(answer: ExplainResponse, audience: str) -> ExplainResponse:
    """The answer without what a reader may not know: other texts, and the facts, which are for operators."""
    if audience == "operator":
        return answer
    kept = ExplainResponse(explanation=_only(answer.explanation, audience), remedies=answer.remedies)
    for remedy in kept.remedies:
        remedy.explanation.CopyFrom(_only(remedy.explanation, audience))
    if answer.HasField("until"):
        kept.until.CopyFrom(answer.until)
    return kept


def _only(text: Explanation, audience: str) -> Explanation:
    return Explanation(**{audience: getattr(text, audience)})
