"""Runs an instrumented program in wasmtime, as `whammc run --engine=wasmtime` does:

    python3 run-wasmtime.py [--lib=NAME=FILE]... [--dir=HOST::GUEST]... [--env=NAME=VALUE]... [--metrics=FILE] [--live=FD,FD]
        [--interruptible] MODULE.wasm REPORT PROGRAM-NAME [ARGUMENT...]

Needs the package `wasmtime` from PyPI. Each --lib is a module that the program imports as NAME; it gets WASI and
the libraries before it, and what the library whammc_runtime writes is the report. The program gets WASI
(arguments, the environment, standard streams, the current directory as '.' and by its name, what --dir and --env
say) and whammc.write, whose output is put
into the file REPORT ('-': standard error); of several reports the file gets all. whammc.now is a clock, in
milliseconds. Exports tried: _start, else main. Exit status: the program's; 134 if it trapped (after the engine's
message on standard error and a last flush); 126 if it could not be loaded; 2 for wrong usage. SIGINT, SIGTERM and
SIGHUP end the program as a trap does, with a report, and then this process, unless they are ignored from the start;
--interruptible: SIGINT even then. --metrics: what compiling, instantiating, running and reporting took, as JSON. --live: reports are wanted while the program runs, see live.js. (While Python itself starts, SIGINT makes it fail with messages of its own.)
"""

import ctypes
import functools
import json
import os
import signal
import struct
import sys
import threading
import time

try:
    import wasmtime
except ImportError:
    print("run-wasmtime.py: the Python package 'wasmtime' is not installed", file=sys.stderr)
    sys.exit(126)

TRAPPED = 134
NOT_LOADED = 126

PROPOSALS = (
    "bulk_memory custom_page_sizes exceptions function_references gc memory64 multi_memory multi_value "
    "reference_types relaxed_simd simd tail_call threads wide_arithmetic"
).split()


def say(text):
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


