"""Section of the report: limits of disruptions, and what this response takes from them."""

from tenure.render.response_view import ResponseView
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.v1.decide_pb2 import DisruptionBudgetStatus, EvictionRateStatus


def render_limits(view: ResponseView) -> TableSection:
    """Disruption budgets and eviction rates from which something was taken, or that refused something."""
    rows = [
        TableRow((f"budget {each.name}", *map(str, _pods(each))), ("budget",))
        for each in view.response.disruption_budgets
    ]
    rows += [
        TableRow((f"rate {each.name}", *map(_text, _tokens(each))), ("rate",))
        for each in view.response.eviction_rates
        if each.refusals or each.after_milli != each.before_milli
    ]
    amounts = (TableColumn(heading, right=True) for heading in ("Allowed", "Taken", "Left"))
    columns = (TableColumn("Limit", wraps=True), *amounts)
    return TableSection("Limits of disruptions", columns, ("Kind",), rows)


def _pods(budget: DisruptionBudgetStatus) -> tuple[int, int, int]:
    return budget.allowed, budget.in_flight + budget.spent, budget.left


def _tokens(rate: EvictionRateStatus) -> tuple[int, int, int]:
    return rate.before_milli, rate.before_milli - rate.after_milli, rate.after_milli


def _text(thousandths: int) -> str:
    return f"{thousandths / 1000:,.3f}".rstrip("0").rstrip(".")
