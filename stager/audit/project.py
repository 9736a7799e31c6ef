"""All files of one audit together: names resolved across files by imports, classes and simple types.

Resolution is by reading only and may fail; it then returns nothing rather than a guess, except that a name
defined exactly once in the whole source is taken to mean that definition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from stager.audit.facts import Class, Function, Module, Parameter, Store, Value

#: Method names too common to be resolved by being unique.
_COMMON = frozenset(
    {"get", "put", "set", "run", "start", "stop", "close", "add", "append", "pop", "update", "clear", "copy", "read"}
    | {"write", "open", "send", "recv", "join", "wait", "items", "keys", "values", "format", "load", "save", "next"}
    | {"call", "apply", "register", "reset", "release", "acquire", "submit", "result", "cancel", "encode", "decode"}
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEPTH = 6
#: How many names handed from one to the next are followed to find a type.
_LONGEST = 40


class Project:
    """The facts of every file, with look-ups by name."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = list(modules)
        self.by_path = {module.path: module for module in self.modules}
        self._by_tail: dict[str, list[Module]] = defaultdict(list)
        self.functions_named: dict[str, list[Function]] = defaultdict(list)
        self.classes_named: dict[str, list[Class]] = defaultdict(list)
        self._subclasses: dict[str, list[Class]] = defaultdict(list)
        self._local: dict[tuple[str, str], Function | Class] = {}
        self.stores_named: dict[str, list[Store]] = defaultdict(list)
        self.calls_named: dict[str, list[tuple[Function, Value]]] = defaultdict(list)
        for module in self.modules:
            self._index(module)
        self._following = 0
        self._types: dict[tuple[str, str, str], tuple[Class, ...]] = {}

    def _index(self, module: Module) -> None:
        self._by_tail[module.dotted.rpartition(".")[2]].append(module)
        for klass in module.classes:
            self.classes_named[klass.name].append(klass)
            self._local[module.path, klass.qualname] = klass
            for base in klass.bases:
                self._subclasses[base.rpartition(".")[2]].append(klass)
        for function in module.functions:
            self.functions_named[function.name].append(function)
            self._local[module.path, function.qualname] = function
            for event in function.calls:
                if event.value is not None:
                    self.calls_named[event.value.terminal].append((function, event.value))
        for store in module.stores:
            self.stores_named[store.name].append(store)

    @property
    def functions(self) -> Iterator[Function]:
        """Every function of every file."""
        return (function for module in self.modules for function in module.functions)

    def local(self, path: str, qualname: str) -> Function | Class | None:
        """Return what one file defines under a qualified name."""
        return self._local.get((path, qualname))

    def module(self, name: str) -> Module | None:
        """Return the file that an import of a dotted name would load."""
        found = [
            module
            for module in self._by_tail.get(name.rpartition(".")[2], ())
            if module.dotted == name or module.dotted.endswith(f".{name}") or name.endswith(f".{module.dotted}")
        ]
        return min(found, key=lambda module: abs(len(module.dotted) - len(name)), default=None)

    def symbol(self, module: Module, name: str, depth: int = _DEPTH) -> Function | Class | None:
        """Return the function or class a plain name means in a file, through imports and re-exports."""
        found = self.local(module.path, name)
        if found is not None or depth == 0:
            return found
        if name in module.imports:
            source, _, original = module.imports[name].rpartition(".")
            origin = self.module(source) if source else None
            if origin is not None and (origin is not module or original != name):
                return self.symbol(origin, original, depth - 1)
            return self._only(original)
        for star in module.stars:
            origin = self.module(star)
            if origin is not None and origin is not module:
                found = self.symbol(origin, name, depth - 1)
                if found is not None:
                    return found
        return None

    def _only(self, name: str) -> Function | Class | None:
        classes = self.classes_named.get(name, [])
        if len(classes) == 1:
            return classes[0]
        functions = [item for item in self.functions_named.get(name, ()) if not item.owner and not item.parent]
        return functions[0] if not classes and len(functions) == 1 else None

    def klass(self, path: str, name: str) -> Class | None:
        """Return the class a dotted name means in a file."""
        module = self.by_path[path]
        head, _, rest = name.partition(".")
        found = self.symbol(module, name) if not rest else None
        if rest and head in module.imports:
            origin = self.module(module.imports[head])
            found = self.symbol(origin, rest) if origin is not None else self._only(rest.rpartition(".")[2])
        if found is None and not rest and name in module.imports:
            found = self._only(name)
        return found if isinstance(found, Class) else None

    def lineage(self, klass: Class, depth: int = _DEPTH) -> Iterator[Class]:
        """Yield a class and its bases that are in the source, nearest first."""
        yield klass
        if depth:
            for base in klass.bases:
                parent = self.klass(klass.path, base)
                if parent is not None and parent is not klass:
                    yield from self.lineage(parent, depth - 1)

    def method(self, klass: Class, name: str) -> Function | None:
        """Return a method of a class or of its bases."""
        for each in self.lineage(klass):
            found = self.local(each.path, f"{each.qualname}.{name}")
            if isinstance(found, Function):
                return found
        return None

    def owner(self, function: Function) -> Class | None:
        """Return the class a method belongs to."""
        found = self.local(function.path, function.owner) if function.owner else None
        return found if isinstance(found, Class) else None

    def scopes(self, function: Function) -> Iterator[Function]:
        """Yield a function and the functions it is nested in, innermost first."""
        yield function
        while function.parent:
            outer = self.local(function.path, function.parent)
            if not isinstance(outer, Function):
                return
            function = outer
            yield function

    def annotated(self, path: str, annotation: str) -> tuple[Class, ...]:
        """Return the classes named in the text of an annotation."""
        found = (self.klass(path, word) for word in _WORD.findall(annotation)) if annotation else ()
        return tuple(klass for klass in found if klass is not None)

    def types(self, function: Function, name: str) -> tuple[Class, ...]:
        """Return the classes that a dotted name may hold, as far as annotations and constructors tell."""
        key = (function.path, function.qualname, name)
        if key not in self._types:
            if self._following > _LONGEST:
                return ()
            self._types[key] = ()  # ends circles
            self._following += 1
            self._types[key] = tuple(dict.fromkeys(self._find_types(function, name)))
            self._following -= 1
        return self._types[key]

    def _find_types(self, function: Function, name: str) -> Iterator[Class]:
        base, _, last = name.rpartition(".")
        if not base:
            if last in {"self", "cls"}:
                own = self.owner(function)
                if own is not None:
                    yield own
                return
            for scope in self.scopes(function):
                for origin in scope.aliases.get(last, ()):
                    yield from self.types(scope, origin)
                for parameter in scope.parameters:
                    if parameter.name == last:
                        yield from self.annotated(function.path, parameter.annotation)
                yield from self._stored_types(
                    s for s in self.stores_named.get(last, ()) if s.function == scope.qualname and s.path == scope.path
                )
            yield from self._stored_types(
                s for s in self.stores_named.get(last, ()) if s.function == "<body>" and s.path == function.path
            )
            return
        for holder in self.types(function, base):
            for each in self.lineage(holder):
                yield from self._stored_types(
                    s for s in self.stores_named.get(last, ()) if s.owner == each.qualname and s.path == each.path
                )

    def _stored_types(self, stores: Iterable[Store]) -> Iterator[Class]:
        for store in stores:
            yield from self.annotated(store.path, store.annotation)
            scope = self.local(store.path, store.function)
            if not isinstance(scope, Function):
                continue
            for value in (store.value, *store.value.children) if store.value.shape == "IfExp" else (store.value,):
                if value.shape == "call":
                    found = self.klass(store.path, value.name)
                    if found is not None:
                        yield found
                elif value.shape == "name" and value.name != ".".join(filter(None, (store.base, store.name))):
                    yield from self.types(scope, value.name)

    def callees(self, function: Function, name: str) -> list[Function]:
        """Return the functions a call by this name may reach; a class stands for its ``__init__``."""
        base, _, last = name.rpartition(".")
        if not base:
            for scope in self.scopes(function):
                nested = self.local(scope.path, f"{scope.qualname}.{last}")
                if isinstance(nested, Function):
                    return [nested]
            found = self.symbol(self.by_path[function.path], last)
            return self._as_functions(found)
        methods = [self.method(klass, last) for klass in self.types(function, base)]
        known = [method for method in methods if method is not None]
        if known:
            return known
        if base not in {"self", "cls"} and base in self.by_path[function.path].imports:
            origin = self.module(self.by_path[function.path].imports[base])
            return self._as_functions(self.symbol(origin, last) if origin is not None else None)
        if last in _COMMON or last.startswith("__"):
            return []
        unique = self.functions_named.get(last, [])
        return list(unique) if len(unique) == 1 and unique[0].owner else []

    def _as_functions(self, found: Function | Class | None) -> list[Function]:
        if isinstance(found, Class):
            found = self.method(found, "__init__")
        return [found] if found is not None else []

    def callers(self, function: Function) -> Iterator[tuple[Function, Value]]:
        """Yield every call in the source that may reach a function, with the function it is in."""
        name = function.owner.rpartition(".")[2] if function.name == "__init__" else function.name
        for scope, value in self.calls_named.get(name, ()):
            if function in self.callees(scope, value.name):
                yield scope, value
        if function.name == "__init__":
            for klass in self._subclasses.get(name, ()):
                for scope, value in self.calls_named.get(klass.name, ()):
                    if klass.name != name and function in self.callees(scope, value.name):
                        yield scope, value

    def argument(self, call: Value, function: Function, parameter: Parameter) -> Value | None:
        """Return what a call passes for a parameter; None where it leaves the default."""
        given = call.keyword(parameter.name)
        if given is not None:
            return given
        names = [item.name for item in function.parameters]
        place = names.index(parameter.name) - (1 if names[:1] in (["self"], ["cls"]) else 0)
        return call.children[place] if 0 <= place < len(call.children) else None
