"""Scripts, and their results: instrumented programs, monitors, lists of sites."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from typing import Any, Callable, ClassVar, Iterable, Iterator, Mapping, Optional, Sequence, Union

from . import _library, callbacks, diagnostics
from ._library import Input, Texts
from ._native import ffi, lib
from .diagnostics import Diagnostic, WhammError
from .tables import Row, Table

__all__ = ["Constant", "Frame", "Instrumented", "Probe", "Attached", "Script", "Site", "bind", "check"]

Value = Union[bool, int, float, str]
ScriptSource = Union[str, "os.PathLike[str]", "Script"]
Scripts = Union[ScriptSource, Sequence[ScriptSource]]

STORAGES = ("auto", "globals", "memory")
HOSTS = ("auto", "wasi", "js", "none", "prof", "component")
FORMATS = ("csv", "json", "csv-rfc4180")
LINKS = ("merge", "import", "auto")
PARTS = ("bodies", "predicates", "report")  # in the order of the bits WHAMMC_WITHOUT_...


@dataclass(frozen=True)
class Constant:
    """A constant of a script, which `define` can set.

    Attributes:
        script, name: whose, and what it is called.
        type: "bool", "u32", "str" ...
        value: as scripts write it, but a str as it is; None if there is none that is right.
    """

    script: str
    name: str
    type: str
    value: Optional[str]


@dataclass(frozen=True)
class Frame:
    """The source location of an instruction: a function, perhaps inlined.

    Attributes:
        file: the path; "" if it is unknown.
        line, column: from 1; 0 if they are unknown.
        function: its name in the source, without scopes; linkage: the linker's name for it. "" if unknown.
    """

    file: str
    line: int
    column: int
    function: str
    linkage: str


@dataclass(frozen=True)
class Site(Row):
    """A site: a location in a program where a probe matches.

    Attributes:
        probe: the index of the probe among those of the scripts, from 0.
        number: the number that reports have for it.
        event: "wasm:opcode:call:before".
        fid: the function's index; fname: its name, "" if it has none.
        pc: the offset in the function's body, in bytes.
        instruction: with immediates, "call 12"; "" at function entry.
        frames: where it comes from in the source, innermost first; empty if that is unknown or was not asked for.
        module: the name of the core module in its component; "" in a module.
    """

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "probe": "uint32", "number": "uint32", "event": "string", "fid": "uint32", "fname": "string", "pc": "uint32",
        "instruction": "string", "file": "string", "line": "uint32", "module": "string",
    }  # fmt: skip

    probe: int
    number: int
    event: str
    fid: int
    fname: str
    pc: int
    instruction: str
    frames: tuple[Frame, ...] = ()
    module: str = ""

    @property
    def file(self) -> Optional[str]:
        """The path of the source; None if it is unknown."""
        return self.frames[0].file or None if self.frames else None

    @property
    def line(self) -> Optional[int]:
        """The line in it, from 1; None if it is unknown."""
        return self.frames[0].line or None if self.frames else None


@dataclass(frozen=True)
class Probe:
    """A probe of a script, with the number of its sites in a program.

    Attributes:
        script: the script's name; rule: as it is written there; line: its line, from 1.
        sites: how many there are.
        counting: "everywhere" if it only counts at all its sites, so that none needs code of its own; "partly"; "nowhere".
        why: if not everywhere, the reason; "" if it matched nowhere.
    """

    script: str
    rule: str
    line: int
    sites: int
    counting: str
    why: str


@dataclass(frozen=True)
class Attached:
    """A probe of a monitor, with the number of locations in a program at which it was attached."""

    monitor: str
    name: str
    places: int


class Instrumented(bytes):
    """An instrumented program: the bytes of the module, with information from the compiler.

    Attributes:
        diagnostics: warnings.
        probes: how often each probe matched (of scripts).
        attached: the same of monitors' probes.
        host: how the report gets out of the program: "wasi", "js", "none", "prof", "component"; "auto": it reports nothing.
        why: the reason for that; "" if it was asked for.
        link: "merge" or "import".
        source_map: of the program, if `source_map_url` was given; else None.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    probes: tuple[Probe, ...] = ()
    attached: tuple[Attached, ...] = ()
    host: str = "auto"
    why: str = ""
    link: str = "merge"
    source_map: Optional[str] = None


