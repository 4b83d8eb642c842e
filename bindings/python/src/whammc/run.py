"""Runs programs in this process, in wasmtime, and reads their reports.

The host functions are those of `whammc run --engine=wasmtime`: see _host.py.
"""

from __future__ import annotations

import io
import os
import threading
import time
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _library
from ._library import Bytes, Input
from .callbacks import Callback
from .diagnostics import WhammError
from .report import Report
from .script import Instrumented, Script, Scripts, Value

__all__ = ["Result", "RunError", "Trap", "run"]

AGAIN = 0.05  # seconds between two attempts to end a program
PLENTY = 1 << 62  # fuel for a report


class RunError(WhammError):
    """The engine could not load the program: for example, an import is missing, or it needs more memory than `memory` allows."""


RunError.__module__ = "whammc"


class Trap:
    """Why a program did not end by itself.

    Attributes:
        kind: "unreachable", "integer_division_by_zero", "memory_out_of_bounds", "stack_overflow" ... as wasmtime calls it;
            "out_of_fuel"; "timeout"; "error" for what has no name, such as an exception that nobody caught.
        message: what wasmtime says, with a stack trace.
        functions: the names of the functions that were active, innermost first; "" if one has none.
    """

    def __init__(self, kind: str, message: str, functions: Sequence[str] = ()) -> None:
        self.kind, self.message, self.functions = kind, message, tuple(functions)

    def __repr__(self) -> str:
        return f"<Trap {self.kind}{' in ' + self.functions[0] if self.functions else ''}>"


class Result:
    """The result of a run.

    Attributes:
        exit_code: the program's; None if it trapped.
        trap: why it did not end by itself; None if it did.
        stdout_bytes, stderr_bytes: what it printed; stdout and stderr are the same as text.
        seconds: how long it ran, by the wall clock: without compiling, with making the report.
        cpu_seconds: the same in time of the processor.
        load_seconds: how long the engine took to compile it, and to make an instance, by the wall clock.
        fuel: how much it used, if `fuel` was given, else None. Probes use fuel, too, and so does the report.
        program: the module that ran.
    """

    def __init__(self, program: bytes, original: Optional[tuple[str, bytes]]) -> None:
        self.exit_code: Optional[int] = None
        self.trap: Optional[Trap] = None
        self.stdout_bytes = b""
        self.stderr_bytes = b""
        self.seconds = self.cpu_seconds = self.load_seconds = 0.0
        self.fuel: Optional[int] = None
        self.program = program
        self._original = original
        self._data = b""
        self._report: Optional[Report] = None
        self._lock = threading.Lock()

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def report_bytes(self) -> bytes:
        """The report as the program wrote it, with output of scripts."""
        return self._data

    @property
    def report(self) -> Report:
        """The report. After a trap it has the exact counts up to the trap.

        Raises:
            WhammError: the program wrote none, because no script declares `report` variables, or because it trapped before it began.
        """
        with self._lock:
            if self._report is None:
                if not self._data:
                    raise WhammError("the program wrote no report: do the scripts declare 'report' variables? has the program left memory for the report?")
                self._report = Report.of(self._data, self._original)
            return self._report

    def __repr__(self) -> str:
        end = repr(self.trap) if self.trap else f"exit code {self.exit_code}"
        return f"<Result: {end}, {self.seconds:.3f} s, {len(self.stdout_bytes):,} bytes of output>"

    def _repr_html_(self) -> str:
        import html

        shown = f"<p>{html.escape(repr(self))}</p>"
        return shown + (self.report._repr_html_() if self._data else "")


def _host() -> Any:
    """The host functions; only they need wasmtime."""
    try:
        import wasmtime  # noqa: F401
    except ImportError as error:
        raise ImportError("run() needs wasmtime: pip install 'whammc[run]'") from error
    from . import _host

    return _host


