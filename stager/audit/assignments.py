"""Notes what a file assigns: names, attributes, constant keys, class fields, loop variables."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stager.audit.expressions import Expressions, dotted
from stager.audit.facts import Event, Function, Module, Store, Value


@dataclass(frozen=True, slots=True)
class Assignments:
    """Writes the assignments of one file into its module and functions."""

    module: Module
    expressions: Expressions

    def annotated(self, node: ast.AnnAssign, function: Function, owner: str, looped: bool) -> None:
        """Read ``name: type = value``; a field without a value is a store without a constant."""
        value = Value("missing", node.lineno)
        if node.value is not None:
            value = self.expressions.read(node.value, function, looped=looped)
        self.store(node.target, value, function, owner, looped, annotation=self.expressions.text(node.annotation))

    def store(
        self,
        target: ast.expr,
        value: Value,
        function: Function,
        owner: str,
        looped: bool,
        *,
        op: str = "",
        annotation: str = "",
    ) -> None:
        """Note an assignment to a name, attribute or constant key."""
        if isinstance(target, ast.Tuple | ast.List):
            parts = (
                value.children if value.shape in {"Tuple", "List"} and len(value.children) == len(target.elts) else ()
            )
            for index, part in enumerate(target.elts):
                self.store(
                    part,
                    parts[index] if parts else Value("part", value.line, children=(value,)),
                    function,
                    owner,
                    looped,
                    op=op,
                )
            return
        if isinstance(target, ast.Starred):
            target = target.value
        name = dotted(target)
        if not name:
            for child in ast.iter_child_nodes(target):
                if isinstance(child, ast.expr):
                    self.expressions.read(child, function, looped=looped)
            return
        base, _, last = name.rpartition(".")
        if base and isinstance(target, ast.Attribute | ast.Subscript):
            self.expressions.read(target.value, function, looped=looped)
        how = {"Attribute": "attribute", "Subscript": "item"}.get(type(target).__name__, "name")
        if how == "name" and function.name == "<body>" and owner:
            how = "field"
        store = Store(self.module.path, target.lineno, base, last, value, function.qualname, owner, how, op, annotation)
        self.module.stores.append(store)
        function.events.append(Event("store", target.lineno, ref=name, value=value, looped=looped))


def alias(target: ast.expr, source: ast.expr, function: Function) -> None:
    """Note which names a loop over literal tuples goes through."""
    if not isinstance(source, ast.Tuple | ast.List):
        return
    for row in source.elts:
        if isinstance(target, ast.Tuple) and isinstance(row, ast.Tuple) and len(row.elts) == len(target.elts):
            pairs = list(zip(target.elts, row.elts, strict=True))
        else:
            pairs = [(target, row)]
        for to, origin in pairs:
            if isinstance(to, ast.Name) and dotted(origin):
                function.aliases.setdefault(to.id, []).append(dotted(origin))
