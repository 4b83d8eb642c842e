"""Reports of instrumented programs."""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import threading
from dataclasses import dataclass
from typing import Any, ClassVar, Iterable, Iterator, Mapping, Optional, Sequence, Union, cast

from . import _arrow, _library, tables
from ._library import Input, Path, Texts
from ._native import ffi, lib
from .diagnostics import Diagnostic, WhammError
from .profile import Profile
from .tables import Row, html_table

__all__ = ["Report", "ReportRow", "Variable"]

BY = ("site", "line", "function", "file")
SORT = ("value", "place", "name")
# The formats of files by their endings.
ENDINGS = {
    ".txt": "table", ".csv": "csv-rfc4180", ".json": "json", ".prom": "prometheus", ".gprof": "gprof", ".dot": "dot", ".folded": "folded",
    ".svg": "svg", ".speedscope.json": "speedscope", ".cpuprofile": "cpuprofile", ".perfetto.json": "perfetto", ".pb.gz": "pprof",
    ".callgrind": "callgrind", ".cachegrind": "cachegrind",
}  # fmt: skip
PLACES = ("function", "pc", "instruction", "probe")  # what notebooks show of a row
SHOWN = 10  # rows of a variable in a notebook


@dataclass(frozen=True)
class Variable:
    """A `report` variable of a script.

    Attributes:
        name: as in the script.
        type: in the script: "u64", "map<(u32,str),u64>".
        wasm_type: "i64".
        id_type: "memaddr" (of sites and probes), "global_id", "map_id" (of scripts).
        script: "script0" for the first one.
        rows: how many the report has.
        formula: of a derived column, what its values are computed from, in postfix form; else None.
    """

    name: str
    type: str
    wasm_type: str
    id_type: str
    script: str
    rows: int
    formula: Optional[str] = None


@dataclass(frozen=True)
class ReportRow(Row):
    """A value of a variable: at a site (with fid and pc), of a probe (with a probe only), or of a script (neither).

    Attributes:
        variable: the variable's name.
        script: "script0" for the first one.
        probe: "1_wasm:opcode:call:before", or None.
        function: the function's name, or None.
        fid, pc: its index, and the offset in its body in bytes; None without a site.
        instruction: at the site; None if it is unknown, because the report has no module.
        value: int, float, bool or str; a tuple; a dict for a map; None if the report has something unreadable. Of aggregations: a dict
            for min and max (count and the number), avg (count, sum, mean) and stats (count, sum, min, max, mean, deviation), with None
            if no number was added; a list of (low, high, count) for hist and lhist: how many numbers n with low <= n < high were added,
            where None is no end.
        module: what its module is called; None if the report has only one.
        thread: the number of its thread, "0" for the main thread; None if threads were added up.
    """

    variable: str
    script: str
    probe: Optional[str]
    function: Optional[str]
    fid: Optional[int]
    pc: Optional[int]
    instruction: Optional[str]
    value: Any
    module: Optional[str] = None
    thread: Optional[str] = None

    COLUMNS: ClassVar[Mapping[str, str]] = {}


def _value(v: Any) -> Any:
    """A WhammcValue as a Python object."""
    kind = v.kind
    if kind == lib.WHAMMC_VALUE_UNSIGNED:
        return lib.value_u(v)
    if kind == lib.WHAMMC_VALUE_SIGNED:
        return lib.value_i(v)
    if kind == lib.WHAMMC_VALUE_FLOAT:
        return lib.value_f(v)
    if kind == lib.WHAMMC_VALUE_BOOL:
        return bool(lib.value_u(v))
    if kind == lib.WHAMMC_VALUE_STRING:
        return bytes(ffi.buffer(lib.value_text(v), v.size)).decode("utf-8", "replace")
    if kind in (lib.WHAMMC_VALUE_UNREADABLE, lib.WHAMMC_VALUE_NONE):
        return None
    parts = [_value(lib.value_part(v, k)) for k in range(v.size)]
    if kind == lib.WHAMMC_VALUE_BUCKETS:
        return list(zip(parts[::3], parts[1::3], parts[2::3]))
    return tuple(parts) if kind == lib.WHAMMC_VALUE_TUPLE else dict(zip(parts[::2], parts[1::2]))


@dataclass(frozen=True)
class _Part:
    """A text that has been read, added or subtracted."""

    operation: str  # of C: "read", "add", "subtract"
    name: str
    data: bytes
    which: int


