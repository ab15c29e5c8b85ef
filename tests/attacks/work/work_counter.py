"""Counts the work of the interpreted packages exactly, by rewriting their syntax trees as they are imported.

One unit is: one function or lambda that runs, one round of a loop or comprehension, or one element that an
operation of C looks at or copies: `in` with a sequence, slices, concatenation, comparison of sequences, and
calls of builtins, of methods of builtin containers and of `collections` with containers as arguments. Eight
bytes of a text or of a message, 64 elements that a list only shifts, and 1,024 bits of a wide integer are a
unit as well. A sort counts its elements, not their logarithm.

Not seen are: libraries, generated methods of dataclasses, hashes of keys other than those of `get`,
`setdefault`, `add`, `pop` and `discard`, and `in` and subscripts of dictionaries and sets. The counts are the
same on every machine and in every run.
"""

import ast
import builtins
import operator
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Final

from google.protobuf.message import Message

PACKAGES: Final = ("tenure.wire", "tenure.codec", "tenure.solver", "tenure.server", "tenure.terms")
_MORE: Final[list[str]] = []
_TEXT: Final = 8
_SHIFTED: Final = 64
_BITS: Final = 1_024
_TEXTS: Final = frozenset((str, bytes, bytearray))
_SEQUENCES: Final = frozenset((list, tuple, deque, *_TEXTS))
_CONTAINERS: Final = frozenset((*_SEQUENCES, dict, set, frozenset, Counter, OrderedDict))
_LIBRARY: Final = frozenset(("google._upb._message", "google.protobuf.internal.containers"))
_HASHING: Final = frozenset(("get", "setdefault", "add", "pop", "discard"))
_CONSTANT: Final = frozenset(
    (
        *("append", "popleft", "appendleft", "popitem", "clear", "keys", "values", "items", "move_to_end"),
        *(
            "add",
            "get",
            "setdefault",
            "discard",
            "len",
            "bool",
            "isinstance",
            "getattr",
            "hasattr",
            "setattr",
            "iter",
        ),
        *("id", "callable", "repr", "type", "enumerate", "zip", "map", "filter", "reversed", "range", "next"),
        *("bisect", "bisect_left", "bisect_right", "heappush", "heappop", "pop"),
    )
)
"""Builtins and methods whose work does not depend on the size of their arguments."""
_SHIFTING: Final = frozenset(("insert", "insort", "insort_right", "insort_left", "pop"))
"""Methods of lists and functions for lists that shift elements."""
_ARGUMENTS_ONLY: Final = frozenset(("extend", "update", "issuperset", "isdisjoint"))
"""Methods whose work does not depend on the size of their object."""
_UNITS: Final = [0]


def work() -> int:
    """Units so far."""
    return _UNITS[0]


def _tick() -> None:
    _UNITS[0] += 1


def _charge(units: int) -> None:
    _UNITS[0] += units


def _one(value: Any) -> Any:
    _tick()
    return value


