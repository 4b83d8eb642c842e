"""Runs WASI programs in turn in wasmtime, with the same arguments, and prints results like those of rounds.mjs as JSON, in CPU time.
wasmtime compiles ahead of time, so that nothing gets faster. usage: rounds.py ROUNDS MODULE.wasm... -- [ARGUMENT...]
"""

import json
import os
import sys
import time

import wasmtime

ROUND = 0.02  # seconds that a program runs in a round
SLOW = 3  # what takes so many times as long as the first program takes part in each third round only


class Program:
    def __init__(self, engine, path, arguments):
        self.engine, self.arguments = engine, arguments
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.module = wasmtime.Module(engine, self.bytes)
        self.results = {"load": [], "first": [], "again": [], "report": []}

    def instance(self, module):
        wasi = wasmtime.WasiConfig()
        wasi.argv = ["program", *self.arguments]
        wasi.stdout_file = wasi.stderr_file = os.devnull
        store = wasmtime.Store(self.engine)
        store.set_wasi(wasi)
        linker = wasmtime.Linker(self.engine)
        linker.define_wasi()
        return store, linker.instantiate(store, module).exports(store)

    def run(self, module):
        """Seconds in the program."""
        store, exports = self.instance(module)
        before = time.thread_time()
        try:
            exports["_start"](store)
        except wasmtime.ExitTrap:
            pass
        return time.thread_time() - before

    def report(self, module):
        """Seconds of the report, in a new instance, whose memory is as cold as in a run."""
        store, exports = self.instance(module)
        before = time.thread_time()
        flush = exports.get("whammc:flush")
        if flush:
            flush(store)
        return time.thread_time() - before

    def again(self):
        runs = spent = reports = 0
        while spent < ROUND:
            runs, spent, reports = runs + 1, spent + self.run(self.module), reports + self.report(self.module)
        return (spent - reports) / runs

    def round(self):
        clock = time.monotonic()
        module = wasmtime.Module(self.engine, self.bytes)
        self.instance(module)
        self.results["load"].append(time.monotonic() - clock)
        self.results["report"].append(self.report(module))
        self.results["first"].append(self.run(module) - self.results["report"][-1])
        self.results["again"].append(self.again())


def main(rounds, *words):
    end = words.index("--")
    config = wasmtime.Config()
    config.wasm_multi_memory = True
    engine = wasmtime.Engine(config)
    programs = [Program(engine, path, words[end + 1:]) for path in words[:end]]
    usual = [program.again() for program in programs]
    for number in range(int(rounds)):
        for program, spent in zip(programs, usual):
            if number % 3 == 0 or spent < SLOW * usual[0]:
                program.round()
    print(json.dumps([{name: [1000 * t for t in times] for name, times in p.results.items()} for p in programs]))


main(*sys.argv[1:])