class _Run:
    """A run in progress. What ends it is in `ended`: "timeout" or "interrupt"."""

    def __init__(self, binary: bytes, fuel: Optional[int], timeout: Optional[float], memory: Optional[int], parallel: bool) -> None:
        self.host: Any = _host()
        self.binary, self.fuel, self.timeout, self.memory = binary, fuel, timeout, memory
        self.engine = self.host.make_engine(binary, interruptible=True, fuel=fuel is not None, parallel=parallel)
        self.report = io.BytesIO()
        self.reporter = self.host.Reporter(self.report, self.host.Stopwatch())
        self.sampler = self.host.Sampler()
        self.ended: Optional[str] = None
        self.seconds = self.cpu_seconds = self.load_seconds = 0.0
        self.used: Optional[int] = None

    def make_store(self, args: Sequence[str], env: Mapping[str, str], dirs: Mapping[str, str], streams: _Streams) -> Any:
        """A store with WASI, whose standard streams are files.

        Functions of Python in their place would be called by threads of the engine, also when Python ends.
        """
        import wasmtime

        wasi = wasmtime.WasiConfig()
        wasi.argv = list(args)
        wasi.env = list(env.items())
        for guest, host in dirs.items():
            wasi.preopen_dir(host, guest)
        wasi.stdin_file = streams.path("stdin")
        wasi.stdout_file = streams.path("stdout")
        wasi.stderr_file = streams.path("stderr")
        store = wasmtime.Store(self.engine)
        store.set_wasi(wasi)
        store.set_epoch_deadline(1)
        if self.fuel is not None:
            store.set_fuel(self.fuel)
        if self.memory is not None:
            store.set_limits(memory_size=self.memory)
        return store

    def execute(self, store: Any, functions: Sequence[Callback]) -> Union[int, Trap]:
        """Runs the program; returns its exit code, or why it has none."""
        import wasmtime

        before = time.perf_counter()
        try:
            module = wasmtime.Module(self.engine, self.binary)
            linker = self.host.make_linker(self.engine, store, self.reporter, self.sampler)
            for function in functions:
                function.define(store, linker)
            start = (time.perf_counter(), time.thread_time())
            instance = linker.instantiate(store, module)
            self.load_seconds = time.perf_counter() - before
        except wasmtime.Trap as trap:
            return self.trap_of(trap)
        except wasmtime.WasmtimeError as error:
            raise RunError(f"the engine could not load the program: {str(error).strip()}") from None
        exports = instance.exports(store)
        try:
            self.reporter.attach(store, exports)
            self.sampler.attach(store, exports)
            status = int(self.host.execute(store, exports))
            self.end(store, start)
            self.reporter.read_memory()
            return status
        except wasmtime.ExitTrap as end:
            self.end(store, start)
            self.reporter.read_memory()
            return int(end.code)
        except wasmtime.Trap as trap:
            self.end(store, start)
            found = self.trap_of(trap)
            self.save(store, lambda: self.host.correct(store, exports, module, self.binary, trap))
        except wasmtime.WasmtimeError as error:
            self.end(store, start)
            found = Trap("error", str(error).strip())
            self.save(store, lambda: None)
        return found

    def end(self, store: Any, start: tuple[float, float]) -> None:
        self.seconds, self.cpu_seconds = time.perf_counter() - start[0], time.thread_time() - start[1]
        store.set_epoch_deadline(self.host.NEVER)
        if self.fuel is not None:
            self.used = self.fuel - store.get_fuel()
            store.set_fuel(PLENTY)

    def trap_of(self, trap: Any) -> Trap:
        try:
            code = trap.trap_code
        except ValueError:  # one that the package wasmtime does not know
            code = None
        kind = code.name.lower() if code is not None else "error"
        kind = {"interrupt": self.ended or "interrupt", "unreachable_code_reached": "unreachable"}.get(kind, kind)
        return Trap(kind, str(trap).strip(), [frame.func_name or "" for frame in trap.frames])

    def save(self, store: Any, correct: Callable[[], None]) -> None:
        """Asks a program that has trapped for its report."""
        import wasmtime

        try:
            correct()
            self.reporter.flush()
        except (wasmtime.Trap, wasmtime.WasmtimeError):
            pass  # then there is none, or what there was before

    def run(self, store: Any, functions: Sequence[Callback]) -> Union[int, Trap]:
        """Executes the program in another thread, so that this one can end it: after `timeout`, or when the user interrupts it."""
        done: list[Union[int, Trap]] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                done.append(self.execute(store, functions))
            except BaseException as error:  # noqa: B036 - for the thread that waits
                failed.append(error)

        thread = threading.Thread(target=work, name="whammc.run", daemon=True)
        thread.start()
        try:
            thread.join(self.timeout)
            self.ended = "timeout"
            self.stop(thread)
        except BaseException:
            self.ended = "interrupt"
            self.stop(thread)
            raise
        finally:
            self.sampler.stop()
        if failed:
            raise failed[0]
        return done[0]

    def stop(self, thread: threading.Thread) -> None:
        while thread.is_alive():
            self.engine.increment_epoch()
            thread.join(AGAIN)


class _Streams:
    """The standard streams of a program: files that are only in memory, and have paths for the engine."""

    def __init__(self, stdin: bytes) -> None:
        self.files = {name: open(os.memfd_create(f"whammc-{name}"), "r+b") for name in ("stdin", "stdout", "stderr")}
        self.files["stdin"].write(stdin)
        self.files["stdin"].flush()

    def path(self, name: str) -> str:
        return f"/proc/self/fd/{self.files[name].fileno()}"

    def read(self, name: str) -> bytes:
        self.files[name].seek(0)
        return self.files[name].read()

    def __enter__(self) -> _Streams:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.close()


