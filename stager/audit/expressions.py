"""Turns expressions into values, and notes what they read and call on the way. Each node is visited once."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from stager.audit.facts import CALLEE, UNKNOWN, Event, Function, Module, Value

_MOST_ITEMS = 64
_MOST_TEXT = 100
_KEY_READERS = frozenset({"get", "pop", "setdefault", "getattr", "hasattr", "getenv", "get_int", "get_str", "get_bool"})
_HANDS_ON = frozenset(
    {"run_in_threadpool", "iterate_in_threadpool", "to_thread", "run_sync", "run_in_executor", "submit"}
    | {"partial", "map", "Thread", "Process", "start_new_thread", "call_soon", "call_soon_threadsafe", "apply_async"}
)


def dotted(node: ast.expr) -> str:
    """Return the dotted text of a plain name, attribute chain or constant subscript, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        base = dotted(node.value)
        return f"{base}.{node.slice.value}" if base else ""
    return ""


class Expressions:
    """Reads the expressions of one file into the tables of its module."""

    def __init__(self, module: Module, source: bytes) -> None:
        self.module = module
        self._lines = source.split(b"\n")

    def text(self, node: ast.expr) -> str:
        """Return the source of an expression on one line, shortened."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if first == last:
            piece = self._lines[first][node.col_offset : node.end_col_offset]
        else:
            rows = [self._lines[first][node.col_offset :], *self._lines[first + 1 : min(last + 1, first + 4)]]
            if last < first + 4:
                rows[-1] = rows[-1][: node.end_col_offset]
            piece = b" ".join(rows)
        words = " ".join(piece.decode("utf-8", "replace").split())
        return words if len(words) <= _MOST_TEXT else words[: _MOST_TEXT - 1] + "…"

    def read(self, node: ast.expr, function: Function, *, looped: bool = False, consumed: str = "") -> Value:
        """Return the value of an expression; its reads, calls and yields are noted in the function and module."""
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            function.reads.add(node.id)
            self.module.name_reads.setdefault(node.id, node.lineno)
            return Value("name", node.lineno, name=node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, function, looped)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, function, looped)
        if isinstance(node, ast.Call):
            return self._call(node, function, looped, consumed)
        if isinstance(node, ast.Dict):
            return self._dict(node, function, looped)
        if isinstance(node, ast.Await):
            return self.read(node.value, function, looped=looped, consumed="await")
        if isinstance(node, ast.Yield | ast.YieldFrom):
            inner = () if node.value is None else (self.read(node.value, function, looped=looped, consumed="return"),)
            function.events.append(Event("yield", node.lineno, looped=looped))
            return Value("yield", node.lineno, children=inner)
        return self._other(node, function, looped, consumed)

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, str):
            if len(value) <= 80 and " " not in value:
                self.module.strings.setdefault(value, node.lineno)
            return Value("constant", node.lineno, constant=value if len(value) <= 200 else value[:200])
        kept = value if value is None or isinstance(value, int | float) else UNKNOWN
        return Value("constant", node.lineno, constant=kept)

    def _attribute(self, node: ast.Attribute, function: Function, looped: bool) -> Value:
        self.module.attribute_reads.setdefault(node.attr, node.lineno)
        name = dotted(node)
        base = self.read(node.value, function, looped=looped, consumed="chained")
        if name:
            return Value("name", node.lineno, name=name, children=() if base.shape == "name" else (base,))
        return Value("Attribute", node.lineno, name=f".{node.attr}", text=self.text(node), children=(base,))

    def _subscript(self, node: ast.Subscript, function: Function, looped: bool) -> Value:
        base = self.read(node.value, function, looped=looped)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            self._key(node, node.slice.value, node.lineno)
            name = dotted(node)
            return Value("item", node.lineno, name=name, text=self.text(node), children=(base,))
        index = self.read(node.slice, function, looped=looped)
        return Value("Subscript", node.lineno, text=self.text(node), children=(base, index))

    def _key(self, node: ast.expr, key: str, line: int) -> None:
        self.module.key_reads.setdefault(key, line)
        path = tuple(reversed(list(self._key_chain(node))))
        if len(path) > 1:
            self.module.key_paths.append((path, line))

    def _key_chain(self, node: ast.expr) -> Iterable[str]:
        while True:
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                key, node = node.slice.value, node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                first = node.args[0] if node.args else None
                key, node = (first.value if isinstance(first, ast.Constant) else None), node.func.value
            else:
                return
            if not isinstance(key, str):
                return
            yield key

    def _call(self, node: ast.Call, function: Function, looped: bool, consumed: str) -> Value:
        name = dotted(node.func)
        terminal = name.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        callee: tuple[tuple[str, Value], ...] = ()
        if not isinstance(node.func, ast.Name):
            base = self.read(node.func, function, looped=looped)
            callee = () if base.shape == "name" and not base.children else ((CALLEE, base),)
        else:
            function.reads.add(name)
            self.module.name_reads.setdefault(name, node.lineno)
        if terminal in _KEY_READERS:
            self._noted_key(node, terminal)
        handed = f"handed to {terminal}"
        arguments = [self.read(item, function, looped=looped, consumed=handed) for item in node.args]
        keywords = tuple(
            (word.arg or "**", self.read(word.value, function, looped=looped, consumed=handed))
            for word in node.keywords
        )
        value = Value(
            "call",
            node.lineno,
            name=name or f".{terminal}",
            text=self.text(node),
            children=tuple(arguments),
            keywords=(*keywords, *callee),
            consumed=consumed,
        )
        function.events.append(Event("call", node.lineno, ref=value.name, value=value, looped=looped))
        if terminal in _HANDS_ON:
            self._hand_on(value, function, looped, f"handed to {terminal}")
        return value

    def _noted_key(self, node: ast.Call, terminal: str) -> None:
        place = 1 if terminal in {"getattr", "hasattr"} else 0
        if len(node.args) > place:
            key = node.args[place]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                if terminal == "get":
                    self._key(node, key.value, node.lineno)
                else:
                    self.module.key_reads.setdefault(key.value, node.lineno)

    def _hand_on(self, call: Value, function: Function, looped: bool, how: str) -> None:
        """Note functions that are handed over to be called elsewhere as calls of this one."""
        handed = [child for child in call.children if child.shape == "name"]
        handed += [value for key, value in call.keywords if key in {"target", "func", "fn"} and value.shape == "name"]
        for child in handed:
            inner = Value("call", call.line, name=child.name, text=call.text, consumed=how)
            function.events.append(Event("call", call.line, ref=child.name, value=inner, looped=looped))

    def _dict(self, node: ast.Dict, function: Function, looped: bool) -> Value:
        pairs: list[tuple[str, Value]] = []
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.read(item, function, looped=looped)
            if key is None:
                pairs.append(("**", value))
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                value.line = max(value.line, key.lineno) if value.shape != "dict" else key.lineno
                pairs.append((key.value, value))
            else:
                self.read(key, function, looped=looped)
        return Value("dict", node.lineno, keywords=tuple(pairs[:_MOST_ITEMS]))

    def _other(self, node: ast.expr, function: Function, looped: bool, consumed: str) -> Value:
        loops = looped or isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            left = node.left
            if isinstance(left, ast.Constant) and isinstance(left.value, str):
                self.module.key_reads.setdefault(left.value, left.lineno)
        keep = (
            consumed if isinstance(node, ast.IfExp | ast.Starred | ast.List | ast.Tuple) or "handed" in consumed else ""
        )
        children: list[Value] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                children.append(self.read(child, function, looped=loops, consumed=keep))
            elif isinstance(child, ast.comprehension):
                children.extend(self._comprehension(child, function, looped=looped))
        shape = type(node).__name__
        if shape == "UnaryOp" and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = children[0].number
            if number is not None:
                return Value("constant", node.lineno, constant=-number)
        if shape == "BinOp" and isinstance(node, ast.BinOp):
            shape = type(node.op).__name__
        text = (
            self.text(node) if shape not in {"Starred", "Slice", "FormattedValue"} and hasattr(node, "lineno") else ""
        )
        return Value(shape, node.lineno, text=text, children=tuple(children[:_MOST_ITEMS]))

    def _comprehension(self, node: ast.comprehension, function: Function, *, looped: bool) -> list[Value]:
        how = "async for" if node.is_async else ""
        found = [self.read(node.iter, function, looped=looped, consumed=how)]
        return [*found, *(self.read(test, function, looped=True) for test in node.ifs)]