# ---- what is given to C ----


def _defined(value: Value) -> str:
    """A constant in script syntax."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _choice(name: str, value: str, known: Sequence[str]) -> int:
    if value not in known:
        raise ValueError(f"{name}: expected {', '.join(map(repr, known))}, found {value!r}")
    return known.index(value)


def _options(keep: Texts, given: Mapping[str, Any]) -> Any:
    """A whammc_options."""
    made = dict(given)
    for name, known in (("storage", STORAGES), ("host", HOSTS), ("format", FORMATS), ("link", LINKS)):
        if name in made:
            made[name] = _choice(name, made[name], known)
    for name in ("report", "source_map_url", "source_map_root"):
        if name in made:
            made[name] = keep.text(made[name])
    if "without" in made:
        made["without"] = sum({1 << _choice("without", part, PARTS) for part in made["without"]})
    for ours, theirs in (("optimise", "no_optimise"), ("coalesce", "no_coalesce")):
        if ours in made:
            made[theirs] = not made.pop(ours)
    return keep.keep(ffi.new("whammc_options *", made))


WHERE = ffi.new("char[]", b"files are looked for in the folder of the including one, and in `files`")


class _Finder:
    """Finds the files that scripts include on disk: on_find of _library.py."""

    def __init__(self, paths: Sequence[tuple[str, str]]) -> None:
        self.paths = dict(paths)  # of scripts and files, by name
        self.kept: list[Any] = []  # what C borrows

    def __call__(self, including: str, path: str, file: Any) -> bool:
        if including not in self.paths:
            return False
        found = os.path.realpath(os.path.join(os.path.dirname(self.paths[including]), path))
        if not os.path.isfile(found):
            return False
        name = next((name for name, known in self.paths.items() if known == found), os.path.relpath(found))
        self.paths[name] = found
        self.kept = [ffi.new("char[]", _library.encoded(name))]
        file.name = self.kept[0]
        try:
            with open(found, "rb") as opened:
                text = opened.read()
        except OSError as error:
            self.kept.append(ffi.new("char[]", _library.encoded(str(error.strerror))))
            file.problem = self.kept[1]
            return False
        self.kept.append(ffi.from_buffer(text))
        file.text, file.len = self.kept[1], len(text)
        return True


@dataclass(frozen=True)
class Inputs:
    """The inputs of a compiler. `libraries` has (name, name to import it as, module); `paths` the names and paths of scripts."""

    scripts: tuple[tuple[str, bytes], ...] = ()
    define: tuple[tuple[str, str], ...] = ()
    libraries: tuple[tuple[str, str, bytes], ...] = ()
    callbacks: tuple[callbacks.Callback, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    paths: tuple[tuple[str, str], ...] = ()
    steps: int = 0

    @contextlib.contextmanager
    def compiler(self) -> Iterator[Any]:
        """A C object `whammc` with these inputs. Each call has its own, so that threads share none."""
        w = lib.whammc_new()
        try:
            for name, text in self.files:
                lib.whammc_add_file(w, _library.encoded(name), text, len(text))
            finder = ffi.new_handle(_Finder(self.paths))
            if self.paths:
                lib.whammc_set_files(w, lib.on_find, finder, WHERE)
            for name, text in self.scripts:
                lib.whammc_add_script(w, _library.encoded(name), text, len(text))
            for name, value in self.define:
                lib.whammc_define(w, _library.encoded(name), _library.encoded(value))
            lib.whammc_set_steps(w, self.steps)
            for name, imported, module in self.libraries:
                lib.whammc_add_library(w, _library.encoded(name), _library.encoded(imported), module, len(module))
            yield w
        finally:
            lib.whammc_free(w)


def _choose_modules(w: Any, modules: Iterable[str]) -> None:
    keep = [ffi.new("char[]", _library.encoded(glob)) for glob in modules]
    lib.whammc_choose_modules(w, ffi.new("char *[]", [*keep, ffi.NULL]))


def _finish(w: Any, status: int) -> tuple[Diagnostic, ...]:
    return _library.finish(status, lambda flags: lib.whammc_messages(w, flags))


def _make(w: Any, make: Any) -> Instrumented:
    """A module that C makes by make(out, size)."""
    out, size = ffi.new("uint8_t **"), ffi.new("size_t *")
    found = _finish(w, make(out, size))
    made = Instrumented(_library.take(out, size))
    made.diagnostics = found
    return made


def _owned(w: Any, get: Any) -> list[Any]:
    """An array that belongs to w."""
    n = ffi.new("size_t *")
    first = get(w, n)
    return [first[i] for i in range(n[0])]


def _probes(w: Any) -> tuple[Probe, ...]:
    found = []
    for stats, counting in zip(_owned(w, lib.whammc_probes), _owned(w, lib.whammc_countings)):
        how = "everywhere" if counting.counts else "partly" if counting.partly else "nowhere"
        names = _library.text(stats.script), _library.text(stats.rule)
        found.append(Probe(*names, stats.line, stats.sites, how, _library.text(counting.why)))
    return tuple(found)


def _frame(frame: Any) -> Frame:
    text = _library.text
    return Frame(text(frame.file), frame.line, frame.column, text(frame.function), text(frame.linkage))


def _site(site: Any) -> Site:
    text = _library.text
    frames = tuple(_frame(site.frames[i]) for i in range(site.nframes))
    return Site(
        site.probe,
        site.number,
        text(site.event),
        site.fid,
        text(site.fname),
        site.pc,
        text(site.instruction),
        frames,
        text(site.module),
    )


# ---- scripts ----


def bundled_text(name: str) -> Optional[bytes]:
    """The text of a bundled script; None if there is none of that name."""
    size = ffi.new("size_t *")
    found = lib.whammc_bundled_script(_library.encoded(name), size)
    return bytes(ffi.buffer(found, size[0])) if found else None


def _source(source: Union[str, "os.PathLike[str]"], index: int) -> tuple[str, bytes, Optional[str]]:
    """The name of a script, its text, and its path if it is a file."""
    if isinstance(source, str) and "{" in source:  # every script has a probe, and every probe has a body
        return f"script{index}.whamm", source.encode("utf-8", "surrogateescape"), None
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a script is a text, a path, or the name of a bundled script, not {type(source).__name__}")
    if isinstance(source, str) and re.fullmatch(r"[\w-]+", source) and not os.path.exists(source):
        found = bundled_text(source)
        if found is None:
            raise WhammError(f"there is no bundled script {source!r}, and no such file; bundled are {', '.join(bundled_names())}")
        return f"{source}.whamm", found, None
    path = os.fspath(source)
    with open(path, "rb") as file:
        return os.path.basename(path), file.read(), path


def bundled_names() -> list[str]:
    """The names of the bundled scripts.

    >>> "profile" in bundled_names()
    True
    """
    names: list[str] = []
    while (name := lib.whammc_bundled_name(len(names))) != ffi.NULL:
        names.append(_library.text(name))
    return names


def _library_files(libraries: Mapping[str, Input]) -> Iterator[tuple[str, str, bytes]]:
    for key, module in libraries.items():
        name, _, imported = key.partition("(")
        yield name, imported.rstrip(")") or name, _library.load(module, None, name)[1]


class Script:
    """One or more scripts in Whamm, checked and ready for use.

    Args:
        source: the text of a script; or the path of a file; or the name of a bundled script ("profile"); or several of these. A str
            with a brace in it is a text. Nothing, if there are only callbacks (see `on`).
        define: values of the scripts' constants.
        libraries: the modules that scripts `use`: name -> path or bytes. "NAME(MODULE)" is imported from MODULE with link="import".
        files: texts that scripts `include`, by their names. Scripts that are files find those in their folder, too.
        steps: how many iterations of loops and calls of recursive functions an execution of a probe may take; 0 is 10,000,000.
        name: what messages call the script, if it is a single one.

    Raises:
        WhammError: there is an error in a script.
        OSError: a file cannot be read.

    A script can be used by several threads at the same time; the interpreter is not locked while something is compiled.

    >>> script = Script("report var calls: u64;  wasm:opcode:call:before { calls++; }")
    >>> script.diagnostics
    ()
    >>> Script("report var calls: u64;  wasm:opcode:call:before { cals++; }")
    Traceback (most recent call last):
    whammc.WhammError: script0.whamm:1:51: error: 'cals' is not declared and no bound name in wasm:opcode:call:before [undeclared-name]
        1 | report var calls: u64;  wasm:opcode:call:before { cals++; }
          |                                                   ^~~~
          hint: did you mean 'calls'?
    """

    def __init__(
        self,
        source: Scripts = (),
        define: Mapping[str, Value] = {},
        *,
        libraries: Mapping[str, Input] = {},
        files: Mapping[str, str] = {},
        steps: int = 0,
        name: Optional[str] = None,
    ) -> None:
        self._take(inputs(source, define, libraries, name, files, steps))

    def _take(self, given: Inputs) -> None:
        with given.compiler() as w:
            #: Warnings and notes of checking the scripts without a program.
            self.diagnostics: tuple[Diagnostic, ...] = _finish(w, lib.whammc_check(w))
            #: The constants that `define` can give other values.
            self.constants: tuple[Constant, ...] = tuple(
                Constant(_library.text(c.script), _library.text(c.name), _library.text(c.type), _library.maybe_text(c.value))
                for c in _owned(w, lib.whammc_constants)
            )
        self._inputs = given

    def __repr__(self) -> str:
        return f"<Script {', '.join(name for name, _ in self._inputs.scripts)}>"

    def on(self, rule: str, function: Callable[..., object], args: Sequence[str] = (), *, when: Optional[str] = None) -> Script:
        """Adds a probe that calls a Python function at every site of a rule, for prototypes: each call takes some microseconds.

        Args:
            rule: as in scripts, "wasm:opcode:call:before".
            function: is called with the values of `args`; what it returns does not matter. Exceptions end the program, and
                come out of run().
            args: bound names with numbers or bool (see info()). Types of operands depend on the site: "arg0" is whatever number it is;
                with "arg0: i32" only sites with that type match.
            when: a predicate, "arg0 > 0".

        Returns:
            the script itself, which now has this callback, too.

        Raises:
            WhammError: there is no such rule, or it has no such names.

        Programs with callbacks can be run by run(), which calls them in a thread of its own; elsewhere they import the functions from
        the module "whammc:python".
        """
        made = callbacks.probes(rule, function, args, when, _info)
        before = self._inputs
        texts = [(f"callback of {rule}", one.text.encode()) for one in made]
        libraries = [(one.library, one.library, one.module) for one in made]
        functions = [one.callback for one in made]
        self._take(
            Inputs(
                (*before.scripts, *texts),
                before.define,
                (*before.libraries, *libraries),
                (*before.callbacks, *functions),
                before.files,
                before.paths,
                before.steps,
            )
        )
        return self

    def sites(self, module: Input, *, lines: bool = False, name: Optional[str] = None, modules: Iterable[str] = ()) -> Table[Site]:
        """Finds all sites of the probes in a program, in the order of the code.

        Args:
            module: the program, a path or bytes.
            lines: also find out where each site comes from in the source, by the program's DWARF or its source map.
            name: what messages call the program.
            modules: patterns of names: of a component, only these core modules.

        Raises:
            WhammError: the program is not valid, or the scripts do not fit it.
        """
        title, data = _library.load(module, name, "program.wasm")
        found = Table(Site)
        with self._inputs.compiler() as w:
            _choose_modules(w, modules)
            info = ffi.new("whammc_debug_info *")
            if lines:
                lib.whammc_locate(w, info)
            handle = ffi.new_handle(lambda site: found.append(_site(site)))
            _finish(w, lib.whammc_list(w, _library.encoded(title), data, len(data), lib.on_site, handle))
        return found

    def count_sites(self, module: Input, *, name: Optional[str] = None) -> dict[str, int]:
        """Counts the sites of the probes in a program by events, without an object for each of them.

        Args:
            module: the program, a path or bytes.
            name: what messages call the program.

        Raises:
            WhammError: the program is not valid, or the scripts do not fit it.

        >>> code = bytes.fromhex("0061736d 01000000 01040160 0000 03020100 0a070105 00 01 01 01 0b".replace(" ", ""))
        >>> Script("wasm:opcode:*:before { }").count_sites(code)
        {'wasm:opcode:nop:before': 3, 'wasm:opcode:end:before': 1}
        """
        title, data = _library.load(module, name, "program.wasm")
        counts = ffi.gc(ffi.new("SiteCounts *"), lib.site_counts_free)
        with self._inputs.compiler() as w:
            count = ffi.addressof(lib, "count_site")
            _finish(w, lib.whammc_list(w, _library.encoded(title), data, len(data), count, counts))
        if counts.failed:
            raise MemoryError("there is no memory left for the counts of sites")
        found: dict[str, int] = {}
        for number in range(counts.size):
            if counts.events[number]:
                event = _library.text(counts.events[number])
                found[event] = found.get(event, 0) + counts.counts[number]
        return found

    def instrument(
        self, module: Input, *, name: Optional[str] = None, modules: Iterable[str] = (), **options: Any
    ) -> Instrumented:
        """Instruments a program.

        Args:
            module: the program, a path or bytes.
            name: what messages call it.
            modules: patterns of names: of a component, only these core modules.
            host: how the report gets out: "auto" (the default), "wasi", "js", "none" (through exports), "prof".
            format: of the report, "csv" (the default), "json" or "csv-rfc4180".
            report: where it goes with WASI: "stdout" (the default), "stderr", or a file below a directory that the host opens.
            link: where the runtime is: "merge" (the default), "import" or "auto".
            storage: where variables of sites are: "auto" (the default), "globals", "memory".
            optimise: False leaves out the optimiser's passes over probe code.
            coalesce: False counts at each site, also what could be counted by straight-line segments.
            keep_debug: True keeps DWARF, adjusted to the new code.
            exact_traps: True makes counts exact after traps even if the host does not tell where one was.
            host_flushes: True says that the host calls `whammc:flush` at the end.
            polls: True makes the program ask the host, now and then, whether it wants a report.
            linked: True says that the program is one of several modules that call each other, and are all instrumented.
            build_id: True adds an identification of program and scripts to reports.
            threads: work on at most so many; 0, the default, is one for each processor.
            without: of "bodies", "predicates", "report": parts of scripts to leave out, to measure what they cost.
            source_map_url, source_map_root: make a source map, and write its URL into the program.

        Returns:
            the bytes of the instrumented program, which have attributes: see Instrumented.

        Raises:
            WhammError: the program is not valid, or scripts, program and options do not fit together.
            InternalError: the compiler is at fault.
        """
        title, data = _library.load(module, name, "program.wasm")
        keep = Texts()
        settings = _checked_options(keep, options)
        with self._inputs.compiler() as w:
            _choose_modules(w, modules)
            made = _make(
                w,
                lambda out, size: lib.whammc_instrument(w, _library.encoded(title), data, len(data), settings, out, size),
            )
            why, size = ffi.new("const char **"), ffi.new("size_t *")
            made.host, made.why = HOSTS[lib.whammc_hosted(w, why)], _library.text(why[0])
            made.link, made.probes = LINKS[lib.whammc_linked(w)], _probes(w)
            if options.get("source_map_url") is not None:
                made.source_map = _library.text(lib.whammc_source_map(w, size))
        return made

    def monitor(self, *, optimise: bool = True, format: str = "csv", report: Optional[str] = None) -> bytes:
        """Compiles the scripts without a program into a monitor module, for engines that attach it, and for bind().

        Raises:
            WhammError: the scripts use what monitors cannot do.
        """
        keep = Texts()
        settings = _options(keep, {"optimise": optimise, "format": format, "report": report})
        with self._inputs.compiler() as w:
            return _make(w, lambda out, size: lib.whammc_compile_monitor(w, settings, out, size))


def _info(rule: str) -> Sequence[Any]:
    from .events import info  # which needs a compiler from here

    return info(rule)


OPTIONS = frozenset(
    "host format report link storage optimise coalesce keep_debug exact_traps host_flushes polls linked build_id threads "
    "source_map_url source_map_root without".split()
)


def _checked_options(keep: Texts, options: Mapping[str, Any], known: frozenset[str] = OPTIONS) -> Any:
    for name in options:
        if name not in known:
            raise TypeError(f"there is no option {name!r}; there are {', '.join(sorted(known))}")
    return _options(keep, options)


def inputs(
    source: Scripts,
    define: Mapping[str, Value],
    libraries: Mapping[str, Input],
    name: Optional[str] = None,
    files: Mapping[str, str] = {},
    steps: int = 0,
) -> Inputs:
    """The inputs of a compiler; Script objects have theirs."""
    sources = [source] if isinstance(source, (str, os.PathLike, Script)) else list(source)
    scripts: list[tuple[str, bytes]] = []
    defined: list[tuple[str, str]] = []
    modules: list[tuple[str, str, bytes]] = []
    functions: list[callbacks.Callback] = []
    included = [(title, text.encode("utf-8", "surrogateescape")) for title, text in files.items()]
    paths: list[tuple[str, str]] = []
    for one in sources:
        if isinstance(one, Script):
            scripts += one._inputs.scripts
            defined += one._inputs.define
            modules += one._inputs.libraries
            functions += one._inputs.callbacks
            included += one._inputs.files
            paths += one._inputs.paths
            steps = steps or one._inputs.steps
        else:
            title, text, path = _source(one, len(scripts))
            title = name if name and len(sources) == 1 else title
            scripts.append((title, text))
            if path is not None:
                paths.append((title, os.path.realpath(path)))
    defined += [(constant, _defined(value)) for constant, value in define.items()]
    modules += _library_files(libraries)
    return Inputs(tuple(scripts), tuple(defined), tuple(modules), tuple(functions), tuple(included), tuple(paths), steps)


def check(
    source: Scripts, define: Mapping[str, Value] = {}, *, libraries: Mapping[str, Input] = {}, files: Mapping[str, str] = {}
) -> tuple[Diagnostic, ...]:
    """Checks scripts without a program, and returns all errors, warnings and notes without raising them.

    >>> [(d.severity, d.code, d.range.start.column) for d in check("wasm:opcode:call:before { x = 1; }")]
    [('error', 'undeclared-name', 27)]
    """
    with inputs(source, define, libraries, files=files).compiler() as w:
        lib.whammc_check(w)
        return diagnostics.parse(_library.text(lib.whammc_messages(w, _library.JSON)))


BIND_OPTIONS = frozenset("host optimise keep_debug threads".split())


def bind(
    app: Input,
    monitors: Union[Input, Sequence[Input]],
    *,
    libraries: Mapping[str, Input] = {},
    name: Optional[str] = None,
    **options: Any,
) -> Instrumented:
    """Attaches monitor modules to a program ahead of time, as an engine would when it loads both.

    Args:
        app: the program, a path or bytes.
        monitors: one or several, in the order in which their probes run.
        libraries: modules that the last monitor imports: name -> path or bytes.
        name: what messages call the program.
        host, optimise, keep_debug, threads: as for Script.instrument().

    Raises:
        WhammError: the program or a monitor is not valid, or they do not fit together.
    """
    title, data = _library.load(app, name, "program.wasm")
    given: Sequence[Input] = [monitors] if isinstance(monitors, (bytes, bytearray, memoryview, str, os.PathLike)) else monitors
    keep = Texts()
    settings = _checked_options(keep, options, BIND_OPTIONS)
    with Inputs().compiler() as w:
        for i, monitor in enumerate(given):
            path, module = _library.load(monitor, None, f"monitor{i}.wasm")
            lib.whammc_add_monitor(w, _library.encoded(path), module, len(module))
        for library, _, module in _library_files(libraries):
            lib.whammc_add_monitor_library(w, _library.encoded(library), module, len(module))
        made = _make(
            w, lambda out, size: lib.whammc_bind(w, _library.encoded(title), data, len(data), settings, out, size)
        )
        made.attached = tuple(
            Attached(_library.text(a.monitor), _library.text(a.name), a.places) for a in _owned(w, lib.whammc_attachments)
        )
    return made
