"""The thesis on WasmProf, Tables 6.1 to 6.3 and Figure 6.1: size, compile time and run time of profiled programs in Node and browsers."""

import json
import os
import shutil

from . import browsers
from .experiment import Experiment, Job
from .measure import Failed, collect, medians_of, spend
from .world import BENCH

ORIGINAL = "original"
CALLBACKS = "callbacks"
WASABI = "Wasabi"
# What whammc makes: name -> script, options. All are for a host that is JavaScript.
SCRIPTS = {
    "arcs, counts": ("profile", ["-D", "timed=false"]),
    "arcs": ("profile", []),
    "call tree": ("calltree", []),
    "sampling": ("sample", []),
    "sampling, thread": ("sample", ["-D", "outside=true"]),
    CALLBACKS: (os.path.join(BENCH, "callbacks.whamm"), []),
}
VARIANTS = [*SCRIPTS, WASABI]
MATHEMATICS, IMAGES, MARKERS, WASMBOY = "simple mathematics", "image processing", "marker detection", "WasmBoy"
GROUPS = (MATHEMATICS, IMAGES, MARKERS, WASMBOY)
MODULE_OF = {MATHEMATICS: "kernels", IMAGES: "kernels", MARKERS: "kernels", WASMBOY: WASMBOY}
FRAMES = {True: 60, False: 1000}  # of WasmBoy, with --quick and without
# The thesis: kilobytes (Table 6.1), milliseconds in Firefox (6.2), per cent of the original in Firefox (6.3; in Firefox, in Chrome): original,
# WasmProf, the profiler made with Wasabi.
PUBLISHED_SIZES = {MATHEMATICS: (110.8, 212.0, 218.7), IMAGES: (111.3, 212.7, 219.2), MARKERS: (131.4, 245.8, 248.5), WASMBOY: (35.4, 79.8, 70.2)}
PUBLISHED_COMPILING = {MATHEMATICS: (4.82, 45.32, 40.61), IMAGES: (4.81, 46.37, 40.62), MARKERS: (6.09, 50.26, 43.52), WASMBOY: (6.24, 16.35, 11.43)}
PUBLISHED_RUNNING = {MATHEMATICS: ((100, 81.5), (174.1, 111.2), (411.5, 953.2)), IMAGES: ((100, 91.7), (108.2, 92.4), (240.6, 486.4)),
                     MARKERS: ((100, 75.6), (767.3, 324.3), (1201.6, 2171.5)), WASMBOY: ((100, 107.8), (12127.4, 5114.0), (14711.8, 19821.5))}


def modules(world):
    """The programs by name: those of kernels.c and, if it is there, WasmBoy."""
    def build(path):
        source = os.path.join(BENCH, "evaluation", "kernels.c")
        spend(["clang", "--target=wasm32-wasi", "-Os", "-mexec-model=reactor", "-c", source, "-o", path + ".o"])
        spend(["clang", "--target=wasm32-wasi", "-mexec-model=reactor", path + ".o", "-o", path])
    found = {"kernels": world.made(("kernels",), build)}
    core = os.path.join(world.peers["WASMBOY"], "dist", "core", "core.untouched.wasm")
    if world.peers["WASMBOY"] and os.path.exists(core):
        found[WASMBOY] = core
    return found


def variants(world):
    """What can be measured in this world."""
    return [ORIGINAL, *SCRIPTS, *[WASABI] * bool(world.peers["WASABI"])]


def shown(store):
    """The columns of tables beside the original."""
    return [variant for variant in VARIANTS if variant in store.column("variant")]


def by_wasabi(world, module):
    """The module instrumented by Wasabi for the hooks of the thesis' profiler; beside it is Wasabi's script with that profiler."""
    def make(path):
        folder, stem = path + ".d", os.path.basename(module)[:-5]
        spend([world.peers["WASABI"], "--hooks=call,begin,return", "-o", folder, module])
        shutil.move(os.path.join(folder, stem + ".wasm"), path)
        with open(path[:-5] + ".js", "w", encoding="utf-8") as script:
            script.write("(function (exports, module, require) {\n")  # what Wasabi makes for browsers runs in Node without these
            for part in (os.path.join(folder, stem + ".wasabi.js"), os.path.join(BENCH, "evaluation", "wasabi-profile.js")):
                with open(part, encoding="utf-8") as file:
                    script.write(file.read() + "\n")
            script.write("})();\n")
    return world.made(("wasabi", module), make)


