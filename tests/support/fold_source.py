"""The source that decides what a fold makes of events: its functions, and whatever of ours they use.

Comments, docstrings, layout and what the garbage collector looks at do not count. What is used is found
through the names in the compiled code.
"""

import ast
import hashlib
import inspect
import io
import re
import textwrap
import tokenize
import types
import typing
from collections.abc import Iterator
from typing import Any

OURS = "resumed."


def fold_digest(owner: type[Any], state: type[Any], *methods: str) -> str:
    """Sixteen hexadecimal digits that change with the methods of `owner`, the state's type, and all that
    they reach."""
    found: dict[str, str] = {}
    due: list[tuple[str, Any]] = [(name, getattr(owner, name)) for name in methods]
    due.append((state.__name__, state))
    while due:
        name, item = due.pop()
        key = f"{getattr(item, '__module__', '')}.{getattr(item, '__qualname__', name)}"
        if key in found:
            continue
        if isinstance(item, type | types.FunctionType):
            found[key] = plain_source(item)
            due += _used(item, owner)
        else:
            found[key] = _constant(item)
    told = "\n".join(sorted(f"{key.rpartition('.')[2]} {source}" for key, source in found.items()))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def plain_source(item: type[Any] | types.FunctionType) -> str:
    """The source without comments, docstrings, white space and the garbage collector's mark of a struct."""
    source = textwrap.dedent(inspect.getsource(item))
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            for number in range(text.lineno - 1, text.end_lineno or text.lineno):
                lines[number] = "\n" if number >= text.lineno else " " * text.col_offset + "pass\n"
    for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column] + "\n"
    plain = re.sub(r"\s+", "", "".join(lines))
    return re.sub(r"(class\w+\(msgspec\.Struct\b[^)]*),gc=False", r"\1", plain)


def _used(item: type[Any] | types.FunctionType, owner: type[Any]) -> Iterator[tuple[str, Any]]:
    """What of ours a function or a class names, with the name."""
    if isinstance(item, type):
        yield from _of_class(item, owner)
        return
    for name in sorted(_names(item.__code__)):
        if name in item.__globals__:
            value = inspect.unwrap(item.__globals__[name])
            if _is_ours(value):
                yield name, value
        elif isinstance(method := vars(owner).get(name), types.FunctionType):
            yield name, method


def _of_class(item: type[Any], owner: type[Any]) -> Iterator[tuple[str, Any]]:
    for method in vars(item).values():
        if isinstance(method, types.FunctionType) and method.__module__.startswith(OURS):
            yield from _used(method, owner)
        elif isinstance(method, property) and isinstance(method.fget, types.FunctionType):
            yield from _used(method.fget, owner)
    for annotation in typing.get_type_hints(item).values():
        yield from ((each.__name__, each) for each in _types(annotation))
    yield from ((base.__name__, base) for base in item.__bases__ if _is_ours(base))


def _types(annotation: Any) -> Iterator[type[Any]]:
    if isinstance(annotation, type) and _is_ours(annotation):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _types(inner)


def _is_ours(value: Any) -> bool:
    if isinstance(value, type | types.FunctionType):
        return value.__module__.startswith(OURS)
    return not isinstance(value, types.ModuleType | types.BuiltinFunctionType) and not callable(value)


def _names(code: types.CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _constant(value: Any) -> str:
    if isinstance(value, frozenset | set):
        return repr(sorted(map(repr, value)))
    if isinstance(value, dict):
        return repr([(repr(key), _constant(each)) for key, each in value.items()])
    if isinstance(value, tuple | list):
        return repr([_constant(each) for each in value])
    if isinstance(value, type | types.FunctionType):
        return value.__qualname__
    return repr(value)
