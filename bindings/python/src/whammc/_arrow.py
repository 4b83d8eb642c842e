"""Columns of reports as Arrow arrays, read from C without Python objects for single values."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from . import _library
from ._native import ffi, lib
from .diagnostics import WhammError

NONE = 0xFFFFFFFF
DEEPEST = 200  # brackets in a type
# The fields of aggregations (WHAMMC_VALUE_RECORD), where T is the type of their numbers.
RECORDS = {
    "min": {"count": "u64", "min": "T"}, "max": {"count": "u64", "max": "T"}, "avg": {"count": "u64", "sum": "T", "mean": "f64"},
    "stats": {"count": "u64", "sum": "T", "min": "T", "max": "T", "mean": "f64", "deviation": "f64"},
}  # fmt: skip
BUCKETS = ("low", "high", "count")
SCALARS = "u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool str funcref".split()


def pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("this needs pyarrow: pip install 'whammc[arrow]'") from error
    return pyarrow


# ---- types ----


def split_types(text: str) -> list[str]:
    """The types of a list: those between commas outside of any brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "(<") - (character in ")>")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def aggregation(kind: str) -> Optional[tuple[str, list[str]]]:
    """The name of an aggregation and the types and numbers in its parentheses; None for other types."""
    name, _, rest = kind.partition("(")
    arguments = split_types(rest[:-1])
    known = name in RECORDS or name in ("count", "sum", "hist", "lhist", "top")
    return (name, arguments) if known and rest[-1:] in ("", ")") else None


def plain(kind: str) -> str:
    """The type of the numbers that `count` and `sum` are; other types as they are."""
    found = aggregation(kind.strip())
    if found is None or found[0] not in ("count", "sum"):
        return kind.strip()
    return "u64" if found[0] == "count" else (found[1] or ["i64"])[0]


def parts_of(kind: str) -> Optional[tuple[str, list[str]]]:
    """("tuple", types of the fields), ("map", [key, value]), the name of an aggregation with fields and their types, ("buckets", types of
    their fields), or None for other types.

    >>> parts_of("map<(u32,str),u64>")
    ('map', ['(u32,str)', 'u64'])
    >>> parts_of("max(u64)")
    ('max', ['u64', 'u64'])
    """
    kind = kind.strip()
    if kind.count("(") + kind.count("<") > DEEPEST:  # then nothing can read its values
        return None
    found = aggregation(kind)
    if found is not None:
        name, arguments = found
        number = "i64" if name == "lhist" or not arguments else arguments[0]
        if name in RECORDS:
            return name, [number if field == "T" else field for field in RECORDS[name].values()]
        if name in ("hist", "lhist"):
            return "buckets", [number, number, "u64"]
        return ("map", [arguments[1], "u64"]) if name == "top" and len(arguments) == 2 else None
    if kind.startswith("(") and kind.endswith(")"):
        return "tuple", split_types(kind[1:-1])
    if kind.startswith("map<") and kind.endswith(">"):
        types = split_types(kind[4:-1])
        return ("map", types) if len(types) == 2 else None
    return None


def arrow_type(kind: str) -> Any:
    """The Arrow type of a type of scripts: integers and floats keep their widths, tuples are structs with the fields "0", "1" ...,
    aggregations structs with theirs, or lists of buckets."""
    pa = pyarrow()
    known = {
        "u8": pa.uint8, "i8": pa.int8, "u16": pa.uint16, "i16": pa.int16, "u32": pa.uint32, "i32": pa.int32,
        "u64": pa.uint64, "i64": pa.int64, "f32": pa.float32, "f64": pa.float64, "bool": pa.bool_,
    }  # fmt: skip
    parts = parts_of(kind)
    if parts is None:
        return known.get(plain(kind), pa.large_string)()
    types = [arrow_type(part) for part in parts[1]]
    if parts[0] == "map":
        return pa.map_(*types)
    struct = pa.struct([pa.field(*field) for field in zip(field_names(*parts), types)])
    return pa.list_(struct) if parts[0] == "buckets" else struct