class Reader:
    """Reads LEB128; raises IndexError at the end, or if a number has more than 64 bits."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.byte()
            if shift > 63:
                raise IndexError
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        start = self.at
        value = self.unsigned()
        return value - (1 << 7 * (self.at - start)) if self.data[self.at - 1] & 64 else value


def find_section(module, wanted):
    """The contents of a custom section of a module in its binary form, or None."""
    reader = Reader(module)
    reader.at = 8
    try:
        while module.startswith(b"\0asm") and reader.more():
            kind, size = reader.byte(), reader.unsigned()
            end = reader.at + size
            if kind == 0:
                length = reader.unsigned()
                start = reader.at + length
                if module[reader.at : start] == wanted:
                    return module[start:end]
            reader.at = end
    except IndexError:
        pass  # which the engine will say
    return None


def trap_section(binary):
    return find_section(binary, b"whammc.traps")


def find_point(section, offset):
    """What is counted too often if the instruction at `offset` of the file traps: a class, a function, from which key
    to which, and [(variable, amount)]; None if nothing is. See traps.js."""
    reader = Reader(section)
    body = function = 0
    known = reader.byte() == 2
    while known and reader.more():
        body += reader.unsigned()
        function += reader.unsigned()
        at, farther = body, 0
        for _ in range(reader.unsigned()):
            head = reader.unsigned()
            kind = reader.unsigned() if head & 1 else 0
            variables = [reader.unsigned() for _ in range(reader.unsigned() if head & 2 else 0)]
            found = None
            for _ in range(head >> 2):
                step = reader.unsigned()
                first = at + (step >> 2)
                if step & 1:
                    change = reader.unsigned()
                    farther += -(change + 1) // 2 if change & 1 else change // 2
                at = first + (reader.unsigned() if step & 2 else 0)
                corrections = [(variable, reader.signed()) for variable in variables]
                if first <= offset <= at:
                    found = (offset - body - farther, corrections)
            end = reader.unsigned()
            if found:
                to = 2 * (at - body - farther) + end if end else 0xFFFFFFFF
                return kind, function, 2 * found[0] + 1, to, found[1]
    return None


NO_TRAPS = ("STACK_OVERFLOW", "INTERRUPT", "OUT_OF_FUEL", "UNCAUGHT_EXCEPTION")


@functools.cache
def warn_once(text):
    say(f"whammc: {text}; see --exact-traps")


def frame_of(trap):
    """The frame in which an instruction trapped; None if none did."""
    try:
        code = trap.trap_code
    except ValueError:  # one that this package does not know
        return None
    frames = trap.frames
    return frames[0] if code is not None and code.name not in NO_TRAPS and frames else None


# if, br, br_if, br_table cannot trap: wasmtime tells of these where the code behind always traps, and makes one instruction of both.
IF, BRANCHES, UNREACHABLE = 0x04, (0x04, 0x0C, 0x0D, 0x0E), 0x00


def place_of(binary, offset):
    """Where the trap was of which wasmtime tells that it was at this offset of the file; None if it does not tell."""
    if offset > 0xFFFFFFFF:
        return None
    if binary[offset] == IF and binary[offset + 2] == UNREACHABLE:  # behind the type of the block
        return offset + 2
    return None if binary[offset] in BRANCHES else offset


def correct(store, exports, module, binary, trap):
    """Corrects what a program had counted too early when it trapped; `module` was compiled from `binary`."""
    trapped, add = exports.get("whammc:trapped"), exports.get("whammc:correct")
    frame = frame_of(trap) if trapped is not None else None
    if frame is None:
        return
    offset = place_of(binary, frame.module_offset)
    if offset is None:
        warn_once("a trap may have left counts too high, as the engine does not tell where it was")
    section = trap_section(binary)
    try:
        point = find_point(section, frame.module_offset if offset is None else offset) if section else None
    except IndexError:  # somebody has damaged it
        point = None
    imports = sum(isinstance(one.type, wasmtime.FuncType) for one in module.imports)
    if point is None or not point[1] <= frame.func_index <= point[1] + imports:
        return  # nothing to take back, or it was in a library
    *place, corrections = point
    if not trapped(store, *place):
        warn_once("a program trapped at more places than are remembered; its counts there are too high")
    for variable, amount in corrections:
        add(store, variable, amount)


class Sampler:
    """Looks at the shadow stack of a program from a thread, without stopping it, and counts what it finds in a tree; see sampler.js.
    Memories do not move in wasmtime, and so need not be shared."""

    FRAMES = 16  # a word of the memory
    BYTES, INTERVAL = 257 * 65536, 24  # its size; a byte
    LINE, OUTER, INNER = 16, 256, 256  # frames
    ATTEMPTS, DEFAULT_INTERVAL, LEFT_OUT = 16, 1_000_000, 0xFFFFFFFF

    def __init__(self):
        self.address, self.store, self.thread, self.over = None, None, None, threading.Event()
        self.begun = threading.Event()
        self.parents, self.functions, self.samples, self.times, self.children = [0], [0], [0], [0], {}
        self.told, self.places, self.node = [], [0], 0

    def attach(self, store, exports):
        memory = exports.get("whammc:stack")
        if isinstance(memory, wasmtime.Memory):
            self.address = ctypes.addressof(memory.data_ptr(store).contents)
            self.store = store  # which keeps the memory
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()
            self.begun.wait(1)  # else the beginning of the program may be missing

    def stop(self):
        self.over.set()
        if self.thread:
            self.thread.join()

    def read(self):
        """The frames; None if they kept changing."""
        size = 512
        for _ in range(self.ATTEMPTS):
            both = [ctypes.string_at(self.address, size) for _ in range(2)]
            first, second = (memoryview(one).cast("I") for one in both)
            frames = first[self.FRAMES :].tolist()
            if 0 not in frames:  # this one is deeper
                size = min(4 * size, self.BYTES)
                continue
            del frames[frames.index(0) :]
            sure = max(0, len(frames) - self.LINE)
            if frames[:sure] == second[self.FRAMES : self.FRAMES + sure].tolist():
                return frames
        return None

    def child(self, parent, function):
        node = self.children.setdefault((parent, function), len(self.parents))
        if node == len(self.parents):
            self.parents.append(parent)
            self.functions.append(function)
            self.samples.append(0)
            self.times.append(0)
        return node

    def count(self, frames, spent):
        functions = [frame - 1 for frame in frames]
        if len(functions) > self.OUTER + self.INNER:
            functions[self.OUTER : -self.INNER] = [self.LEFT_OUT]
        node = functools.reduce(self.child, functions, 0)
        self.samples[node] += 1
        self.times[node] += spent

    def run(self):
        last = due = time.perf_counter_ns()
        self.begun.set()
        while True:
            wanted = int.from_bytes(ctypes.string_at(self.address + self.INTERVAL, 8), sys.byteorder)
            due = max(due + (wanted or self.DEFAULT_INTERVAL), last)
            if self.over.wait(max(0, due - time.perf_counter_ns()) / 1e9):
                return
            frames, now = self.read(), time.perf_counter_ns()
            if frames is not None:  # else its time is the next one's
                self.count(frames, now - last)
                last = now

    def next(self, place):
        """The program's import: the place of the node before -> whether another one is at byte 0 of the memory."""
        if self.node:
            self.places.append(place) if len(self.places) == self.node else None
        else:
            self.end = len(self.parents)
        self.node += 1
        if self.address is None or self.node >= self.end:
            self.node = 0
            return 0
        node, samples, spent = self.node, self.samples[self.node], self.times[self.node]
        before = self.told[node - 1] if node <= len(self.told) else (0, 0)
        self.told[node - 1 : node] = [(samples, spent)]
        words = struct.pack("=IIQQ", self.places[self.parents[node]] & 0xFFFFFFFF, self.functions[node], samples - before[0], spent - before[1])
        ctypes.memmove(self.address, words, len(words))
        return 1


