"""Whamm paper, Table 3: how long programs run without instrumentation."""

import csv
import os

from . import systems
from .experiment import Experiment, Job
from .measure import geometric_mean, medians

SYSTEMS = ("Wizard, interpreter", "Wizard, JIT", "V8, Liftoff", "V8, TurboFan", "wasmtime", "wasm2c and gcc")
PAPER = {"Wizard, interpreter": "wizard-int", "Wizard, JIT": "wizard-jit", "V8, Liftoff": "v8-liftoff", "wasm2c and gcc": "wasm2c"}


def published():
    """The paper's table, in milliseconds: kernel -> system -> ms."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "published", "whamm-table3.csv")
    with open(path, newline="", encoding="utf-8") as file:
        return {row["program"]: {name: 1000 * float(row[column]) for name, column in PAPER.items()} for row in csv.DictReader(file)}


class Baselines(Experiment):
    name = "baselines"
    title = "Whamm paper, Table 3: programs without instrumentation"
    key = ("program", "system")
    values = ("ms", "peak")

    @staticmethod
    def runs(world, program):
        """System -> a function that runs the program there."""
        found = {}
        if world.wizard:
            found[SYSTEMS[0]] = lambda: systems.wizard(world.wizard, "int", program.path, program.interpreted)
            found[SYSTEMS[1]] = lambda: systems.wizard(world.wizard, "jit", program.path, program.arguments)
        if world.has_node():
            found[SYSTEMS[2]] = lambda: systems.node(world, program.path, program.arguments, "--liftoff-only")
            found[SYSTEMS[3]] = lambda: systems.node(world, program.path, program.arguments, "--no-liftoff")
        if world.has_wasmtime():
            found[SYSTEMS[4]] = lambda: systems.wasmtime(world, program.path, program.arguments)
        if systems.has_native():
            found[SYSTEMS[5]] = lambda: systems.native(world, program)
        return found

    def jobs(self, world):
        for program in world.kernels():
            runs = self.runs(world, program)
            if runs:
                yield Job([(program.name, name) for name in runs], lambda r=runs: list(medians(r, world.rounds).values()), program.name)

    def show(self, store, page):
        page.heading(self.title)
        page.text("Milliseconds of CPU time; in brackets what the paper has. In Wizard and as machine code of the whole process, as there; in "
                  "V8 and wasmtime without starting the host, in wasmtime also without compiling.")
        names = [name for name in SYSTEMS if name in store.column("system")]
        paper, rows, ratios = published(), [], {name: [] for name in names}
        for program in store.column("program"):
            row = [program]
            for name in names:
                ours, theirs = store.number("ms", program, name), paper.get(program, {}).get(name)
                row.append("" if ours is None else page.number(ours) + (f" ({page.number(theirs)})" if theirs else ""))
                if ours and theirs and theirs >= 10:
                    ratios[name].append(ours / theirs)
            rows.append(row)
        means = [geometric_mean(ratios[name]) for name in names]
        rows.append(["*ours by theirs*", *("" if mean is None else f"*{mean:.2f}*" for mean in means)])
        page.table(["program", *names], rows)
        page.remark("The last row is the geometric mean over programs that took 10 ms or more in the paper. The paper has averages of "
                    "five runs, here are medians. It used Wizard 25β.2717, V8 13.6.0, wasm2c 1.0.34 and gcc 13.2.0. Node 24 has the "
                    "same V8, so its column tells how the machines differ.")