def field_names(name: str, types: list[str]) -> Sequence[str]:
    """The names of the fields of what parts_of() has found."""
    return BUCKETS if name == "buckets" else [*RECORDS[name]] if name in RECORDS else [str(k) for k in range(len(types))]


# ---- columns ----


def _buffer(data: Any) -> Any:
    """The bytes of an array of C, which lives as long as the buffer does."""
    return pyarrow().py_buffer(ffi.buffer(data))


def _bits(n: int) -> Any:
    return ffi.new("uint8_t[]", n // 8 + 1)


def _array(kind: Any, n: int, there: Any, found: int, *buffers: Any, children: Any = None) -> Any:
    """An array of n values, of which `found` are there, as the bits of `there` say. Keys of maps must be known to have no nulls."""
    whole = [None if found == n else _buffer(there), *map(_buffer, buffers)]
    return pyarrow().Array.from_buffers(kind, n, whole, null_count=n - found, children=children)


def _numbers(values: Any, n: int, kind: str) -> Any:
    pa = pyarrow()
    out, there = ffi.new("uint64_t[]", n or 1), _bits(n)
    found = lib.column_numbers(values, n, out, there)
    wide = pa.float64() if kind in ("f32", "f64") else pa.int64() if kind.startswith("i") else pa.uint64()
    return _array(wide, n, there, found, out).cast(arrow_type(kind), safe=kind != "f32")


def _texts(values: Any, n: int) -> Any:
    pa = pyarrow()
    out, there = ffi.new("int64_t[]", n + 1), _bits(n)
    found = lib.column_texts(values, n, out, there, ffi.NULL)
    data = ffi.new("char[]", out[n] or 1)
    lib.column_texts(values, n, out, there, data)
    try:
        bytes(ffi.buffer(data, out[n])).decode("utf-8")
    except UnicodeDecodeError:  # some str of the script is not UTF-8
        raw = _array(pa.large_binary(), n, there, found, out, data).to_pylist()
        whole = [each if each is None else each.decode("utf-8", "replace") for each in raw]
        return pa.array(whole, pa.large_string())
    return _array(pa.large_string(), n, there, found, out, data)


def _tuples(values: Any, n: int, types: list[str], names: Sequence[str]) -> Any:
    pa = pyarrow()
    fields, there = [], _bits(n)
    parts = ffi.new("const WhammcValue *[]", n or 1)
    found = lib.column_fields(values, n, 0, parts, there)
    for k, kind in enumerate(types):
        lib.column_fields(values, n, k, parts, _bits(n))
        fields.append(column(parts, n, kind))
    kinds = pa.struct([pa.field(name, field.type) for name, field in zip(names, fields)])
    return _array(kinds, n, there, found, children=fields)


def _lists(values: Any, n: int, types: list[str]) -> Any:
    """Of maps, whose entries have two parts, or of buckets, which have three."""
    pa = pyarrow()
    offsets, there = ffi.new("int32_t[]", n + 1), _bits(n)
    found = lib.column_lists(values, n, len(types), offsets, there)
    if found > n:
        raise OverflowError("a column has more than 2,147,483,647 entries of maps")
    entries, columns = offsets[n], []
    for k, type_ in enumerate(types):
        parts = ffi.new("const WhammcValue *[]", entries or 1)
        lib.column_parts(values, n, len(types), k, parts)
        columns.append(column(parts, entries, type_))
    if len(types) == 2:
        kind = pa.map_(columns[0].type, columns[1].type)
        fields = [pa.field("key", columns[0].type, nullable=False), pa.field("value", columns[1].type)]
    else:
        fields = [pa.field(name, each.type) for name, each in zip(BUCKETS, columns)]
        kind = pa.list_(pa.struct(fields))
    struct = pa.StructArray.from_arrays(columns, fields=fields)
    return _array(kind, n, there, found, offsets, children=[struct])


def column(values: Any, n: int, kind: str) -> Any:
    """An Arrow array of n values of a type; those that are missing or unreadable are null."""
    parts = parts_of(kind)
    if parts is not None:
        return _lists(values, n, parts[1]) if parts[0] in ("map", "buckets") else _tuples(values, n, parts[1], field_names(*parts))
    kind = plain(kind)
    return _numbers(values, n, kind) if kind in SCALARS[:11] else _texts(values, n)


# ---- tables ----


def _dictionary(indices: Any, n: int, names: list[str]) -> Any:
    """A dictionary-encoded column; only names that occur are in its dictionary, and each of them once."""
    pa = pyarrow()
    codes = pa.Array.from_buffers(pa.uint32(), n, [None, _buffer(indices)])
    encoded = codes.dictionary_encode()  # of what occurs
    used = [None if code == NONE else names[code] for code in encoded.dictionary.to_pylist()]
    texts = pa.array(used, pa.string()).dictionary_encode()  # different bytes may be the same text
    codes = texts.indices.take(encoded.indices) if n else pa.array([], pa.int32())
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), texts.dictionary.cast(pa.string()))


