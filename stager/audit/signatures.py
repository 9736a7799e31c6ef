"""Reads what a file takes from outside: its imports, and the parameters of its functions."""

from __future__ import annotations

import ast

from stager.audit.expressions import Expressions
from stager.audit.facts import Function, Module, Parameter


def read_imports(node: ast.Import | ast.ImportFrom, module: Module) -> None:
    """Note what each local name stands for."""
    if isinstance(node, ast.Import):
        for name in node.names:
            module.imports[name.asname or name.name.partition(".")[0]] = (
                name.name if name.asname else name.name.partition(".")[0]
            )
        return
    source = node.module or ""
    if node.level:
        package = module.dotted if module.path.endswith("__init__.py") else module.dotted.rpartition(".")[0]
        parts = package.split(".") if package else []
        base = ".".join(parts[: len(parts) - node.level + 1])
        source = ".".join(part for part in (base, node.module) if part)
    for name in node.names:
        if name.name == "*":
            module.stars.append(source)
        else:
            module.imports[name.asname or name.name] = f"{source}.{name.name}"


def parameters(node: ast.arguments, function: Function, expressions: Expressions) -> list[Parameter]:
    """Note parameters with their defaults; a default's calls count as the function's own (``Depends(...)``)."""
    plain = [*node.posonlyargs, *node.args]
    gaps: list[ast.expr | None] = [None] * (len(plain) - len(node.defaults))
    pairs = list(zip([*plain, *node.kwonlyargs], [*gaps, *node.defaults, *node.kw_defaults], strict=True))
    found = []
    for argument, default in pairs:
        found.append(
            Parameter(
                argument.arg,
                argument.lineno,
                expressions.text(argument.annotation) if argument.annotation is not None else "",
                expressions.read(default, function) if default is not None else None,
            )
        )
    extra = [item.arg for item in (node.vararg, node.kwarg) if item is not None]
    found.extend(Parameter(name, function.line, annotation="*") for name in extra)
    return found
