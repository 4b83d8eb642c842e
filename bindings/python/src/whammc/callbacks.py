"""Functions in Python that probes call: see Script.on().

Each becomes a probe that calls a function of a library; the library imports it from the host, which is run().
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

from .diagnostics import WhammError

if TYPE_CHECKING:
    from .events import Event

MODULE = "whammc:python"
I32, I64, F32, F64 = 0x7F, 0x7E, 0x7D, 0x7C
# How arguments travel: the type of WebAssembly, its name, and how Python gets back what it was in the script.
TYPES: dict[str, tuple[int, str, Callable[[Any], Any]]] = {
    "bool": (I32, "i32", bool),
    "u8": (I32, "i32", lambda n: n & 0xFF),
    "u16": (I32, "i32", lambda n: n & 0xFFFF),
    "u32": (I32, "i32", lambda n: n & 0xFFFFFFFF),
    "i8": (I32, "i32", int),
    "i16": (I32, "i32", int),
    "i32": (I32, "i32", int),
    "u64": (I64, "i64", lambda n: n & 0xFFFFFFFFFFFFFFFF),
    "i64": (I64, "i64", int),
    "f32": (F32, "f32", float),
    "f64": (F64, "f64", float),
}
_numbers = itertools.count()


@dataclass(frozen=True)
class Callback:
    """A function, and how the program calls it: the import's name, and the types of the arguments in the script."""

    name: str
    function: Callable[..., object]
    types: tuple[str, ...]

    def define(self, store: Any, linker: Any) -> None:
        """Gives a linker the import."""
        import wasmtime

        make = {"i32": wasmtime.ValType.i32, "i64": wasmtime.ValType.i64, "f32": wasmtime.ValType.f32, "f64": wasmtime.ValType.f64}
        kinds = [make[TYPES[kind][1]]() for kind in self.types]
        linker.define_func(MODULE, self.name, wasmtime.FuncType(kinds, []), self.wrapped())

    def wrapped(self) -> Callable[..., None]:
        """The function as the engine calls it, which has no unsigned numbers."""
        function, restore = self.function, [TYPES[kind][2] for kind in self.types]

        def call(*values: Any) -> None:
            function(*(back(value) for back, value in zip(restore, values)))

        return call


@dataclass(frozen=True)
class Probe:
    """What a callback adds to a script: its text, the library that it uses, and that library's name."""

    callback: Callback
    text: str
    library: str
    module: bytes


def _leb(number: int) -> bytes:
    """An unsigned number."""
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def _named(name: str) -> bytes:
    return _leb(len(name.encode())) + name.encode()


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + _leb(len(content)) + content


def library(name: str, kinds: Sequence[int]) -> bytes:
    """A module that imports a function with these parameters, and exports one that calls it as `call`."""
    body = b"\0" + b"".join(b"\x20" + _leb(k) for k in range(len(kinds))) + b"\x10\x00\x0b"
    return b"\0asm\1\0\0\0" + b"".join(
        [
            _section(1, b"\1\x60" + _leb(len(kinds)) + bytes(kinds) + b"\0"),
            _section(2, b"\1" + _named(MODULE) + _named(name) + b"\0\0"),
            _section(3, b"\1\0"),
            _section(7, b"\1" + _named("call") + b"\0\1"),
            _section(10, b"\1" + _leb(len(body)) + body),
        ]
    )


NUMBERS = ("i32", "i64", "f32", "f64")
NUMBERED = re.compile(r"(arg|res|local|global)\d+")
MOST = 3  # names whose types are tried


def _types_of(name: str, rule: str, events: Sequence[Event]) -> Sequence[str]:
    """The type of a bound name, which must be the same wherever the rule matches; if sites decide about it, all that it can be."""
    found: dict[Optional[str], str] = {}
    for event in events:
        types = [one.type for one in event.names if one.name == name]
        if not types and NUMBERED.fullmatch(name):
            types = [None]  # there may be more of them than are listed
        if not types:
            raise WhammError(f"{event.text} has no {name!r}: the rule {rule} matches it, too")
        found.setdefault(types[0], event.text)
    if len(found) > 1:
        raise WhammError(f"{name!r} is of different types: {', '.join(f'{kind} at {text}' for kind, text in found.items())}; use several rules")
    kind = next(iter(found))
    if kind is None:
        return NUMBERS
    if kind not in TYPES:
        raise WhammError(f"{name!r} is a {kind}; callbacks can have numbers and bool only: a function can be told by its fid, a site by fid and pc")
    return (kind,)


def _bounded(rule: str, bounds: Sequence[tuple[str, str]]) -> str:
    """A rule whose event says the types of names: provider:package:event(arg0: i32):mode."""
    parts = re.split(r":(?![^()]*\))", rule)
    if len(parts) < 3:
        raise WhammError(f"{rule}: types of arguments need a rule with an event, as wasm:opcode:call:before")
    parts[2] += f"({', '.join(f'{name}: {kind}' for name, kind in bounds)})"
    return ":".join(parts)


def _probe(rule: str, function: Callable[..., object], args: Sequence[tuple[str, str]], bounds: Mapping[str, str], when: str) -> Probe:
    """The probe that calls a function with names of these types; `bounds` are those that the rule has to say."""
    number = next(_numbers)
    callback, name = Callback(f"f{number}", function, tuple(kind for _, kind in args)), f"python{number}"
    values = ", ".join(arg if kind == TYPES[kind][1] else f"{arg} as {TYPES[kind][1]}" for arg, kind in args)
    whole = _bounded(rule, list(bounds.items())) if bounds else rule
    text = f"use {name};\n{whole}{when} {{ {name}.call({values}); }}\n"
    return Probe(callback, text, name, library(callback.name, [TYPES[kind][0] for _, kind in args]))


def probes(
    rule: str, function: Callable[..., object], args: Sequence[str], when: Optional[str], info: Callable[[str], Sequence[Event]]
) -> list[Probe]:
    """The probes that call a function: one, or one for each combination of types that names can have."""
    given = [(name.strip(), kind.strip()) for name, _, kind in (arg.partition(":") for arg in args)]
    for name, kind in given:
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or kind not in ("", *TYPES):
            raise ValueError(f"args: expected a bound name, or NAME: TYPE with one of {', '.join(TYPES)}, found {name + ': ' * bool(kind) + kind!r}")
    events = info(rule)
    types = {name: (kind,) if kind else _types_of(name, rule, events) for name, kind in given}
    bound = [name for name, kind in dict(given).items() if kind or len(types[name]) > 1]
    if sum(len(kinds) > 1 for kinds in types.values()) > MOST:
        raise WhammError(f"the types of {', '.join(bound)} depend on the site: say which ones are meant, as in args=['{bound[0]}: i32']")
    predicate = f" / {when} /" if when else ""
    made = []
    for choice in itertools.product(*types.values()):
        chosen = dict(zip(types, choice))
        made.append(_probe(rule, function, [(name, chosen[name]) for name, _ in given], {name: chosen[name] for name in bound}, predicate))
    return made
