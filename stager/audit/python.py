"""Reads one Python file by its syntax tree into facts; the tree itself is not kept, and nothing is run."""

from __future__ import annotations

import ast
import warnings
from pathlib import PurePosixPath

from stager.audit.assignments import Assignments, alias
from stager.audit.expressions import Expressions, dotted
from stager.audit.facts import Branch, Class, Event, Function, Module
from stager.audit.signatures import parameters, read_imports

_Def = ast.FunctionDef | ast.AsyncFunctionDef


def module_name(path: str) -> str:
    """Return the dotted name a file would have if its root were importable."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def read_python(path: str, source: bytes) -> Module:
    """Read one file.

    Raises:
        SyntaxError: it does not parse.
        ValueError: it holds null bytes or cannot be decoded.
        RecursionError: it is nested too deeply to read.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reader's warnings are about somebody else's code
        tree = ast.parse(source, filename=path)
    module = Module(path, module_name(path), lines=source.count(b"\n") + 1)
    _Reader(module, source).body(tree)
    return module


class _Reader:
    """Walks the statements of one file."""

    def __init__(self, module: Module, source: bytes) -> None:
        self.module = module
        self.expressions = Expressions(module, source)
        self.assignments = Assignments(module, self.expressions)
        self.owner = ""

    def body(self, tree: ast.Module) -> None:
        """Read a whole file."""
        function = Function(self.module.path, "<body>", "<body>", 1)
        self.module.functions.append(function)
        self.block(tree.body, function)

    def block(
        self,
        statements: list[ast.stmt],
        function: Function,
        *,
        looped: bool = False,
        in_handler: bool = False,
        in_finally: bool = False,
    ) -> None:
        """Read statements in order."""
        for statement in statements:
            before = len(function.events)
            self.statement(statement, function, looped)
            if in_handler or in_finally:
                for event in function.events[before:]:
                    event.in_handler |= in_handler
                    event.in_finally |= in_finally

    def statement(self, node: ast.stmt, function: Function, looped: bool) -> None:
        """Read one statement and everything below it."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node, function)
            case ast.ClassDef():
                self.klass(node, function)
            case ast.Import() | ast.ImportFrom():
                read_imports(node, self.module)
            case ast.Assign():
                value = self.expressions.read(node.value, function, looped=looped)
                for target in node.targets:
                    self.assignments.store(target, value, function, self.owner, looped)
            case ast.AnnAssign():
                self.assignments.annotated(node, function, self.owner, looped)
            case ast.AugAssign():
                value = self.expressions.read(node.value, function, looped=looped)
                op = "+" if isinstance(node.op, ast.Add) else "-" if isinstance(node.op, ast.Sub) else "*"
                self.assignments.store(node.target, value, function, self.owner, looped, op=op)
            case ast.With() | ast.AsyncWith():
                self.with_block(node, function, looped)
            case ast.Try() | ast.TryStar():
                self.try_block(node, function, looped)
            case ast.If():
                self.if_block(node, function, looped)
            case ast.For() | ast.AsyncFor():
                how = "async for" if isinstance(node, ast.AsyncFor) else "for"
                value = self.expressions.read(node.iter, function, looped=looped, consumed=how)
                alias(node.target, node.iter, function)
                self.assignments.store(node.target, value, function, self.owner, looped, op="for")
                self.block([*node.body, *node.orelse], function, looped=True)
            case ast.While():
                self.expressions.read(node.test, function, looped=True)
                self.block([*node.body, *node.orelse], function, looped=True)
            case ast.Return():
                if node.value is not None:
                    function.returns.append(
                        self.expressions.read(node.value, function, looped=looped, consumed="return")
                    )
                function.events.append(Event("end", node.lineno, looped=looped))
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):  # a docstring reads nothing
                    self.expressions.read(node.value, function, looped=looped, consumed="statement")
            case ast.Match():
                self.expressions.read(node.subject, function, looped=looped)
                for arm in node.cases:
                    self.block(arm.body, function, looped=looped)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expressions.read(child, function, looped=looped)
                if isinstance(node, ast.Raise | ast.Break):
                    function.events.append(Event("end", node.lineno, looped=looped))

    def with_block(self, node: ast.With | ast.AsyncWith, function: Function, looped: bool) -> None:
        """Read a with block: what it enters is held until its end."""
        entered: list[str] = []
        for item in node.items:
            value = self.expressions.read(item.context_expr, function, looped=looped, consumed="enter")
            if item.optional_vars is not None:
                self.assignments.store(item.optional_vars, value, function, self.owner, looped)
            if value.name:
                entered.append(value.name)
                function.events.append(Event("acquire", node.lineno, ref=value.name, value=value, looped=looped))
        self.block(node.body, function, looped=looped)
        last = node.end_lineno or node.lineno
        function.events.extend(Event("release", last, ref=name, looped=looped) for name in reversed(entered))

    def try_block(self, node: ast.Try | ast.TryStar, function: Function, looped: bool) -> None:
        """Read a try block; what happens in its handlers and at its end is marked so."""
        self.block([*node.body, *node.orelse], function, looped=looped)
        for handler in node.handlers:
            self.block(handler.body, function, looped=looped, in_handler=True)
        before = len(self.module.stores)
        self.block(node.finalbody, function, looped=looped, in_finally=True)
        for store in self.module.stores[before:]:
            store.in_finally = True

    def if_block(self, node: ast.If, function: Function, looped: bool) -> None:
        """Read a condition; one that ends the work in its body is noted as such."""
        test = self.expressions.read(node.test, function, looped=looped)
        before = len(function.events)
        self.block(node.body, function, looped=looped)
        ends = any(event.kind == "end" for event in function.events[before:])
        ends = ends or any(isinstance(child, ast.Raise | ast.Return | ast.Break) for child in node.body)
        function.branches.append(Branch(test, node.lineno, node.body[-1].end_lineno or node.lineno, ends))
        self.block(node.orelse, function, looped=looped)

    def function(self, node: _Def, outer: Function) -> None:
        """Read a function: its parameters and decorators belong to the outer scope, its body to itself."""
        inside = outer.qualname if outer.name != "<body>" else self.owner
        qualname = f"{inside}.{node.name}" if inside else node.name
        function = Function(
            self.module.path,
            qualname,
            node.name,
            node.lineno,
            owner=self.owner,
            parent=outer.qualname if outer.name != "<body>" else "",
            is_async=isinstance(node, ast.AsyncFunctionDef),
        )
        function.decorators = [self.expressions.read(item, outer) for item in node.decorator_list]
        function.parameters = parameters(node.args, function, self.expressions)
        self.module.functions.append(function)
        self.block(node.body, function)

    def klass(self, node: ast.ClassDef, outer: Function) -> None:
        """Read a class; its body is a function of its own."""
        before = self.owner
        inside = outer.qualname if outer.name != "<body>" else before
        qualname = f"{inside}.{node.name}" if inside else node.name
        decorators = [self.expressions.read(item, outer) for item in node.decorator_list]
        for base in [*node.bases, *(word.value for word in node.keywords)]:
            self.expressions.read(base, outer)
        self.module.classes.append(
            Class(
                self.module.path,
                qualname,
                node.name,
                node.lineno,
                tuple(name for base in node.bases if (name := dotted(base))),
                tuple(item.name for item in decorators),
            )
        )
        self.owner = qualname
        body = Function(self.module.path, f"{qualname}.<body>", "<body>", node.lineno, owner=qualname)
        self.module.functions.append(body)
        self.block(node.body, body)
        self.owner = before