def _copied(data: Any, n: int) -> Any:
    """A copy of n numbers, which outlives what C has."""
    copy = ffi.new("uint32_t[]", n or 1)
    ffi.memmove(copy, data, 4 * n)
    return copy


def _location_columns(lines: list[dict[str, Any]]) -> dict[str, Any]:
    pa = pyarrow()
    texts = {name: pa.array([row[name] for row in lines], pa.string()).dictionary_encode() for name in ("file", "src_function")}
    numbers = {name: pa.array([row[name] for row in lines], pa.uint32()) for name in ("line", "column")}
    return {"file": texts["file"], **numbers, "src_function": texts["src_function"]}


def column_names(variables: list[Any], taken: set[str]) -> list[str]:
    """What the columns of variables are called: as they are, but with the script's name if that is not enough."""
    names = [variable.name for variable in variables]
    made: list[str] = []
    for variable, name in zip(variables, names):
        unique = name if names.count(name) == 1 and name not in taken else f"{variable.script}.{name}"
        number = 1
        while unique in made or unique in taken:  # one name, several types
            number += 1
            unique = f"{variable.script}.{name}.{number}"
        made.append(unique)
    return made


def table(report: Any, variables: list[Any], chosen: list[int], mangled: bool, lines: Optional[list[dict[str, Any]]]) -> Any:
    """The table of Report.to_arrow(); `report` is a WhammcReport, `chosen` are indices into `variables`."""
    pa = pyarrow()
    wanted = bytearray(len(variables) or 1)
    for index in chosen:
        wanted[index] = 1
    records = lib.records_new(report, bytes(wanted), mangled)
    if not records:
        raise MemoryError("there is no memory left for the rows of a report")
    try:
        n = records.count
        names = [_library.text(records.names[i]) for i in range(records.nnames)]
        there = ffi.new("uint8_t[]", bytes(ffi.buffer(records.has_place, n // 8 + 1)))
        columns = {}
        modules = _copied(records.module, n)
        if n and modules[0] != NONE:  # of several
            columns["module"] = _dictionary(modules, n, names)
        threads = _copied(records.thread, n)
        if n and threads[0] != NONE:  # of one each
            columns["thread"] = _dictionary(threads, n, names)
        for name, data in (("script", records.script), ("probe", records.probe), ("function", records.fname)):
            columns[name] = _dictionary(_copied(data, n), n, names)
        for name, data in (("fid", records.fid), ("pc", records.pc)):
            columns[name] = pa.Array.from_buffers(pa.uint32(), n, [_buffer(there), _buffer(_copied(data, n))])
        columns["instruction"] = _dictionary(_copied(records.instruction, n), n, names)
        if lines is not None:
            columns.update(_location_columns([lines[records.row[i]] for i in range(n)]))
        values = ffi.new("const WhammcValue *[]", n or 1)
        for index, name in zip(chosen, column_names([variables[i] for i in chosen], set(columns))):
            lib.records_column(records, index, values)
            columns[name] = column(values, n, variables[index].type)
        return pa.table(columns)
    except pa.ArrowInvalid as error:
        raise WhammError(f"the report has a value that is not of its type: {error}") from error
    finally:
        lib.records_free(records)
