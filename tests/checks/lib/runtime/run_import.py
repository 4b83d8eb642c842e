"""Runs a program linked with --link=import in wasmtime, as test_import.mjs does it in Node:

    run_import.py RUNTIME.wasm APP.wasm

The runtime module is instantiated as "whammc_runtime", as `wasmtime run --preload` does. After the program has
ended, its export whammc:flush is called.
"""

import sys

import wasmtime

engine = wasmtime.Engine()
store = wasmtime.Store(engine)
wasi = wasmtime.WasiConfig()
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir(".", ".")
store.set_wasi(wasi)
linker = wasmtime.Linker(engine)
linker.define_wasi()
runtime = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
linker.define_instance(store, "whammc_runtime", runtime)
exports = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[2])).exports(store)
start = exports.get("_start")
try:
    if start:
        start(store)
except wasmtime.ExitTrap:
    pass
except wasmtime.Trap:
    print("unreachable", file=sys.stderr)
if exports.get("whammc:flush"):
    exports["whammc:flush"](store)