class Stopwatch:
    """The times of phases that follow each other; each begins when the one before it ends."""

    def __init__(self):
        self.phases, self.current, self.wall, self.cpu = {}, None, 0, 0

    def begin(self, name):
        wall, cpu = time.perf_counter(), time.process_time()
        if self.current:
            self.phases[self.current] = {"wall_ms": 1000 * (wall - self.wall), "cpu_ms": 1000 * (cpu - self.cpu)}
        self.current, self.wall, self.cpu = name, wall, cpu


class ProgramExit(Exception):
    """The program ends itself; its report has been made."""


def end_program(status):
    raise ProgramExit(status & 255)


def show_lines(data):
    """Writes lines that scripts print."""
    rest = bytes(data)
    try:
        while rest:
            rest = rest[os.write(2, rest) :]
    except OSError:  # nobody reads them
        pass


class Reporter:
    """Takes what the runtime writes, or reads the report from memory with --host=none.

    Pieces that come before there is an instance (start function) cannot be read; the flush that attach()
    makes then has the same report.
    """

    def __init__(self, out, stopwatch):
        self.out, self.stopwatch = out, stopwatch
        self.store = self.exports = self.aside = None
        self.missed = False

    def get(self, name):
        return self.exports.get(name) if self.exports is not None else None

    def write(self, ptr, length):
        memory = self.get("whammc:memory")
        if memory is None:
            self.missed = True
        elif length:
            at = ptr & 0xFFFFFFFF
            self.put(memory.read(self.store, at, at + (length & 0xFFFFFFFF)))

    def print(self, ptr, length):
        memory = self.get("whammc:memory")
        if memory is None:
            self.missed = True
            return 0
        at = ptr & 0xFFFFFFFF
        show_lines(memory.read(self.store, at, at + (length & 0xFFFFFFFF)))
        return 1

    def put(self, data):
        if self.stopwatch.current == "run":
            self.stopwatch.begin("report")
        if self.aside is not None:
            self.aside.append(bytes(data))
            return
        self.out.write(data)
        self.out.flush()

    def read_memory(self):
        ptr, length = self.get("whammc:report_ptr"), self.get("whammc:report_len")
        memory = self.get("whammc:memory") or self.get("memory")
        if ptr is not None and length is not None and memory is not None:
            at = ptr(self.store) & 0xFFFFFFFF
            self.put(memory.read(self.store, at, at + (length(self.store) & 0xFFFFFFFF)))

    def flush(self):
        flush = self.get("whammc:flush")
        if flush is not None:
            flush(self.store)
            self.read_memory()

    def snapshot(self):
        """The bytes of a report as it is now. Text that scripts have printed before goes to its destination."""
        text = self.get("whammc:text")
        if text is not None:
            text(self.store)
        self.aside = []
        try:
            self.flush()
            return b"".join(self.aside)
        finally:
            self.aside = None

    def attach(self, store, exports):
        self.store, self.exports = store, exports
        if self.missed:
            self.flush()


