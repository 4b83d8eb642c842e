"""Ways to run a WASI program: each returns the milliseconds of CPU time that it took."""

import os
import re
import shutil

from .measure import Failed, spend
from .world import BENCH, found

WASM2C = "/usr/share/wabt/wasm2c"


def wizard(engine, mode, module, arguments=(), monitors=None):
    """In Wizard, in mode int or jit; ms: of the whole process, with attaching and reporting, as the paper measures."""
    usage = spend([engine, f"--mode={mode}", "--ext:multi-memory", *([f"--monitors={monitors}"] if monitors else []), module, *arguments])
    return {"ms": usage.cpu_ms, "peak": usage.peak_bytes}


def attached(engine, program, monitors):
    """In Wizard's JIT, with what the engine's own clock says of attaching and reporting."""
    usage = spend([engine, "--mode=jit", "--ext:multi-memory", "--metrics=whamm*", f"--monitors={monitors}", program.path, *program.arguments])
    spent = dict(re.findall(r"^whamm:(bind|report)_time_us\s*: (\d+)", usage.output, re.M))
    if len(spent) < 2:
        raise Failed("Wizard does not tell how long attaching and reporting take")
    return {"ms": usage.cpu_ms, "peak": usage.peak_bytes, "bind_ms": int(spent["bind"]) / 1000, "report_ms": int(spent["report"]) / 1000}


def original(world, program, script, as_monitor):
    """The original Whamm in Wizard's JIT, rewriting or as a monitor. Its library writes the report into a folder."""
    folder, core = world.file("whamm"), os.path.join(world.file("whamm"), "whamm_core.wasm")
    os.makedirs(os.path.join(folder, "output", "whamm_core"), exist_ok=True)
    shutil.copy(world.peers["WHAMM_CORE"], core)
    target = ["--wei"] if as_monitor else ["--link-strategy=imported", "--app", program.path]
    made = world.made(("original", script, *target), lambda path: spend(
        [world.peers["WHAMM"], "instr", *target, "--script", script, "--core-lib", core, "--output-path", path]))
    modules = [f"--monitors={made}+{core}", program.path] if as_monitor else [core, made]
    usage = spend([world.wizard, "--mode=jit", "--ext:multi-memory", "--dir=.", *modules, *program.arguments], cwd=folder)
    return {"ms": usage.cpu_ms, "peak": usage.peak_bytes}


def _timed(world, command, module, arguments):
    result = world.file("time")
    if os.path.exists(result):
        os.remove(result)
    usage = spend([*command, result, module, *arguments])
    try:
        with open(result, encoding="utf-8") as file:
            return {"ms": float(file.read()), "peak": usage.peak_bytes}
    except (OSError, ValueError) as error:
        raise Failed(f"{os.path.basename(command[0])} ended without saying how long it took") from error


def node(world, module, arguments=(), *options):
    """In V8: compiling lazily, instantiating and running, without the start-up of Node."""
    return _timed(world, [world.node, "--no-warnings", *options, os.path.join(BENCH, "time.mjs")], module, arguments)


def wasabi(world, program, monitor, hooks):
    """In V8, instrumented by Wasabi for these hooks, with an analysis that does what the monitor does (wasabi-time.mjs)."""
    name = os.path.basename(program.path)

    def build(path):
        spend([world.peers["WASABI"], "--node", "-o", path + ".d", *hooks, program.path])
    made = world.made(("wasabi", program.path, *hooks), build)
    return _timed(world, [world.node, "--no-warnings", os.path.join(BENCH, "evaluation", "wasabi-time.mjs"), monitor],
                  os.path.join(made + ".d", name), program.arguments)


def wasmtime(world, module, arguments=()):
    """In wasmtime: instantiating and running; it compiles ahead of time."""
    return _timed(world, [world.python, os.path.join(BENCH, "time.py")], module, arguments)


def has_native():
    """Whether native() has what it needs."""
    return os.path.isdir(WASM2C) and bool(found("wasm2c")) and bool(found("gcc"))


def native(world, program):
    """The program as C, by wasm2c, compiled by gcc -O2."""
    def build(path):
        source = world.file("app.c")  # wasm2c makes a macro of the name
        spend(["wasm2c", "--module-name=app", program.path, "-o", source])
        spend(["gcc", "-O2", "-w", f"-I{WASM2C}", f"-I{os.path.dirname(source)}", "-DPROGRAM=\"app.h\"",
               os.path.join(BENCH, "evaluation", "native.c"), source, os.path.join(WASM2C, "wasm-rt-impl.c"), "-lm", "-o", path])
    usage = spend([world.made(("native", program.path), build), *program.arguments])
    return {"ms": usage.cpu_ms, "peak": usage.peak_bytes}
