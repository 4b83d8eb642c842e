"""A host with a sampler: runs a program in wasmtime and prints its samples as folded stacks.

    whammc instr --host=wasi -s sample -D outside=true -D shares=false app.wasm -o app.out.wasm
    python3 sampler.py app.out.wasm [ARGUMENT...]

Each line has the indices of the functions, outermost first, and the milliseconds spent in this stack.
"""

import collections
import ctypes
import sys
import threading
import time

import wasmtime

FRAMES = 64  # where they begin in the memory: numbers of 32 bits, up to a 0


def read_stack(address):
    """The active functions, outermost first; None if they changed too fast."""
    size, first = 1024, ()
    while 0 not in first:
        first, second = (memoryview(ctypes.string_at(address + FRAMES, size)).cast("I").tolist() for _ in range(2))
        size *= 4
    del first[first.index(0) :]
    if first[:-16] != second[: len(first[:-16])]:
        return None
    return [frame - 1 for frame in first]


def sample(address, interval, samples, over):
    last = time.perf_counter()
    while not over.wait(interval):
        stack, now = read_stack(address), time.perf_counter()
        if stack is not None:
            samples[tuple(stack)] += now - last
            last = now


def main(file, *arguments):
    engine = wasmtime.Engine()
    store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
    wasi = wasmtime.WasiConfig()
    wasi.argv = [file, *arguments]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    store.set_wasi(wasi)
    linker.define_wasi()
    i32 = wasmtime.ValType.i32()
    linker.define_func("whammc", "next_sample", wasmtime.FuncType([i32], [i32]), lambda place: 0)
    exports = linker.instantiate(store, wasmtime.Module.from_file(engine, file)).exports(store)
    address = ctypes.addressof(exports["whammc:stack"].data_ptr(store).contents)
    samples, over = collections.Counter(), threading.Event()
    sampler = threading.Thread(target=sample, args=(address, 0.001, samples, over))
    sampler.start()
    try:
        exports["_start"](store)
    except wasmtime.ExitTrap:
        pass
    finally:
        over.set()
        sampler.join()
    for stack, seconds in samples.most_common():
        print(";".join(map(str, stack)) or "idle", round(1000 * seconds), file=sys.stderr)


main(*sys.argv[1:])