class Poll:
    """Reports of a program while it runs; live.js describes the files."""

    LOOK, POLL, REST, MOST = 0.010, 0.002, 4, 1 << 17  # as there, but in seconds

    def __init__(self, files, store, reporter):
        self.wanted, self.reports = files
        self.store, self.reporter = store, reporter
        self.served, self.budget, self.last = 0, 1000, time.perf_counter()
        self.next = self.rest = 0.0  # not to look, or report, before

    def send(self, good, data):
        rest = memoryview(struct.pack("<IIQ", self.served, good, len(data)) + data)
        while rest:
            rest = rest[os.write(self.reports, rest) :]

    def deliver(self, now):
        self.store.set_epoch_deadline(NEVER)  # a signal does not end it in the middle
        try:
            good, data = True, self.reporter.snapshot()
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            good, data = False, str(error).strip().encode()
        self.store.set_epoch_deadline(1)
        self.send(good, data)
        end = time.perf_counter()
        self.rest = end + self.REST * (end - now)
        self.next = max(self.rest, end + self.LOOK)

    def look(self, now, waits):
        self.next = now + self.LOOK
        before, self.served = self.served, int.from_bytes(os.pread(self.wanted, 4, 0), "little")
        if before != self.served or (waits and self.served):
            self.deliver(now)

    def poll(self, waits):
        now = time.perf_counter()
        if not waits:
            self.budget = max(1, min(self.MOST, 2 * self.budget, int(self.budget * self.POLL / max(now - self.last, 1e-6))))
        if now >= (self.rest if waits else self.next) and self.reporter.exports is not None:
            try:
                self.look(now, waits)
            except OSError:  # nobody reads any more: the program goes on
                self.next = self.rest = float("inf")
        self.last = time.perf_counter()
        return self.budget


def tell_places(config):
    """Makes wasmtime tell exactly which access to memory traps. With guard pages it is the machine's instruction that
    does, which can be a load, an addition and a store in one, or one whose place is lost."""
    try:
        config.memory_reservation = 0
        config.memory_guard_size = 0
        config.cranelift_flag_set("enable_heap_access_spectre_mitigation", "false")
    except (AttributeError, wasmtime.WasmtimeError):
        pass  # this version of wasmtime does not have it


def make_engine(binary, interruptible=False, fuel=False, parallel=True):
    """An engine for a program; `interruptible`: it looks at epochs; `fuel`: it counts what is executed; `parallel`: it compiles in threads."""
    config = wasmtime.Config()
    if not parallel:
        config.parallel_compilation = False
    config.epoch_interruption = interruptible
    config.consume_fuel = fuel
    if trap_section(binary) is not None:
        tell_places(config)
    for name in PROPOSALS:
        try:
            setattr(config, "wasm_" + name, True)
        except (AttributeError, wasmtime.WasmtimeError):
            pass  # this version of wasmtime does not have it
    return wasmtime.Engine(config)


class Interrupt:
    """Signals end the program, by a trap, while Python waits for it. The first signal counts."""

    AGAIN = 0.05  # seconds: the program may not have begun when the signal came

    def __init__(self, engine, interruptible):
        self.signal = None
        self.engine, self.over = engine, threading.Event()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN or (interruptible and number == signal.SIGINT):
                signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self.wait, args=(reading,), daemon=True).start()

    def wait(self, reading):
        self.signal = os.read(reading, 1)[0]
        while not self.over.wait(self.AGAIN):
            self.engine.increment_epoch()

    def end(self):
        """Ends this process by the signal, if one came."""
        if self.signal is not None:
            sys.stdout.flush()
            signal.signal(self.signal, signal.SIG_DFL)
            os.kill(os.getpid(), self.signal)


