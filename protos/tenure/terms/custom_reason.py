"""Reasons of plugins and actions of other packages: a code of their own beside a general one of the catalog.

A package declares its reasons as constants, which are checked when it is loaded. So each text is short and
names no workload, and metrics have a bounded number of values. Programs that do not know the code use the
general one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

from tenure.terms.reasons import NONE, REASONS, ReasonCode

MAX_REASONS: Final = 16
"""Reasons of one plugin or action."""
MAX_CODE: Final = 40
MAX_DOMAIN: Final = 63
MAX_TEXT: Final = 200
_CODE: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


@final
@dataclass(frozen=True, slots=True)
class CustomReason:
    """A reason that a plugin or an action declares.

    Raises ValueError for a code or a text that cannot be shown everywhere; the message says what to write.
    """

    code: str
    """In UpperCamelCase, such as `CheckpointRunning`; unique in its plugin or action."""
    clause: str
    """Follows "is pending because", "is not evicted because" and "is evicted because"."""
    public: str
    """A sentence for the owner of any workload."""
    remedy: str = NONE
    """What the owner or an operator can do, as an imperative: `wait until the checkpoint is written`."""
    base: ReasonCode = ReasonCode.PROTECTED
    """The code of the `Rejection`, `GuardVerdict` or `Action` that has this reason."""

    def __post_init__(self) -> None:
        if not _CODE.fullmatch(self.code) or len(self.code) > MAX_CODE:
            raise _invalid(self.code, f"code: use UpperCamelCase with at most {MAX_CODE} letters and digits")
        for name, text in (("clause", self.clause), ("public", self.public), ("remedy", self.remedy)):
            if not text.isprintable() or len(text) > MAX_TEXT or "{" in text or "}" in text:
                raise _invalid(
                    self.code, f"{name}: use one line of at most {MAX_TEXT} characters without braces"
                )
        if not self.clause or self.clause.endswith("."):
            raise _invalid(self.code, "clause: use a clause without final period, such as 'it is full'")
        if not self.public.endswith("."):
            raise _invalid(self.code, "public: use a sentence that ends with a period, such as 'It is full.'")
        if self.remedy.endswith("."):
            raise _invalid(self.code, "remedy: use an imperative without final period, such as 'wait'")
        row = REASONS[self.base]
        if not (row.clause or row.victim_clause):
            raise _invalid(self.code, f"base: {self.base.name} is the reason of no rejection and no eviction")


@final
class DeclaredReasons:
    """What plugins and actions declare, by their names in a profile.

    Raises ValueError for reasons that are not a sequence of at most MAX_REASONS different codes, and for two
    that Kubernetes conditions could not tell apart.
    """

    def __init__(
        self,
        by_domain: Mapping[str, Iterable[object]] | None = None,
        evictions: Mapping[str, CustomReason] | None = None,
    ) -> None:
        """`evictions` are the reasons of the evictions of actions."""
        self.evictions: Final[Mapping[str, CustomReason]] = evictions or {}
        self._declared: dict[tuple[str, str], CustomReason] = {}
        self._conditions = {_camel(code.name) for code in ReasonCode}
        for domain, reasons in (by_domain or {}).items():
            self.add(domain, reasons)

    def add(self, domain: str, reasons: Iterable[object]) -> None:
        """Add all reasons of a plugin or an action, or none if one of them is refused."""
        declared = list(reasons)
        if len(declared) > MAX_REASONS:
            raise ValueError(f"it declares {len(declared)} reasons; use at most {MAX_REASONS}")
        found: dict[tuple[str, str], CustomReason] = {}
        conditions = set[str]()
        for each in declared:
            if not isinstance(each, CustomReason):
                raise ValueError(f"its reasons contain {type(each).__name__}; use CustomReason")
            condition = condition_name(domain, each.code)
            if not condition:
                name = f"a name of at most {MAX_DOMAIN} characters that begins with a letter"
                raise ValueError(f"its reasons need {name}, as their namespace")
            if condition in conditions or condition in self._conditions:
                raise ValueError(f"its reason {each.code} is declared before; use another code")
            conditions.add(condition)
            found[domain, each.code] = each
        self._declared.update(found)
        self._conditions |= conditions

    def find(self, domain: str, code: ReasonCode, reason: CustomReason | None) -> CustomReason | None:
        """The reason if the domain declares it for this general code, else None."""
        if reason is None or reason.base is not code or self._declared.get((domain, reason.code)) != reason:
            return None
        return reason

    def __len__(self) -> int:
        return len(self._declared)


def condition_name(domain: str, code: str) -> str:
    """The reason of a Kubernetes condition: `KeepQueuesQueueKept` for `keep-queues` and `QueueKept`.

    "": the parts are not those of a declared reason.
    """
    if not _CODE.fullmatch(code) or len(code) > MAX_CODE or len(domain) > MAX_DOMAIN:
        return ""
    words = _WORD.findall(domain)
    if not words or not words[0][0].isalpha():
        return ""
    return "".join([*[word[:1].upper() + word[1:] for word in words], code])


def qualified(domain: str, code: str) -> str:
    """The code with its domain: `keepqueues/QueueKept`."""
    return f"{domain}/{code}"


def _camel(name: str) -> str:
    return "".join([part.capitalize() for part in name.split("_")])


def _invalid(code: str, fix: str) -> ValueError:
    return ValueError(f"reason {code[:MAX_CODE]!r}: {fix}")


NO_REASONS: Final = DeclaredReasons()