def instrumented(world, module, variant):
    """The instrumented module; beside it is the script that pages load. Browsers without multi-memory get the runtime in a module of its own."""
    if variant == WASABI:
        return by_wasabi(world, module)
    script, options = SCRIPTS[variant]
    flags = []
    if variant == CALLBACKS:
        library = world.made(("library", CALLBACKS), lambda path: spend(["wat2wasm", os.path.join(BENCH, "evaluation", "callbacks.wat"), "-o", path]))
        flags = [f"--lib=callbacks={library}"]

    def make(path):
        if os.path.exists(path[:-5] + ".js"):
            os.remove(path[:-5] + ".js")
        spend([world.whammc, "instr", "--host=js", "-s", script, *options, *flags, module, "-o", path],
              cwd=os.path.dirname(path))  # bundled scripts have names that files here have, too
    return world.made(("profiled", module, variant), make)


def script_of(module):
    path = module[:-5] + ".js"
    return path if os.path.exists(path) else None


def in_node(world, module, frames):
    script = script_of(module)
    command = [world.node, "--no-warnings", *(["--require", script] if script else []), os.path.join(BENCH, "evaluation", "kernels-node.mjs")]
    try:
        return json.loads(spend([*command, module, str(frames)]).output.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise Failed(f"{os.path.basename(world.node)} ended without results") from error


def engines(world):
    """Engine -> function of module and frames that returns what kernels.mjs does."""
    found = {"Node": lambda module, frames: in_node(world, module, frames)} if world.has_node() else {}
    for name, path in (("Chromium", world.chromium), ("Firefox", world.firefox)):
        if world.versions[name]:
            found[name] = lambda module, frames, browser=path: browsers.measure(
                browser, "evaluation/kernels.mjs", module, script_of(module), frames)
    return found


class Sizes(Experiment):
    repeated = False
    name = "sizes"
    title = "WasmProf, Table 6.1: sizes of profiled programs"
    key = ("program", "variant")
    values = ("bytes", "script")

    def jobs(self, world):
        for name, module in modules(world).items():
            for variant in variants(world):
                yield Job([(name, variant)], lambda m=module, v=variant: [self.sizes(world, m, v)])

    @staticmethod
    def sizes(world, module, variant):
        path = module if variant == ORIGINAL else instrumented(world, module, variant)
        script = script_of(path) if variant != ORIGINAL else None
        return {"bytes": os.path.getsize(path), "script": os.path.getsize(script) if script else 0}

    def show(self, store, page):
        page.heading(self.title)
        page.text("Kilobytes; in brackets, as a multiple of the original, and the script beside the program, not minified.")
        rows = []
        for name in store.column("program"):
            base = store.number("bytes", name, ORIGINAL)
            cells = [f"{base / 1000:.1f}"]
            for variant in shown(store):
                size, script = store.number("bytes", name, variant), store.number("script", name, variant)
                cells.append("" if size is None else f"{size / 1000:.1f} ({size / base:.2f}" + (f"; {script / 1000:.1f})" if script else ")"))
            rows.append([name, *cells])
        page.table(["program", ORIGINAL, *shown(store)], rows)
        page.text("In the thesis:")
        page.table(["program", ORIGINAL, "WasmProf", "Wasabi"],
                   [[name, str(sizes[0]), *(f"{size} ({size / sizes[0]:.2f})" for size in sizes[1:])] for name, sizes in PUBLISHED_SIZES.items()])
        page.remark("`kernels` has programs of the kinds that the thesis had, in one module of 5 KB; theirs have Emscripten's C "
                    "library in them, so that additions weigh less. Our modules also have the code that makes reports, about 20 KB, "
                    "which WasmProf and Wasabi have in JavaScript.")


class _Times(Experiment):
    """Times of pages: in all engines, variants in turns."""

    key = ("program", "variant", "engine")

    def jobs(self, world):
        for engine, run in engines(world).items():
            for name, module in modules(world).items():
                groups = self.groups(name)
                yield Job([(group, variant, engine) for variant in variants(world) for group in groups],
                          lambda e=engine, m=module, r=run, g=groups: self.measure(world, e, m, r, g), f"{name} in {engine}")

    def measure(self, world, engine, module, run, groups):
        """One run has both kinds of times: what another experiment has measured is not measured again."""
        if (engine, module) not in world.page_runs:
            world.page_runs[engine, module] = self.runs(world, module, run)
        done = world.page_runs[engine, module]
        found = medians_of({name: results if isinstance(results, str) else [self.numbers(result) for result in results]
                            for name, results in done.items()})
        return [result if isinstance(result, str) else {self.values[0]: result[group]} for result in found.values() for group in groups]

    def runs(self, world, module, run):
        def variant(name):
            path = module if name == ORIGINAL else instrumented(world, module, name)
            return lambda: run(path, FRAMES[world.quick])
        functions = {}
        for name in variants(world):
            try:
                functions[name] = variant(name)
            except Failed as failure:
                functions[name] = self.failing(str(failure))
        return collect(functions, world.rounds)

    @staticmethod
    def failing(why):
        def fail():
            raise Failed(why)
        return fail


class CompileTimes(_Times):
    name = "compile-times"
    title = "WasmProf, Table 6.2: compile times of profiled programs"
    values = ("ms",)

    @staticmethod
    def groups(module):
        return (module,)

    @staticmethod
    def numbers(result):
        return {"kernels": result["compile"], WASMBOY: result["compile"]}

    def show(self, store, page):
        page.heading(self.title)
        page.text("Milliseconds that `new WebAssembly.Module` takes, medians of 15; in brackets, as a multiple of the original. Engines compile functions lazily or in other threads: this "
                  "is what a program waits for.")
        def row(name, base, times):
            return [name, page.number(base), *(page.number(time) + (f" ({time / base:.2f})" if time and base else "") for time in times)]
        rows = [row(f"{name}, {engine}", store.number("ms", name, ORIGINAL, engine), [store.number("ms", name, variant, engine) for variant in shown(store)])
                for engine in store.column("engine") for name in store.column("program")]
        page.table(["program", ORIGINAL, *shown(store)], [row for row in rows if any(row[1:])])
        page.text("In the thesis, in Firefox 67:")
        page.table(["program", ORIGINAL, "WasmProf", "Wasabi"], [row(name, times[0], times[1:]) for name, times in PUBLISHED_COMPILING.items()])
        page.remark("Means of 200 there. Engine and machine are others: compare the ratios.")


class RunTimes(_Times):
    name = "run-times"
    title = "WasmProf, Table 6.3 and Figure 6.1: run times of profiled programs"
    values = ("ms",)

    @staticmethod
    def groups(module):
        return tuple(group for group in GROUPS if MODULE_OF[group] == module)

    @staticmethod
    def numbers(result):
        return result["run"]

    def show(self, store, page):
        page.heading(self.title)
        page.text("As a multiple of the original in the same engine. *callbacks*: each call is two calls of JavaScript, with the same times and "
                  "counts as the arcs; *Wasabi*: the thesis' profiler (its Appendix C), made with Wasabi. *sampling*: by the program itself; "
                  "*sampling, thread*: by a worker, which only isolated pages can have. WasmBoy runs a cartridge of our own: the time of a frame, of "
                  "1,000 as there, or of as many as take ten seconds.")
        engines_there = store.column("engine")
        rows, bars = [], {}
        for group in (group for group in GROUPS if group in store.column("program")):
            for engine in engines_there:
                base = store.number("ms", group, ORIGINAL, engine)
                ratios = [time / base if time and base else None for time in (store.number("ms", group, v, engine) for v in shown(store))]
                rows.append([f"{group}, {engine}", page.number(base), *map(page.number, ratios)])
                if group == WASMBOY:
                    bars[engine] = ratios
        page.table(["program", "original, ms", *shown(store)], rows)
        page.bars("wasmboy", shown(store), bars, "time of a frame / original (log)")
        page.text("In the thesis, as a multiple of the original in the same browser (it has per cent of that in Firefox):")
        rows = []
        for group, ((fox, chrome), ours, theirs) in PUBLISHED_RUNNING.items():
            rows.append([group, *(page.number(value) for pair in (ours, theirs) for value in (pair[0] / fox, pair[1] / chrome))])
        page.table(["program", "WasmProf, Firefox", "WasmProf, Chrome", "Wasabi, Firefox", "Wasabi, Chrome"], rows)
        page.remark("The thesis measured in Firefox 67 and a Chrome of 2019, with another cartridge of WasmBoy. Its programs ask "
                    "JavaScript for the time before and after each call, which took 100 to 350 ns; ours read a time that a worker "
                    "keeps in shared memory. On a busy machine that worker gives up, and arcs and call tree take several times as "
                    "long. The article on call trees says that its tree costs about 3 %, not of which program: it depends on how long "
                    "functions take.")
