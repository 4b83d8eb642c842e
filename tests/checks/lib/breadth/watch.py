"""watch.mjs for wasmtime: runs modules that tests/checks/breadth makes, of instructions that do not trap, and tells what they did.

usage: python watch.py < JOBS       with a Python that has wasmtime; jobs and answers are those of watch.mjs
"""

import json
import sys

import wasmtime

ENGINE = wasmtime.Engine()


def start(path):
    store = wasmtime.Store(ENGINE)
    exports = wasmtime.Instance(store, wasmtime.Module.from_file(ENGINE, path), []).exports(store)
    return lambda name, *values: exports[name](store, *values)


def outcome(call, values):
    """The results of f, with commas between them; "trap"."""
    try:
        found = call("f", *values)
    except wasmtime.Trap:
        return "trap"
    return ",".join(str(x) for x in (found if isinstance(found, list) else [] if found is None else [found]))


def answer_to(job):
    values = [int(v.rstrip("n")) if v[-1] == "n" or "." not in v else float(v) for v in job["values"]]
    answer = {"original": True}
    try:
        original = start(job["original"])
        answer["original"] = False
        answer["before"] = outcome(original, values)
        if job["output"]:
            output = start(job["output"])
            answer["after"] = outcome(output, values)
            answer["values"] = {name: str(output(f"get_{name}")) for name in job["get"]}
    except wasmtime.WasmtimeError as error:
        answer["invalid"] = str(error)
    return answer


for line in sys.stdin:
    print(json.dumps(answer_to(json.loads(line))))
