"""Whamm paper, Figures 9 and 10: what the engine's optimisations of probes bring."""

from . import systems
from .experiment import Experiment, Job
from .frameworks import BASE, MONITORS
from .measure import mean_ratio, medians
from .world import SHORT

# Mode of the program -> builds of Wizard in the order of the figures: calls of the runtime with interpreted or compiled probes, trampolines,
# direct calls, inlining.
BUILDS = {"int": ("rt-int", "rt-jit", "tramp-int", "tramp-jit"), "jit": ("rt-int", "rt-jit", "wasm-int", "wasm-jit", "inline")}
FORMS = {"segments": [], "each site": ["--no-coalesce"]}
REWRITTEN = "rewritten"


class EngineOptions(Experiment):
    name = "engine-options"
    title = "Whamm paper, Figures 9 and 10: optimisations of the engine"
    key = ("program", "monitor", "mode", "build", "form")
    values = ("ms", "peak", "data")

    def variants(self, world, program, monitor, mode):
        script = world.script(MONITORS[monitor][0])
        arguments = program.interpreted if mode == "int" else program.arguments
        found = {}
        for build in (name for name in BUILDS[mode] if name in world.wizards):
            engine = world.wizards[build]
            found[build, BASE] = lambda e=engine: systems.wizard(e, mode, program.path, arguments)
            for form, options in FORMS.items():
                found[build, form] = lambda e=engine, o=options: systems.wizard(e, mode, program.path, arguments, world.monitor(script, *o))
        for form, options in FORMS.items():
            found[REWRITTEN, form] = lambda o=options: systems.wizard(
                world.wizard, mode, world.instrumented(program, script, "--host=wasi", *o), arguments)
        found[REWRITTEN, BASE] = lambda: systems.wizard(world.wizard, mode, program.path, arguments)
        return found

    def jobs(self, world):
        if not set(world.wizards) & set(BUILDS["jit"]):
            return
        for program in (p for p in world.small_kernels() if not world.quick or p.name in SHORT):
            for monitor in MONITORS:
                for mode in BUILDS:
                    variants = self.variants(world, program, monitor, mode)
                    yield Job([(program.name, monitor, mode, *variant) for variant in variants],
                              lambda v=variants, p=program: self.measure(world, v, p.data), f"{program.name} {monitor} {mode}")

    @staticmethod
    def measure(world, variants, data):
        return [result if isinstance(result, str) else {**result, "data": data} for result in medians(variants, world.rounds).values()]

    def show(self, store, page):
        page.heading(self.title)
        page.text("Time with a monitor by time without, CPU time of the whole process, geometric means over the programs. A cell has two "
                  "numbers: a counter at each site, which is what the paper's monitors do, → counted by segments, which is our default. The pictures have "
                  "the former.")
        page.programs(store)
        self.show_data(store, page)
        for mode, builds in BUILDS.items():
            builds = [build for build in (*builds, REWRITTEN) if build in store.column("build")]
            rows, bars, how = [], {}, "interpreted" if mode == "int" else "compiled"
            for monitor in (name for name in MONITORS if name in store.column("monitor")):
                means = {form: [self.mean(store, monitor, mode, build, form) for build in builds] for form in reversed(FORMS)}
                rows.append([monitor, *(" → ".join(filter(None, map(page.number, pair))) for pair in zip(*means.values()))])
                bars[monitor] = means["each site"]
            if rows:
                page.text(f"*The program is {how}* (Figure {9 if mode == 'int' else 10})")
                page.table(["monitor", *builds], rows)
                page.bars(f"engine-options-{how}", builds, bars, "time / time without (log)")
        inlined, rewritten = ({name: self.mean(store, name, "jit", build, "each site") for name in MONITORS} for build in ("inline", REWRITTEN))
        faster = [name for name in MONITORS if inlined[name] and rewritten[name] and rewritten[name] < inlined[name]]
        page.remark("The paper prints no numbers with its bars; compare by how much each column is lower than the one before it. It "
                    "finds that doing without calls of the runtime brings most, compiling the probes brings most for `cache_sim`, and "
                    "inlining gets below rewriting.")
        page.remark("What differs: " + (f"here, rewriting is faster than inlining with {', '.join(f'`{name}`' for name in faster)}: " if faster else "") +
                    "attaching is part of all columns but *rewritten*, and takes "
                    "about as long as programs that run for some milliseconds. With segments only some instructions have a probe.")

    @staticmethod
    def show_data(store, page):
        """Says which programs have a smaller data set; names those or the others, of which there are fewer."""
        programs = store.column("program")
        small = [name for name in programs if any(row.get("data") for key, row in store.rows.items() if key[0] == name)]
        usual = [name for name in programs if name not in small]
        if small:
            which = "All" if not usual else f"All but {', '.join(usual)}" if len(usual) < len(small) else ", ".join(small)
            page.text(f"{which} have a smaller data set than in the other tables, as the slowest builds take hundreds of times as long as the "
                      "program alone.")

    @staticmethod
    def mean(store, monitor, mode, build, form):
        return mean_ratio((store.number("ms", program, monitor, mode, build, form), store.number("ms", program, monitor, mode, build, BASE))
                          for program in store.column("program"))
