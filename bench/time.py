"""Runs a WASI program in wasmtime and writes into a file how many milliseconds of CPU time that took; compiling it, which
wasmtime does ahead of time, is left out. usage: time.py RESULT-FILE MODULE.wasm [ARGUMENT...]
"""

import sys
import time

import wasmtime


def main(result, path, *arguments):
    config = wasmtime.Config()
    config.wasm_multi_memory = True
    engine = wasmtime.Engine(config)
    module = wasmtime.Module.from_file(engine, path)
    wasi = wasmtime.WasiConfig()
    wasi.argv = [path, *arguments]
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    before = time.process_time()
    try:
        linker.instantiate(store, module).exports(store)["_start"](store)
        status = 0
    except wasmtime.ExitTrap as trap:
        status = trap.code
    with open(result, "w", encoding="utf-8") as file:
        file.write(f"{(time.process_time() - before) * 1000}\n")
    return status


sys.exit(main(*sys.argv[1:]))
