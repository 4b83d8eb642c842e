"""Examines a module: its size, features, language, imports, and the occurrences of each instruction."""

from __future__ import annotations

import functools
from typing import Any, Iterator, Mapping, Optional

import whammc

# Features as wasmtime calls them, and which others an engine cannot have without them.
FEATURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gc", ()),
    ("function_references", ("gc",)),
    ("exceptions", ()),
    ("relaxed_simd", ()),
    ("simd", ("relaxed_simd",)),
    ("threads", ()),
    ("tail_call", ()),
    ("multi_value", ()),
    ("multi_memory", ()),
    ("memory64", ()),
    ("wide_arithmetic", ()),
    ("custom_page_sizes", ()),
)

# What engines of wasmtime cannot be without, by instructions.
BY_INSTRUCTION = {
    "bulk_memory": frozenset("memory.copy memory.fill memory.init data.drop table.copy table.init elem.drop".split()),
    "reference_types": frozenset("ref.null ref.is_null ref.func table.get table.set table.grow table.size table.fill".split()),
    "saturating_float_to_int": frozenset(f"{to}.trunc_sat_{of}_{sign}" for to in ("i32", "i64") for of in ("f32", "f64") for sign in "su"),
    "sign_extension": frozenset("i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s".split()),
}
WASI = "wasi_snapshot_preview1"
LANGUAGES = {"C11": "C", "C99": "C", "C17": "C", "C_plus_plus_14": "C++", "Rust": "Rust", "Go": "Go", "Zig": "Zig", "Swift": "Swift"}
MARKS = (  # of programs without a section `producers`: part of a name of a custom section, an import or an export
    ("go:buildid", "Go"), ("gojs", "Go"), ("__wbindgen", "Rust"), ("__wbg_", "Rust"), ("__new", "AssemblyScript"),
    ("dart:", "Dart"), ("runtime.ticks", "Go"), ("emscripten", "C or C++"), ("stackSave", "C or C++"), ("stackAlloc", "C or C++"),
)  # fmt: skip


@functools.lru_cache(maxsize=None)
def _engine(off: frozenset[str]) -> Any:
    """An engine that has every feature but these."""
    import wasmtime

    from .. import _host

    config = wasmtime.Config()
    for name in _host.PROPOSALS:
        try:
            setattr(config, "wasm_" + name, name not in off)
        except (AttributeError, wasmtime.WasmtimeError):
            pass  # this version of wasmtime does not have it
    return wasmtime.Engine(config)


def _is_valid(data: bytes, *off: str) -> bool:
    import wasmtime

    try:
        wasmtime.Module.validate(_engine(frozenset(off)), data)
    except wasmtime.WasmtimeError:
        return False
    return True


def make_engines() -> None:
    """Makes the engines of features(), which takes longer than using them."""
    _engine(frozenset())
    for name, needing in FEATURES:
        _engine(frozenset((name, *needing)))


def features(data: bytes, opcodes: Mapping[str, int]) -> list[str]:
    """The features beyond the first version of WebAssembly that an engine must have for a module: without them it is not valid.

    None are found if wasmtime does not take the module with all of them.
    """
    found = []
    if _is_valid(data):
        found = [name for name, needing in FEATURES if not _is_valid(data, name, *needing)]
    found += [name for name, instructions in BY_INSTRUCTION.items() if not instructions.isdisjoint(opcodes)]
    return sorted(found)