NEVER = 1 << 40  # epochs


def own_directory():
    """The names by which the program may open the current directory: Go's programs, which use PWD, need absolute ones."""
    names, named = [".", os.getcwd()], os.environ.get("PWD", "")
    if os.path.isabs(named) and os.path.isdir(named) and os.path.samefile(named, "."):
        names.append(named)
    return {name: "." for name in names}


def make_store(engine, arguments, directories, variables):
    wasi = wasmtime.WasiConfig()
    wasi.argv = arguments
    wasi.env = list({**os.environ, **variables}.items())
    for guest, host in {**own_directory(), **directories}.items():
        wasi.preopen_dir(host, guest)
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    store.set_epoch_deadline(1)
    return store


# A clock that the engine compiles: reading the time in Python takes longer than most of what is measured.
CLOCK = """
(module
  (import "wasi_snapshot_preview1" "clock_time_get" (func $get (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "now") (result f64)
    (drop (call $get (i32.const 1) (i64.const 1) (i32.const 0)))
    (f64.div (f64.convert_i64_u (i64.load (i32.const 0))) (f64.const 1e6))))
"""


def define_clock(engine, store, linker):
    """Defines whammc.now in the linker, which has WASI: milliseconds of the monotonic clock."""
    instance = linker.instantiate(store, wasmtime.Module(engine, wasmtime.wat2wasm(CLOCK)))
    linker.define(store, "whammc", "now", instance.exports(store)["now"])


def make_linker(engine, store, reporter, sampler):
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    i32 = wasmtime.ValType.i32()
    linker.define_func("whammc", "write", wasmtime.FuncType([i32, i32], []), reporter.write)
    linker.define_func("whammc", "exit", wasmtime.FuncType([i32], []), end_program)
    linker.define_func("whammc", "print", wasmtime.FuncType([i32, i32], [i32]), reporter.print)
    define_clock(engine, store, linker)
    linker.define_func("whammc", "next_sample", wasmtime.FuncType([i32], [i32]), sampler.next)
    linker.define_func("whammc", "sampled", wasmtime.FuncType([], []), lambda: None)  # nobody here asks for single samples
    return linker


def report_linker(engine, reporter):
    """A linker for the runtime, whose standard output is the report."""

    def fd_write(caller, fd, vectors, count, written):
        memory = caller["memory"]

        def word(at):
            return int.from_bytes(memory.read(caller, at, at + 4), "little")

        total = 0
        for at in range(vectors, vectors + 8 * count, 8):
            start, length = word(at), word(at + 4)
            show = show_lines if fd == 2 else reporter.put
            show(memory.read(caller, start, start + length))
            total += length
        memory.write(caller, total.to_bytes(4, "little"), written)
        return 0

    linker = wasmtime.Linker(engine)
    linker.allow_shadowing = True
    linker.define_wasi()
    i32 = wasmtime.ValType.i32()
    kind = wasmtime.FuncType([i32] * 4, [i32])
    linker.define_func("wasi_snapshot_preview1", "fd_write", kind, fd_write, access_caller=True)
    return linker


def load_libraries(engine, store, linker, reporter, libraries):
    """Instantiates the libraries and defines them in the linker."""
    for name, file in libraries:
        module = wasmtime.Module.from_file(engine, file)
        own = report_linker(engine, reporter) if name == "whammc_runtime" else linker
        instance = own.instantiate(store, module)
        initialize = instance.exports(store).get("_initialize")
        if isinstance(initialize, wasmtime.Func):
            initialize(store)
        linker.define_instance(store, name, instance)


def execute(store, exports):
    """Runs the program; returns its exit status."""
    for name in ("_initialize", "_start", "main"):
        function = exports.get(name)
        if not isinstance(function, wasmtime.Func) or (name == "_initialize" and exports.get("_start")):
            continue
        parameters = function.type(store).params
        result = function(store, *[0.0 if str(p).startswith("f") else 0 for p in parameters])
        if name != "_initialize":
            return result & 255 if name == "main" and isinstance(result, int) else 0
    return 0