def _each(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _tick()
        yield value


def _size(value: Any) -> int:
    """Elements of a container, parts of a text or message, words of a wide integer."""
    kind = type(value)
    if kind is int:
        return int(value.bit_length()) // _BITS
    if kind in _TEXTS:
        return len(value) // _TEXT
    if kind in _CONTAINERS:
        return len(value)
    if kind.__module__ in _LIBRARY:
        return len(value)
    if isinstance(value, Message):
        return value.ByteSize() // _TEXT
    return len(value) if isinstance(value, tuple) else 0


def _hash_size(key: Any) -> int:
    return sum(1 + _hash_size(part) for part in key) if isinstance(key, tuple) else 0


def _sized(value: Any) -> Any:
    size = _size(value)
    if size:
        _charge(size)
    return value


def _contains(item: Any, container: Any) -> bool:
    kind = type(container)
    if kind in _SEQUENCES or (kind.__module__ in _LIBRARY and not hasattr(container, "keys")):
        _charge(_size(container))
    return item in container


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def charged(one: Any, other: Any) -> bool:
        kind = type(one)
        if kind in _SEQUENCES and kind is type(other):
            _charge(min(_size(one), _size(other)))
        return compare(one, other)

    return charged


def _apply(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function; charge it if it is part of the interpreter or of the library for messages."""
    kind = type(function)
    if kind is FunctionType or kind is MethodType:
        return function(*arguments, **named)
    is_class = kind is type and function.__module__ in ("builtins", "collections")
    if not is_class and kind is not BuiltinFunctionType:
        return function(*arguments, **named)
    name, owner = function.__name__, getattr(function, "__self__", None)
    if name in _HASHING and arguments and type(arguments[0]) is tuple:
        _charge(_hash_size(arguments[0]))
    if name in _SHIFTING and arguments:
        _charge(max([len(each) for each in (owner, *arguments) if type(each) is list], default=0) // _SHIFTED)
    elif name not in _CONSTANT:
        _charge(sum(map(_size, arguments)))
        if type(owner) in _CONTAINERS and name not in _ARGUMENTS_ONLY:
            _charge(_size(owner))
        if name in ("SerializeToString", "ByteSize"):
            _charge(_size(owner))
        result = function(*arguments, **named)
        if is_class or type(result) in _TEXTS:
            _charge(_size(result))
        return result
    return function(*arguments, **named)


class _Counting(ast.NodeTransformer):
    """Adds calls of the functions above."""

    def _call(self, function: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])

    def _with_tick(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        has_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        first = 1 if has_text else 0
        return [*body[:first], ast.Expr(self._call("__tick__")), *body[first:]]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._with_tick([self.visit(statement) for statement in node.body])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [
            self.visit(each) if isinstance(each, ast.FunctionDef | ast.ClassDef) else each
            for each in node.body
        ]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self._call("__one__", self.visit(node.body))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body = self._with_tick(node.body)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body = self._with_tick(node.body)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._call("__each__", node.iter)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        match node.ops[0]:
            case ast.In():
                return self._call("__contains__", node.left, node.comparators[0])
            case ast.NotIn():
                return ast.UnaryOp(ast.Not(), self._call("__contains__", node.left, node.comparators[0]))
            case ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE():
                name = f"__{type(node.ops[0]).__name__.lower()}__"
                return self._call(f"__count{name}", node.left, node.comparators[0])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Slice):
            return self._call("__sized__", node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._call("__sized__", node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node.value = self._call("__sized__", self.visit(node.value))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        return self._call("__sized__", node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = self.visit(node.value)  # its format is no text of its own
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "cast"):
            return node
        node.args.insert(0, node.func)
        node.func = ast.Name("__apply__", ast.Load())
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.body = [self.visit(statement) for statement in case.body]
        return node


def rewrite(source: str | bytes, path: str) -> CodeType:
    """Code of a module that counts. Only functions are rewritten, not what runs on import."""
    tree = ast.parse(source, path)
    tree.body = [_rewritten(statement) for statement in tree.body]
    return compile(ast.fix_missing_locations(tree), path, "exec")


def _rewritten(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement
    decorators, statement.decorator_list = statement.decorator_list, []
    visited: Any = _Counting().visit(statement)
    visited.decorator_list = decorators
    return visited  # type: ignore[no-any-return]


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return rewrite(self.get_data(path), path)


class _Finder(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith((*PACKAGES, *_MORE)):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "__tick__": _tick,
    "__one__": _one,
    "__each__": _each,
    "__sized__": _sized,
    "__contains__": _contains,
    "__apply__": _apply,
    "__count__eq__": _comparing(operator.eq),
    "__count__noteq__": _comparing(operator.ne),
    "__count__lt__": _comparing(operator.lt),
    "__count__lte__": _comparing(operator.le),
    "__count__gt__": _comparing(operator.gt),
    "__count__gte__": _comparing(operator.ge),
}
"""What rewritten code calls, by name."""


def install(*more: str) -> None:
    """Count from now on what modules do that are imported later, also those of more packages."""
    _MORE.extend(more)
    for name, function in FUNCTIONS.items():
        setattr(builtins, name, function)
    sys.meta_path.insert(0, _Finder)