_Module = Union[tuple[str, bytes], Sequence[tuple[str, bytes]]]  # programs: names and bytes

_ADDED = {"read": "add", "add": "add", "subtract": "subtract"}  # what becomes of a part if its report is added


class Report:
    """The report of a run, or of several that were added up.

    Reports are read from what programs print (`Report.read`), or come from `run`. `a + b` adds up the reports of two runs of a program
    that was instrumented with the same scripts, and `Report.merge` those of many; `a - b` is what came between an earlier report b
    of a run and the later one a.

    A report can be used by several threads; they wait for each other.

    >>> text = '{"id":0,"id_type":"global_id","name":"n","type":"u64","wasm_type":"i64","script":"script0",' \\
    ...        '"fname":null,"fid":null,"pc":null,"probe":null,"value":18446744073709551615}\\n'
    >>> report = Report.read(text.encode())
    >>> report.value("n")
    18446744073709551615
    """

    def __init__(self, parts: Sequence[_Part], module: Optional[_Module] = None, only: Optional[str] = None,
                 by_thread: bool = False) -> None:
        self._lock = threading.RLock()
        self._handle = ffi.gc(lib.whammc_report_new(), lib.whammc_report_free)
        self._parts = list(parts)  # none: it was merged
        self._module, self._only, self._by_thread = module, only, by_thread
        lib.whammc_report_by_thread(self._handle, by_thread)
        #: Warnings about what was read: that a report ends in the middle of a row, for example.
        self.diagnostics: tuple[Diagnostic, ...] = ()
        for title, data in [] if module is None else [module] if isinstance(module, tuple) else module:
            self._finish(lib.whammc_report_add_module(self._handle, _library.encoded(title), data, len(data)))
        for part in parts:
            self._take(part)

    # ---- reading and adding up ----

    @classmethod
    def read(cls, source: Input, *, which: int = 0, module: Union[Input, Sequence[Input], None] = None, only: Optional[str] = None,
             name: Optional[str] = None, by_thread: bool = False) -> Report:
        """Reads a report in any format of whammc (CSV, CSV with quotes, JSON), which is detected.

        Args:
            source: a path or bytes; they can be all that a program has printed.
            which: of several reports of each instance, from 1; 0 = the last.
            module: the program before it was instrumented, for names and instructions; several if the report is of several modules.
            only: the name or the hash of a module, or how it begins: the others are left out.
            name: what messages call the text.
            by_thread: threads are kept apart, instead of being added up; so they are in what is added to it.

        Raises:
            WhammError: there is no report, or `module` is not valid.
        """
        title, data = _library.load(source, name, "report")
        given: list[Input] = [] if module is None else list(module) if isinstance(module, (list, tuple)) else [cast(Input, module)]
        return cls([_Part("read", title, data, which)], [_library.load(each, None, "program.wasm") for each in given], only, by_thread)

    @classmethod
    def of(cls, data: bytes, module: Optional[tuple[str, bytes]]) -> Report:
        """A report that is in memory, of a program: its name and bytes."""
        return cls([_Part("read", "report", data, 0)], module)

    @classmethod
    def merge(cls, reports: Iterable[Report]) -> Report:
        """Adds up any number of reports. If `reports` is a generator, memory use depends only on the number of sites and keys.

        Raises:
            WhammError: they are not of the same program and scripts.
            ValueError: there are none.
        """
        total: Optional[Report] = None
        for report in reports:
            if total is None:
                total = cls(report._sources(), report._module, report._only, report._by_thread)
                total._parts = []
            else:
                for part in report._sources():
                    total._take(_Part(_ADDED[part.operation], part.name, part.data, part.which))
        if total is None:
            raise ValueError("there are no reports to add up")
        return total

    def _finish(self, status: int) -> tuple[Diagnostic, ...]:
        return _library.finish(status, lambda flags: lib.whammc_report_messages(self._handle, flags))

    def _take(self, part: _Part) -> None:
        function = getattr(lib, f"whammc_report_{part.operation}")
        with self._lock:
            status = function(self._handle, _library.encoded(part.name), part.data, len(part.data), part.which)
            self.diagnostics += self._finish(status)
            if self._only is not None:
                self._finish(lib.whammc_report_select(self._handle, _library.encoded(self._only)))

    def _sources(self) -> list[_Part]:
        """The parts of this report; a merged report is a single text."""
        return self._parts or [_Part("read", "merged", self.convert("json"), 0)]

    def _combined(self, other: Report, operation: str) -> Report:
        first, *rest = other._sources()
        more = [_Part(operation, first.name, first.data, first.which), *rest]
        return Report([*self._sources(), *more], self._module or other._module, self._only or other._only, self._by_thread)

    def __add__(self, other: Any) -> Report:
        return self._combined(other, "add") if isinstance(other, Report) else NotImplemented

    def __radd__(self, other: Any) -> Report:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() begins with 0

    def __sub__(self, other: Any) -> Report:
        if not isinstance(other, Report):
            return NotImplemented
        if len(other._sources()) != 1:
            raise ValueError("only a report that was read or merged can be subtracted, not a sum")
        return self._combined(other, "subtract")

    # ---- looking ----

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order of the report."""
        with self._lock:
            n = ffi.new("size_t *")
            found = lib.whammc_report_variables(self._handle, n)
            text = _library.text
            return [
                Variable(text(v.name), text(v.type), text(v.wasm_type), text(v.id_type), text(v.script), v.rows,
                         _library.maybe_text(v.formula))
                for v in (found[i] for i in range(n[0]))
            ]

    def __len__(self) -> int:
        """The number of rows."""
        with self._lock:
            n = ffi.new("size_t *")
            lib.whammc_report_rows(self._handle, n)
            return int(n[0])

    def __bool__(self) -> bool:
        return True

    def rows(self, variable: Optional[str] = None) -> Iterator[ReportRow]:
        """The rows of the report in their order, or those of one variable.

        For many rows to_arrow() is much faster.
        """
        names = [(each.name, each.script) for each in self.variables]
        if variable is not None:
            self._chosen([variable])
        index = 0
        while True:
            with self._lock:
                n = ffi.new("size_t *")
                found = lib.whammc_report_rows(self._handle, n)
                if index >= n[0]:
                    return
                row = found[index]
                made = self._row(row, index, names) if variable in (None, names[row.variable][0]) else None
            if made is not None:
                yield made
            index += 1

    def _row(self, row: Any, index: int, names: list[tuple[str, str]]) -> ReportRow:
        text = _library.maybe_text
        name, script = names[row.variable]
        fid, pc = (row.fid, row.pc) if row.has_place else (None, None)
        value = _value(lib.whammc_report_value(self._handle, index))
        function = text(row.shown_fname or row.fname)
        return ReportRow(name, script, text(row.probe), function, fid, pc, text(row.instruction), value, text(row.module), text(row.thread))

    def value(self, variable: str) -> Any:
        """The value of a variable that has a single one, such as a script variable, or that of a derived column for the whole report:
        see ReportRow.

        Raises:
            KeyError: there is no such variable.
            ValueError: it has more than one value; see rows() and to_arrow().
        """
        found = []
        derived = any(v.formula for v in self.variables if v.name == variable)
        for row in self.rows(variable):
            if derived and row.fid is not None:
                continue
            found.append(row.value)
            if len(found) > 1:
                raise ValueError(f"{variable!r} has more than one value: see rows() and to_arrow()")
        if not found:
            raise ValueError(f"{variable!r} has no value")
        return found[0]

    @property
    def text(self) -> str:
        """The rest of the text: other output of the program and of scripts."""
        with self._lock:
            size = ffi.new("size_t *")
            found = lib.whammc_report_rest(self._handle, size)
            return bytes(ffi.buffer(found, size[0])).decode("utf-8", "replace")

    @property
    def is_cut(self) -> bool:
        """Whether the report ends in the middle of a row, which is left out."""
        with self._lock:
            return bool(lib.whammc_report_is_cut(self._handle))

    def __repr__(self) -> str:
        return f"<Report: {', '.join(f'{v.name}: {v.type} ({v.rows:,})' for v in self.variables) or 'empty'}>"

    # ---- tables ----

    def _chosen(self, names: Sequence[str]) -> list[int]:
        known = self.variables
        for name in names:
            if all(each.name != name for each in known):
                raise KeyError(f"the report has no variable {name!r}; it has {', '.join(sorted({each.name for each in known}))}")
        return [i for i, each in enumerate(known) if not names or each.name in names]

    def to_arrow(self, *variables: str, mangled: bool = False, lines: bool = False) -> Any:
        """The report as a pyarrow.Table: a row for each match site of a probe, for each probe, and for each script.

        Columns: `module` (if the report has several), `thread` (if they are kept apart), `script`, `probe`, `function` and `instruction` (dictionary-encoded; the last one needs the module), `fid` and
        `pc` (uint32), with `lines` also `file`, `line`, `column` and `src_function`, and one for each variable. These have
        their types: u64 is uint64, f32 is float, tuples are structs with the fields "0", "1" ..., maps are maps. Of aggregations, min, max,
        avg and stats are structs, hist and lhist lists of structs with `low`, `high` and `count`, as ReportRow.value has them. What does not apply is
        null: the fid of a script variable, the values of other probes' variables.

        Args:
            variables: names; none = all.
            mangled: names of C++ and Rust functions stay as they are in the program.
            lines: with the source locations of sites; needs the module, or a report that has them.

        Raises:
            KeyError: there is no such variable.
            WhammError: no locations are known.
        """
        with self._lock:
            located = None
            if lines:
                text = self.convert("json", lines=True).decode("utf-8", "replace")
                located = [json.loads(line) for line in text.split("\n") if line]
            return _arrow.table(self._handle, self.variables, self._chosen(variables), mangled, located)

    def to_pandas(self, *variables: str, mangled: bool = False, lines: bool = False) -> Any:
        """The same as a pandas.DataFrame. Integers keep their types even if some are missing (UInt64); names are categories."""
        return tables.to_pandas(self.to_arrow(*variables, mangled=mangled, lines=lines))

    def to_polars(self, *variables: str, mangled: bool = False, lines: bool = False) -> Any:
        """The same as a polars.DataFrame. Maps are maps, or lists of structs before polars 2."""
        return tables.to_polars(self.to_arrow(*variables, mangled=mangled, lines=lines))

    # ---- other formats ----

    def convert(self, format: str, **options: Any) -> bytes:
        """The report in another format of `whammc report --format`: "table", "csv", "csv-rfc4180", "json", "prometheus", "flat", "gprof",
        "dot", "folded", "svg", "speedscope", "cpuprofile", "perfetto", "pprof", "firefox", "callgrind", "cachegrind", "heap".

        Args:
            variables: names of those that have the calls or the tree; else the first that can.
            top: rows of tables, functions of profiles; 0 = all.
            title, mangled, lines, inlined, time (nanoseconds since 1970), labels, value, base (a Report to compare with): as in the
                manual's page on reports.
            width, colour, ascii, by ("site", "line", "function", "file"), sort ("value", "place", "name"), nonzero, hex, no_instructions: of
                tables.

        Raises:
            WhammError: the report does not have what the format shows.
        """
        number = ffi.new("WhammcReportFormat *")
        if not lib.whammc_report_format(_library.encoded(format), number):
            raise ValueError(f"there is no format {format!r} of reports")
        keep = Texts()
        settings = self._options(keep, options)
        out, size = ffi.new("uint8_t **"), ffi.new("size_t *")
        base = options.get("base")
        with self._lock, base._lock if base is not None else contextlib.nullcontext():
            self._finish(lib.whammc_report_write(self._handle, number[0], settings, out, size))
            return _library.take(out, size)

    def _options(self, keep: Texts, options: Mapping[str, Any]) -> Any:
        made = dict(options)
        for name, known in (("by", BY), ("sort", SORT)):
            if name in made:
                if made[name] not in known:
                    raise ValueError(f"{name}: expected {', '.join(map(repr, known))}, found {made[name]!r}")
                made[name] = known.index(made[name])
        for name in ("title", "value"):
            if name in made:
                made[name] = keep.text(made[name])
        for name in ("variables", "labels"):
            if name in made:
                made[name] = keep.texts(made[name])
        if made.get("base") is not None:
            made["base"] = made["base"]._handle
        else:
            made.pop("base", None)
        try:
            return keep.keep(ffi.new("WhammcReportOptions *", made))
        except KeyError as error:
            raise TypeError(f"there is no option {error.args[0]!r} of formats") from None

    def save(self, path: Path, format: Optional[str] = None, **options: Any) -> None:
        """Writes the report to a file, in the format of its extension: .csv (with quotes), .json, .svg, .pb.gz ..."""
        name = os.path.basename(os.fspath(path))
        found = format or next((ENDINGS[end] for end in sorted(ENDINGS, key=len, reverse=True) if name.endswith(end)), None)
        if found is None:
            raise ValueError(f"{name}: no format is known by that ending; give `format`")
        data = self.convert(found, **options)
        with open(path, "wb") as file:
            file.write(data)

    # ---- profiles ----

    @contextlib.contextmanager
    def _profiled(self, kind: int, variables: tuple[str, ...], mangled: bool) -> Iterator[Any]:
        keep, out = Texts(), ffi.new("const WhammcProfile **")
        settings = self._options(keep, {"variables": variables, "mangled": mangled})
        with self._lock:
            self._finish(lib.whammc_report_profile(self._handle, kind, settings, out))
            yield out[0]

    def profile(self, *variables: str, mangled: bool = False) -> Profile:
        """The calls or the call tree of the report, in the form of the scripts profile, calltree, sample and callgraph.

        Args:
            variables: names of those that have the calls or the tree; none = the first that can.
            mangled: names of C++ and Rust functions stay as they are in the program.

        Raises:
            WhammError: the report has neither calls nor a tree.
        """
        return Profile(self, variables, mangled)

    # ---- notebooks ----

    def _repr_html_(self) -> str:
        parts = [tables.STYLE]
        try:
            profile = self.profile()
        except WhammError:
            parts += [self._html_of(variable) for variable in dict.fromkeys(v.name for v in self.variables)]
        else:
            try:
                parts.append(profile.flamegraph()._repr_html_())
            except WhammError:
                pass  # calls without contexts
            parts.append(profile.flat()._repr_html_())
        return "".join(parts)

    def _largest(self, variable: str) -> tuple[list[ReportRow], int, bool]:
        """The rows of a variable with the largest values, their number, and whether these are numbers. If not, the first rows."""
        known = self.variables
        wanted = bytes(each.name == variable for each in known)
        total = sum(each.rows for each in known if each.name == variable)
        indices, numbers, others = ffi.new("uint32_t[]", total or 1), ffi.new("double[]", total or 1), ffi.new("size_t *")
        with self._lock:
            n = lib.rows_numbers(self._handle, wanted, indices, numbers, others)
            order = range(min(n, SHOWN)) if others[0] else heapq.nlargest(SHOWN, range(n), key=ffi.unpack(numbers, n).__getitem__)
            found = lib.whammc_report_rows(self._handle, ffi.new("size_t *"))
            names = [(each.name, each.script) for each in known]
            return [self._row(found[indices[k]], indices[k], names) for k in order], n, not others[0]

    def _html_of(self, variable: str) -> str:
        """The largest values of a variable."""
        shown, total, numeric = self._largest(variable)
        kind = next(each.type for each in self.variables if each.name == variable)
        if total == 1 and isinstance(shown[0].value, (dict, list)):
            return _html_of_map(f"{variable}: {kind}", shown[0].value)
        columns = [name for name in PLACES if any(getattr(row, name) is not None for row in shown)]
        lines = [[row.value, *(getattr(row, name) for name in columns)] for row in shown]
        more = total - len(shown)
        names = ["value", *columns]
        return html_table(f"{variable}: {kind}", names, lines, 0 if numeric else None, f"and {more:,} more" if more else "")


def _bucket_name(low: Optional[int], high: Optional[int]) -> str:
    if low is None or high is None:
        return f"< {high}" if low is None else f">= {low}"
    return str(low) if high == low + 1 else f"[{low}, {high})"


def _html_of_map(caption: str, entries: Union[dict[Any, Any], list[Any]]) -> str:
    """The largest entries of a map; the fields of an aggregation, or its buckets, as they are."""
    if isinstance(entries, list):
        buckets: list[list[Any]] = [[count, _bucket_name(low, high)] for low, high, count in entries]
        return html_table(caption, ["value", "bucket"], buckets, 0)
    if _arrow.aggregation(caption.partition(": ")[2]) is not None and "count" in entries:
        return html_table(caption, ["value", "field"], [[value, name] for name, value in entries.items()], None)
    numeric = all(isinstance(value, (bool, int, float)) for value in entries.values())
    pairs = list(entries.items())
    shown = heapq.nlargest(SHOWN, pairs, key=lambda pair: pair[1]) if numeric else pairs[:SHOWN]
    more = len(pairs) - len(shown)
    lines: list[list[Any]] = [[value, str(key)] for key, value in shown]
    return html_table(caption, ["value", "key"], lines, 0 if numeric else None, f"and {more:,} more" if more else "")