def execute(
    program: bytes,
    original: Optional[tuple[str, bytes]],
    *,
    args: Sequence[str],
    stdin: bytes = b"",
    env: Mapping[str, str] = {},
    dirs: Mapping[str, str] = {},
    fuel: Optional[int] = None,
    timeout: Optional[float] = None,
    memory: Optional[int] = None,
    functions: Sequence[Callback] = (),
    parallel: bool = True,
) -> Result:
    """Runs a module that has been instrumented for the host "js", or not at all; see run().

    Args:
        original: the name and the bytes of the program before, for its report.
        args: with the program's name.
        functions: what it calls in Python.
        parallel: the engine may compile in several threads.
    """
    running = _Run(bytes(program), fuel, timeout, memory, parallel)
    result = Result(program, original)
    with _Streams(stdin) as streams:
        end = running.run(running.make_store(args, env, dirs, streams), functions)
        result.stdout_bytes, result.stderr_bytes = streams.read("stdout"), streams.read("stderr")
    result.trap, result.exit_code = (end, None) if isinstance(end, Trap) else (None, end)
    result.seconds, result.fuel = running.seconds, running.used
    result.cpu_seconds, result.load_seconds = running.cpu_seconds, running.load_seconds
    result._data = running.report.getvalue() or (result.stdout_bytes if isinstance(program, Instrumented) else b"")
    return result


def run(
    module: Input,
    script: Optional[Scripts] = None,
    *,
    args: Sequence[str] = (),
    stdin: Union[Bytes, str, None] = None,
    env: Mapping[str, str] = {},
    dirs: Mapping[str, Union[str, os.PathLike[str]]] = {},
    fuel: Optional[int] = None,
    timeout: Optional[float] = None,
    memory: Optional[int] = None,
    define: Mapping[str, Value] = {},
    libraries: Mapping[str, Input] = {},
    name: Optional[str] = None,
    **options: Any,
) -> Result:
    """Instruments a program, runs it in wasmtime in this process, and reads its report.

    The program has access to what it is given and nothing else: by default no files, no environment, no network.

    Args:
        module: the program, a path or bytes: a WASI command, or any other module with `_start` or `main` that imports nothing but WASI.
        script: what to instrument it with (see Script), or several; None: nothing. An Instrumented module runs as it is.
        args: arguments, without the program's name.
        stdin: what it reads from standard input, bytes or text; None: nothing.
        env: its environment.
        dirs: the directories that it can open, for reading and writing: its name for it -> the directory.
        fuel: end it after so much of wasmtime's fuel, about one for each instruction; counting that makes it slower.
        timeout: end it after so many seconds. While a program sleeps (WASI's poll_oneoff) it is not ended.
        memory: the most bytes that any of its memories may have; if it wants to grow one further, it is told that there is none.
        define, libraries: as for Script.
        name: what the program is called: its args[0], and in messages.
        **options: as for Script.instrument(), but for host, format and report.

    Returns:
        a Result with the report, what the program printed, its exit code. Traps are no exceptions: `trap` says what happened, and the
        report has what was counted up to it.

    Raises:
        WhammError: an error in a script or in the program.
        RunError: the engine cannot load the program.
        ImportError: wasmtime is not installed.

    Several threads can run programs at the same time.
    """
    title, data = _library.load(module, name, "program.wasm")
    original = None if isinstance(module, Instrumented) and script is None else (title, data)
    program: bytes = data
    functions: Sequence[Callback] = ()
    if script is not None:
        whole = script if isinstance(script, Script) and not (define or libraries) else Script(script, define, libraries=libraries)
        for taken in ("host", "format", "report"):
            if taken in options:
                raise TypeError(f"run() decides about {taken!r} itself")
        functions = whole._inputs.callbacks
        program = whole.instrument(data, name=title, host="js", host_flushes=True, format="json", **options)
    elif options or define or libraries:
        raise TypeError("there is no script that define, libraries and options could be for")
    elif isinstance(module, Instrumented):
        program = module
    return execute(
        program,
        original if script is not None else None,
        args=[title, *args],
        stdin=stdin.encode() if isinstance(stdin, str) else bytes(stdin or b""),
        env=env,
        dirs={guest: os.fspath(host) for guest, host in dirs.items()},
        fuel=fuel,
        timeout=timeout,
        memory=memory,
        functions=functions,
    )

