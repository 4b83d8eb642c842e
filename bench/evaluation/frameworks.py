"""Whamm paper, Figure 8: what monitors cost in each framework."""

import functools
import os
import re
import subprocess

from . import systems
from .experiment import Experiment, Job
from .measure import mean_ratio, medians
from .world import SHORT

# Monitor -> our script, names of Wizard's own, one written by hand and its library.
MONITORS = {
    "branches": ("branches", ("branches",), "branches-hw", None),
    "hotness": ("hotness", ("hotness",), "hotness-hw", None),
    "icount": ("icount", ("icount",), "icount-hw", None),
    "imix": ("imix", ("imix", "opcodes"), "imix-hw", None),
    "cache_sim": ("cache", ("cache-sim",), "cache-sim-hw", "cache"),
}
# Monitor -> Wasabi's option for what it asks of instructions; the others ask all.
WASABI_HOOKS = {"branches": ["--hooks=if,br_if,br_table"], "cache_sim": ["--hooks=load,store"]}
BASE = "none"
JIT, LIFTOFF, V8, WASMTIME = "Wizard, JIT", "V8, Liftoff", "V8", "wasmtime"


@functools.cache
def built_in(engine):
    """The names of the monitors that a Wizard has built in."""
    done = subprocess.run([engine, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    return set(re.findall(r"^    ([a-z-]+) ", done.stdout.partition("MONITOR OPTIONS")[2], re.M))


def by_hand(world, name, library):
    """The file of a monitor written by hand, with its library, for --monitors; None if it is not there."""
    folder = world.peers["WIZARD_HW"]
    paths = [os.path.join(folder, f"{name}.wasm")]
    if library:
        folders = (folder, os.path.join(os.path.dirname(os.path.abspath(folder)), "utils"))
        paths.append(next((path for f in folders for path in [os.path.join(f, f"{library}.wasm")] if os.path.exists(path)), ""))
    return "+".join(paths) if folder and all(map(os.path.exists, paths)) else None


class Frameworks(Experiment):
    name = "frameworks"
    title = "Whamm paper, Figure 8: monitors in each framework"
    key = ("program", "monitor", "framework", "engine")
    values = ("ms", "peak")

    def variants(self, world, program, monitor):
        """(framework, engine) -> a function that measures; what is not there is left out."""
        script, natives, hand, library = MONITORS[monitor]
        script, found = world.script(script), {}

        def run(engine, module):
            return {JIT: lambda: systems.wizard(world.wizard, "jit", module(), program.arguments),
                    LIFTOFF: lambda: systems.node(world, module(), program.arguments, "--liftoff-only"),
                    V8: lambda: systems.node(world, module(), program.arguments),
                    WASMTIME: lambda: systems.wasmtime(world, module(), program.arguments)}[engine]

        def attach(monitors):
            return lambda: systems.wizard(world.wizard, "jit", program.path, program.arguments, monitors())
        engines = [JIT] * bool(world.wizard) + [LIFTOFF, V8] * world.has_node() + [WASMTIME] * world.has_wasmtime()
        for engine in engines:
            found[BASE, engine] = run(engine, lambda: program.path)
            found["whammc, rewriting", engine] = run(engine, lambda: world.instrumented(program, script, "--host=wasi"))
            if engine != JIT:
                found["whammc, bound", engine] = run(engine, lambda: world.bound(program, script))
        if world.wizard:
            found["whammc, monitor", JIT] = attach(lambda: world.monitor(script))
            if world.peers["WHAMM"] and world.peers["WHAMM_CORE"]:
                found["original Whamm, rewriting", JIT] = lambda: systems.original(world, program, script, False)
                found["original Whamm, monitor", JIT] = lambda: systems.original(world, program, script, True)
            native = next((name for name in natives if name in built_in(world.wizard)), None)
            if native:
                found["built in", JIT] = attach(lambda: native)
            if by_hand(world, hand, library):
                found["monitor by hand", JIT] = attach(lambda: by_hand(world, hand, library))
        return found

    def jobs(self, world):
        for program in world.kernels():
            for monitor in MONITORS:
                variants = self.variants(world, program, monitor)
                if variants:
                    yield Job([(program.name, monitor, *variant) for variant in variants],
                              lambda v=variants: list(medians(v, world.rounds).values()), f"{program.name} {monitor}")
                # once: it is a hundred times slower than what it is compared with
                if world.has_node() and world.peers["WASABI"] and (not world.quick or program.name in SHORT):
                    yield Job([(program.name, monitor, "Wasabi", V8)], lambda p=program, m=monitor: [self.wasabi(world, p, m)],
                              f"{program.name} {monitor} Wasabi", rounds=1)

    @staticmethod
    def wasabi(world, program, monitor):
        return systems.wasabi(world, program, monitor, WASABI_HOOKS.get(monitor, ["--no-hooks=start"]))

    def show(self, store, page):
        page.heading(self.title)
        page.text("Time with a monitor by time without, CPU time; geometric means over the programs. The paper shows these as bars per "
                  "kernel, in Wizard's JIT; the other columns are engines that it does not have.")
        page.programs(store)
        columns = list(dict.fromkeys(key[2:] for key in store.rows if key[2] != BASE))
        columns.sort(key=lambda column: (column[1] != JIT, column[1] != LIFTOFF, column[1], column[0]))
        monitors = [name for name in MONITORS if name in store.column("monitor")]
        bars = {}
        for monitor in monitors:
            bars[monitor] = [self.mean(store, monitor, column) for column in columns]
        page.table(["monitor", *(f"{framework}; {engine}" for framework, engine in columns)],
                   [[monitor, *map(page.number, bars[monitor])] for monitor in monitors])
        page.bars("frameworks", [f"{framework}; {engine}" for framework, engine in columns], bars, "time / time without (log)")
        for column in columns:
            measured = [program for program in store.column("program") if any(store.number("ms", program, name, *column) for name in monitors)]
            if measured != store.column("program"):
                page.text(f"*{column[0]}; {column[1]}* was measured with {', '.join(measured) or 'no program'} only.")
        page.remark("The paper prints no numbers with its bars. It finds Wasabi orders of magnitude slower than what stays in "
                    "WebAssembly, Wizard's own monitors fastest for `hotness` and `branches`, and compiled monitors as fast as those "
                    "written by hand, within 1.5 to 2 times of rewriting.")
        page.remark("What differs: our forms count by segments where a script only counts, while Wizard's own monitors and those "
                    "written by hand have a probe at each site. The original Whamm is measured with our scripts where it compiles "
                    "them. Kernels that run for a few milliseconds mostly show what attaching and reporting cost.")

    @staticmethod
    def mean(store, monitor, column):
        return mean_ratio((store.number("ms", program, monitor, *column), store.number("ms", program, monitor, BASE, column[1]))
                          for program in store.column("program"))
