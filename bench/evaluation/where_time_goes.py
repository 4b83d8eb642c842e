"""Whamm paper, Figures 11 and 12: what of the cost is attaching, transfer, the probes' own work, and the report."""

import json

from . import systems
from .experiment import Experiment, Job
from .frameworks import MONITORS
from .measure import medians, spend

PROBED = ("imix", "icount", "cache_sim")
FORM = "--no-coalesce"  # a probe at each site, as there
REWRITING, ENGINE = "rewriting", "engine"
PARTS = ("bind", "transfer", "work", "report")
# What of the compiler's phases is one part of attaching.
STEPS = {"plan": ("plan",), "matching": ("read", "validate", "match"), "state": ("storage",), "code": ("compile", "optimise"),
         "attaching": ("inject", "write")}


class WhereTimeGoes(Experiment):
    name = "where-time-goes"
    title = "Whamm paper, Figures 11 and 12: where the time goes"
    key = ("program", "monitor", "target")
    values = ("base", *PARTS, *STEPS)

    def jobs(self, world):
        if not world.wizard:
            return
        for program in world.kernels():
            for monitor in PROBED:
                yield Job([(program.name, monitor, target) for target in (REWRITING, ENGINE)],
                          lambda p=program, m=monitor: self.measure(world, p, m), f"{program.name} {monitor}")

    def measure(self, world, program, monitor):
        script = world.script(MONITORS[monitor][0])

        def wizard(module):
            return lambda: systems.wizard(world.wizard, "jit", module, program.arguments)
        found = medians({
            "base": wizard(program.path),
            "all": wizard(world.instrumented(program, script, FORM, "--host=wasi")),
            "silent": wizard(world.instrumented(program, script, FORM, "--host=wasi", "--no-report")),
            "empty": wizard(world.instrumented(program, script, FORM, "--host=wasi", "--no-report", "--bodies=empty")),
            "engine": lambda: systems.attached(world.wizard, program, world.monitor(script, FORM)),
            "engine, empty": lambda: systems.attached(world.wizard, program, world.monitor(script, FORM, "--bodies=empty")),
            "compiler": lambda: self.compiler(world, program, script),
        }, world.rounds)
        wrong = next((result for result in found.values() if isinstance(result, str)), None)
        return [wrong, wrong] if wrong else [self.rewriting(found), self.engine(found)]

    @staticmethod
    def compiler(world, program, script):
        metrics = world.file("metrics.json")
        libraries = [f"--lib={name}={path}" for name, path in world.libraries(script).items()]
        spend([world.whammc, "instr", FORM, "--host=wasi", f"--metrics={metrics}", *libraries, "-s", script, program.path, "-o", world.file("out.wasm")])
        with open(metrics, encoding="utf-8") as file:
            phases = json.load(file)["phases"]
        return {step: sum(phases[name]["cpu_ms"] for name in names) for step, names in STEPS.items()}

    @staticmethod
    def rewriting(found):
        """Binding is the compiler's, before the program runs, and not part of the run."""
        ms = {name: found[name]["ms"] for name in ("base", "all", "silent", "empty")}
        transfer = max(min(ms["empty"], ms["silent"]) - ms["base"], 0)
        return {"base": ms["base"], "bind": sum(found["compiler"].values()), "transfer": transfer,
                "work": max(ms["silent"] - ms["base"] - transfer, 0), "report": max(ms["all"] - ms["silent"], 0), **found["compiler"]}

    @staticmethod
    def engine(found):
        """Binding and reporting by the engine's own clock. What an empty probe costs has its own binding in it."""
        def running(result):
            return max(result["ms"] - found["base"]["ms"] - result["bind_ms"] - result["report_ms"], 0)
        whole, transfer = found["engine"], running(found["engine, empty"])
        return {"base": found["base"]["ms"], "bind": whole["bind_ms"], "transfer": min(transfer, running(whole)),
                "work": max(running(whole) - transfer, 0), "report": whole["report_ms"]}

    def show(self, store, page):
        page.heading(self.title)
        page.text("Milliseconds, means over the programs, in Wizard's JIT, a probe at each site (`--no-coalesce`), as in the paper. *transfer*: "
                  "what the program takes longer with empty bodies (`--bodies=empty`); *report*: with a report less without (`--no-report`), in the "
                  "engine by its own clock; *bind*: of rewriting the compiler's time, before the program runs; *work* is the rest. Differences below 0 count as 0.")
        page.programs(store)
        rows = []
        for monitor in (name for name in PROBED if name in store.column("monitor")):
            for target in (REWRITING, ENGINE):
                means = [self.mean(store, value, monitor, target) for value in ("base", *PARTS)]
                if means[0] is not None:
                    rows.append([f"{monitor}, {target}", *means])
        page.table(["monitor", "base", *PARTS], [[row[0], *map(page.number, row[1:])] for row in rows])
        page.stack("where-time-goes", [row[0] for row in rows], list(PARTS), [row[2:] for row in rows], "ms above the program alone")
        page.text("What *bind* of rewriting consists of, by `--metrics`, in milliseconds:")
        page.table(["monitor", *STEPS], [[monitor, *(page.number(self.mean(store, step, monitor, REWRITING)) for step in STEPS)]
                                         for monitor in PROBED if monitor in store.column("monitor")])
        shares = {label: {part: value / sum(values) for part, value in zip(PARTS, values)} for label, _, *values in rows if sum(values)}
        binding = max((share["bind"] for share in shares.values()), default=0)
        working = [f"{100 * share['work']:.0f} % ({label.partition(', ')[2]})" for label, share in shares.items() if label.startswith("cache_sim")]
        here = f"Here, binding is at most {100 * binding:.0f} % of what a monitor costs" + (
            f", and the work of `cache_sim` {' and '.join(working)} of what that costs." if working else ".")
        page.remark("The paper prints no numbers with its bars. It finds that binding costs little or nothing in both forms, unlike in Pin, "
                    f"and that most of `cache_sim` is its own work, in the library. {here} In rewritten programs an "
                    "empty probe is a call of an empty function, while bodies themselves are inlined. Where such a call costs more than the body, all of "
                    "the run time counts as *transfer*. Pin is not here: it does not run WebAssembly.")

    @staticmethod
    def mean(store, value, monitor, target):
        numbers = [number for program in store.column("program") for number in [store.number(value, program, monitor, target)] if number is not None]
        return sum(numbers) / len(numbers) if numbers else None
