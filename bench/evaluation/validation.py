"""The thesis on WasmProf, Appendix B: times of functions that must be in known ratios."""

import os
import re
import sys

from .experiment import Experiment, Job
from .measure import Failed, spend
from .world import BENCH

# What bench/validation measures: times that include what measuring costs, as those of the thesis; without that; without timing the tiny function;
# from samples.
WAYS = {"all functions timed, not calibrated": ["--no-calibrate"], "all functions timed": [], "the tiny function not timed": ["--exclude"],
        "sampled by a thread": ["--sampler=thread"], "sampled by the program": ["--sampler=program"]}
SAMPLED = ("sampled by a thread", "sampled by the program")
UNTIMED = ("the tiny function not timed", *SAMPLED)  # these do not have the times of its calls
FUNCTIONS = [f"main -> f_{name}" for name in ("main_1", "main_2", "main_3", "main_4", "half", "half_2", "quarter")]
CALLS = [f"f_{name} -> add" for name in ("main_1", "main_2", "half", "quarter")]
PAPER = 0.7  # per cent that the thesis' times are off at most


class Validation(Experiment):
    name = "validation"
    title = "WasmProf, Appendix B: times that must have known ratios"
    key = ("way", "time of")
    values = ("expected", "median")

    def jobs(self, world):
        if world.has_node():
            for way, options in WAYS.items():
                names, runs = [*FUNCTIONS, *(() if way in UNTIMED else CALLS)], world.rounds * (1 if way in SAMPLED else 3)
                yield Job([(way, name) for name in names], lambda o=options, n=names, r=runs: self.measure(world, o, n, r), way, rounds=runs)

    @staticmethod
    def measure(world, options, names, runs):
        iterations = 3000000 if world.quick else 10000000
        usage = spend([sys.executable, os.path.join(BENCH, "validation"), f"--builddir={world.build}", f"--runs={runs}",
                       f"--iterations={iterations}", f"--engine={world.node}", "--clock=host", *options], must=False)
        rows = {what.strip(): {"expected": float(expected), "median": float(median)}
                for what, expected, median in re.findall(r"^(.*?)\s+([\d.]+)\s+([\d.]+)\s+-?[\d.]+%", usage.output, re.M)}
        if not rows:
            raise Failed(next((line for line in usage.errors.splitlines() if line.strip()), "bench/validation printed nothing"))
        return [rows.get(name, "not measured") for name in names]

    def show(self, store, page):
        page.heading(self.title)
        page.text("Functions of `examples/programs/validation.c` call a tiny one n, n, n/2 and n/4 times, and each other. Times as a multiple of "
                  "those of n iterations, medians; in brackets how far that is from what it must be. All calls that were counted were "
                  "exact, or there would be no row. The iterations, 10 million as there, are divided among 100 rounds, so that a processor that "
                  "becomes slower does so for all functions. Samples are of 80 rounds with all iterations, about ten seconds. V8 inlines nothing.")
        rows = []
        for name in (*FUNCTIONS, *CALLS):
            expected = next((e for way in WAYS for e in [store.number("expected", way, name)] if e), None)
            medians = [store.number("median", way, name) for way in WAYS]
            if expected:
                rows.append([name, f"{expected:g}", *("" if m is None else f"{m:.3f} ({100 * (m / expected - 1):+.1f} %)" for m in medians)])
        page.table(["time of", "must be", *WAYS], rows)
        raw = next(iter(WAYS))
        off = [abs(m / e - 1) for e, m in ((store.number("expected", raw, name), store.number("median", raw, name)) for name in FUNCTIONS) if e and m]
        page.remark(f"The thesis says {PAPER} % at most, for 10 million iterations that took 36 s" +
                    (f"; here, the functions that `main` calls are off by {100 * max(off):.1f} % at most. " if off else ". ") +
                    "It gives all calls of the tiny function their average time, while here those of each caller are measured. Its times are not "
                    "calibrated: nearly all of them is the clock. The tiny function itself takes less than a nanosecond, which is less than the cost of "
                    "measuring varies by, so calibrated ratios mean little.")
