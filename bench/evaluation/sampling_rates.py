"""The article on wzprof: what profiles cost at each sampling rate, beside wzprof itself."""

import os

from .experiment import Experiment, Job
from .measure import mean_ratio, medians, spend
from .world import TOP, Program

ALONE = "alone"
OURS, THEIRS = "whammc, Node", "wzprof, wazero"
RATES = (1, 10, 100, 1000)  # one in N calls, as wzprof's option -sample has it
INTERVALS = ("1ms", "10ms")


class SamplingRates(Experiment):
    name = "sampling-rates"
    title = "wzprof: overhead at each sampling rate"
    key = ("program", "profile", "system")
    values = ("ms", "peak")

    def jobs(self, world):
        for program in self.programs(world):
            ours, theirs = self.whammc(world, program), self.wzprof(world, program)
            for system, variants in ((OURS, ours), (THEIRS, theirs)):
                if variants:
                    yield Job([(program.name, name, system) for name in variants],
                              lambda v=variants: list(medians(v, world.rounds).values()), f"{program.name} {system}")

    @staticmethod
    def programs(world):
        examples = {"fib": ["27"], "quicksort": ["100000"], "scheme": []}
        return [Program(name, os.path.join(world.build, "examples", "programs", name + ".wasm"), arguments) for name, arguments in examples.items()]

    @staticmethod
    def timed(command):
        def run():
            usage = spend(command)
            return {"ms": usage.cpu_ms, "peak": usage.peak_bytes}
        return run

    def whammc(self, world, program):
        """CPU time of the whole process, with instrumenting and writing the profile."""
        if not world.has_node():
            return {}
        runner = os.path.join(TOP, "stdlib", "host", "run-node.mjs")
        profile = [world.whammc, "profile", f"--engine={world.node}", "-o", world.file("out.pb.gz")]
        end = [program.path, *program.arguments]
        return {ALONE: self.timed([world.node, "--no-warnings", runner, program.path, world.file("report"), program.name,
                                    *program.arguments]),
                **{f"1 in {n} calls": self.timed([*profile, "--style=tree", f"--sample=1/{n}", *end]) for n in RATES},
                **{f"every {interval}": self.timed([*profile, "--style=sample", f"--interval={interval}", *end]) for interval in INTERVALS},
                "memory": self.timed([*profile, "--memory", *end])}

    def wzprof(self, world, program):
        engine = world.peers["WZPROF"]
        if not engine:
            return {}
        output, end = world.file("wzprof.pb.gz"), [program.path, *program.arguments]
        return {ALONE: self.timed([engine, *end]),
                **{f"1 in {n} calls": self.timed([engine, "-sample", str(1 / n), "-cpuprofile", output, *end]) for n in RATES},
                "memory": self.timed([engine, "-memprofile", output, *end])}

    def show(self, store, page):
        page.heading(self.title)
        page.text("CPU time of the whole process by that of the program alone in the same engine, geometric means over the programs. "
                  "wzprof interprets DWARF and walks wazero's stack; it has no profile by intervals. Ours is with instrumenting the program and "
                  "writing the profile.")
        rows, systems, programs = [], store.column("system"), store.column("program")
        slower = mean_ratio((store.number("ms", program, ALONE, THEIRS), store.number("ms", program, ALONE, OURS)) for program in programs)
        for profile in (name for name in store.column("profile") if name != ALONE):
            rows.append([profile, *(page.number(self.mean(store, profile, system)) for system in systems)])
        page.table(["profile", *systems], rows)
        page.remark("The article has no table; it says that sampled CPU profiles usually cost less than 10 %, of what it does not say. Both "
                    "profilers follow each call, whether or not it is sampled, and two of these programs do little else than call." +
                    (f" Without a profile, the programs take {slower:.2f} times as long in wazero as in Node." if slower else ""))

    @staticmethod
    def mean(store, profile, system):
        return mean_ratio((store.number("ms", program, profile, system), store.number("ms", program, ALONE, system))
                          for program in store.column("program"))