class Sections:
    """What the sections of a module say without its code; reading ends where they are damaged."""

    def __init__(self, data: bytes) -> None:
        from .. import _host

        self.imports: list[tuple[str, str, int]] = []  # module, name, kind
        self.exports: dict[str, int] = {}  # name -> kind
        self.custom: list[str] = []
        self.producers: dict[str, list[str]] = {}
        self.functions = self.code_size = 0
        self.new_reader = _host.Reader
        try:
            self._read(data)
        except (IndexError, KeyError):
            pass  # the compiler says where

    def _read(self, data: bytes) -> None:
        reader = self.new_reader(data)
        reader.at = 8
        while reader.more():
            kind, size = reader.byte(), reader.unsigned()
            start = reader.at
            one = {0: self._custom, 2: self._imports, 3: self._functions, 7: self._exports}.get(kind)
            if one is not None:
                one(self.new_reader(data[start : start + size]))
            if kind == 10:
                self.code_size = size
            reader.at = start + size

    def _functions(self, reader: Any) -> None:
        self.functions = reader.unsigned()

    @staticmethod
    def _name(reader: Any) -> str:
        size = reader.unsigned()
        reader.at += size
        if reader.at > len(reader.data):
            raise IndexError
        return bytes(reader.data[reader.at - size : reader.at]).decode("utf-8", "replace")

    def _custom(self, reader: Any) -> None:
        name = self._name(reader)
        self.custom.append(name)
        if name == "producers":
            for _ in range(reader.unsigned()):
                field = self._name(reader)
                for _ in range(reader.unsigned()):
                    value, version = self._name(reader), self._name(reader)
                    self.producers.setdefault(field, []).append(f"{value} {version}".strip())

    def _limits(self, reader: Any) -> None:
        flags = reader.unsigned()
        for _ in range(1 + (flags & 1)):
            reader.unsigned()
        if flags & 8:
            reader.unsigned()  # the size of pages

    def _type(self, reader: Any) -> None:
        if reader.byte() in (0x63, 0x64):
            reader.signed()

    def _imports(self, reader: Any) -> None:
        for _ in range(reader.unsigned()):
            module, name, kind = self._name(reader), self._name(reader), reader.byte()
            self.imports.append((module, name, kind))
            if kind == 0:
                reader.unsigned()
            elif kind == 1:
                self._type(reader)
                self._limits(reader)
            elif kind == 2:
                self._limits(reader)
            elif kind == 3:
                self._type(reader)
                reader.byte()
            else:  # a tag
                reader.byte()
                reader.unsigned()

    def _exports(self, reader: Any) -> None:
        for _ in range(reader.unsigned()):
            name, kind = self._name(reader), reader.byte()
            reader.unsigned()
            self.exports[name] = kind

    def texts(self) -> Iterator[str]:
        yield from self.custom
        yield from self.exports
        for module, name, _ in self.imports:
            yield module
            yield name


def language(sections: Sections) -> Optional[str]:
    """The language of the source: what the section `producers` says, or what names give away; None if nothing does."""
    said = [one.split(" ")[0] for one in sections.producers.get("language", ())]
    for one in ("Rust", "Swift", "Zig", "Go"):  # the C of their libraries is there, too
        if one in said:
            return one
    plain = {"C++" if one.startswith("C_plus_plus") else "C" if one.startswith("C") else LANGUAGES.get(one, one) for one in said}
    if plain:
        return "C++" if "C++" in plain else sorted(plain)[0]
    texts = set(sections.texts())
    for mark, name in MARKS:
        if any(mark in text for text in texts):
            return name
    processed = " ".join(sections.producers.get("processed-by", ()))
    return "C++" if "clang" in processed else "AssemblyScript" if "sourceMappingURL" in sections.custom else None


def kind(sections: Sections) -> str:
    """What can be done with a module: "command" runs in a WASI host, "reactor" too, but does nothing by itself, "library" needs no host
    at all; "js" needs one of its own, in most cases JavaScript."""
    foreign = {module for module, _, _ in sections.imports} - {WASI}
    if foreign:
        return "js"
    if sections.exports.get("_start") == 0 or sections.exports.get("main") == 0:
        return "command"
    return "reactor" if "_initialize" in sections.exports or sections.imports else "library"


def examine(name: str, data: bytes) -> dict[str, Any]:
    """The columns of a module; see dataset.MODULES.

    Raises:
        WhammError: the module is not valid.
    """
    sections = Sections(data)
    events = whammc.Script("wasm:opcode:*:before { }").count_sites(data, name=name)
    opcodes = {event.split(":")[2]: count for event, count in events.items()}
    names = [module for module, _, _ in sections.imports]
    return {
        "features": features(data, opcodes), "language": language(sections), "kind": kind(sections),
        "producers": {field: ", ".join(values) for field, values in sections.producers.items()},
        "imports": list(dict.fromkeys(names)), "imported": len(names), "exported": len(sections.exports), "functions": sections.functions,
        "code_size": sections.code_size, "custom": list(dict.fromkeys(sections.custom)), "opcodes": opcodes,
    }  # fmt: skip