def take_options(words):
    """Removes the options from the front of the arguments."""
    libraries, directories, variables, interruptible, live, metrics = [], {}, {}, False, None, None
    while words and words[0].startswith("--"):
        name, _, value = words.pop(0).partition("=")
        if name == "--lib":
            libraries.append(value.split("=", 1))
        elif name == "--dir":
            host, separator, guest = value.partition("::")
            directories[guest if separator else host] = host
        elif name == "--env":
            variable, _, content = value.partition("=")
            variables[variable] = content
        elif name == "--metrics":
            metrics = value
        elif name == "--live":
            live = [int(number) for number in value.split(",")]
        elif name == "--interruptible":
            interruptible = True
    return libraries, directories, variables, interruptible, live, metrics


def main(words):
    libraries, directories, variables, interruptible, live, metrics = take_options(words)
    if len(words) < 3:
        say("usage: run-wasmtime.py [--lib=NAME=FILE]... [--dir=HOST::GUEST]... [--env=NAME=VALUE]...\n"
            "       [--metrics=FILE] [--live=FD,FD] [--interruptible] MODULE.wasm REPORT PROGRAM-NAME [ARGUMENT...]")
        return 2
    try:
        with open(words[0], "rb") as file:
            binary = file.read()
        engine = make_engine(binary, interruptible=True)
    except OSError as error:
        say(f"{words[2]}: {error}")
        return NOT_LOADED
    interrupt, sampler, stopwatch = Interrupt(engine, interruptible), Sampler(), Stopwatch()
    try:
        return run(engine, binary, words, libraries, directories, variables, interrupt, sampler, live, stopwatch)
    finally:
        stopwatch.begin(None)
        if metrics:
            with open(metrics, "w", encoding="utf-8") as file:
                json.dump(stopwatch.phases, file)
        sampler.stop()
        interrupt.over.set()
        interrupt.end()


def run(engine, binary, words, libraries, directories, variables, interrupt, sampler, live, stopwatch):
    reporter = Reporter(sys.stderr.buffer if words[1] == "-" else open(words[1], "wb"), stopwatch)
    try:
        store = make_store(engine, words[2:], directories, variables)
        stopwatch.begin("compile")
        module = wasmtime.Module(engine, binary)
        stopwatch.begin("instantiate")
        try:
            linker = make_linker(engine, store, reporter, sampler)
            load_libraries(engine, store, linker, reporter, libraries)
            if live:
                poll = Poll(live, store, reporter)
                linker.define_func("whammc", "poll", wasmtime.FuncType([wasmtime.ValType.i32()], [wasmtime.ValType.i32()]), poll.poll)
            instance = linker.instantiate(store, module)
        except wasmtime.WasmtimeError as error:
            say(f"{words[2]}: {str(error).strip()}")
            return NOT_LOADED
        exports = instance.exports(store)
        reporter.attach(store, exports)
        sampler.attach(store, exports)
        stopwatch.begin("run")
        status = execute(store, exports)
        reporter.read_memory()
        return status
    except ProgramExit as end:
        if reporter.exports is not None:
            reporter.read_memory()
        return end.args[0]
    except wasmtime.ExitTrap as end:
        if reporter.exports is not None:
            reporter.read_memory()
        return end.code
    except wasmtime.Trap as trap:
        if interrupt.signal is None:
            say(str(trap).strip())
        if reporter.exports is not None:
            correct(store, reporter.exports, module, binary, trap)
    except (wasmtime.WasmtimeError, OSError) as error:
        say(f"{words[2]}: {str(error).strip()}")
        if reporter.exports is None:
            return NOT_LOADED
    try:
        store.set_epoch_deadline(NEVER)
        reporter.aside = None
        reporter.flush()
    except (wasmtime.Trap, wasmtime.WasmtimeError) as again:
        say(f"the report is lost: {str(again).strip()}")
    return TRAPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
