"""What whammc's outputs report, beside what the interpreter says."""

import json
import os
import re
import subprocess

from . import interpret, script as sc, wasm
from ..commands import call
from ..world import ENGINES, WHAMMC

HERE = os.path.dirname(os.path.abspath(__file__))
INSTR = {
    "instr": [], "memory": ["--storage=memory"], "globals": ["--storage=globals"], "places": ["--no-coalesce"],
    "plain": ["--no-coalesce", "--no-optimise", "--storage=memory"],
    "exact": ["--exact-traps"],
}
BIND = {"bind": ([], []), "bind places": (["--no-coalesce"], []), "bind plain": ([], ["--no-optimise"])}
BANNER = "================================= REPORT CSV FLUSH ====================================\n"


class Node:
    """A Node that runs modules."""

    def __init__(self, command):
        self.process = subprocess.Popen([command, "--no-warnings", os.path.join(HERE, "run.mjs")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, encoding="utf-8")

    def run(self, path):
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def node_command():
    return os.path.join(ENGINES, "bin", "node24")


def rows(text):
    """The rows of a report without ids, as lines."""
    if BANNER not in text:
        return []
    lines = text.split(BANNER)[-1].split("\n")[1:-1]
    out = []
    for line in lines:
        if line.startswith("(") and line[1].isdigit():
            line = line[line.index(")") + 3:]
        else:
            line = line[line.index(", ") + 2:]
        if "(stopped)" not in line or not line.endswith(", 0"):  # no probe takes too many steps
            out.append(line)
    return out


class Both:
    """What the interpreter says of each target."""

    def __init__(self, text, program):
        self.instr = Expected(text, program)
        self.bind = Expected(text, program, True) if re.search("wasm:begin|func:entry|print", text) else self.instr
        self.trap = self.instr.trap or self.bind.trap

    def of(self, form):
        return self.bind if form in BIND else self.instr


class Expected:
    """`trap` where the sample is of no use."""

    def __init__(self, text, program, monitor=False):
        self.trap, self.text = False, text
        try:
            run = interpret.Run(sc.read(text), program, monitor)
            machine = run.run()
            self.rows, self.ended = [", ".join(row) for row in run.rows()], run.ended
            self.printed = b"".join(line + b"\n" for line in run.lines).decode("latin1")
            self.globals = [str(value if t[0] == "f" else wasm.as_signed(value, wasm.BITS[t]))
                            for (t, _), value in zip(program.globals, machine.globals)]
        except wasm.Trap:
            self.trap = True


def differences(expected, given):
    """What is not as expected, as lines."""
    out = []
    if given.get("ended") != expected.ended:
        return [f"! {given.get('ended')}, not {expected.ended}"]
    told = re.sub(r"\S*/(script\.whamm:)", r"\1", given["text"].split("\n" + BANNER)[0])
    if told != expected.printed:
        out += [f"! printed {told!r}, not {expected.printed!r}"]
    for i, (x, y) in enumerate(zip(expected.globals, given["globals"])):
        if float(x) != float(y):
            out.append(f"! global g{i} is {y}, not {x}")
    want, have = expected.rows, rows(given["text"].encode("latin1").decode("utf-8", "surrogateescape"))
    if "*" in expected.text:  # which instructions there are decides about the numbers of probes
        want, have = [[re.sub(r"(, |^)[0-9]+_wasm:", r"\1_wasm:", row) for row in rows_] for rows_ in (want, have)]
    if want != have:
        out += [f"- {row}" for row in want if row not in have] + [f"+ {row}" for row in have if row not in want]
        out += ["! the order of rows differs, or their number"] if not out else []
    return out


class Compiler:
    """Compiles a script in all forms into one directory."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def outputs(self, text, program, forms):
        """(form, path or None, message) of each form; None: this form refuses the script."""
        for name, data in (("app.wasm", program), ("script.whamm", text.encode())):
            with open(self.path(name), "wb") as file:
                file.write(data)
        for form in forms:
            out = self.path(form.replace(" ", "-") + ".wasm")
            if form in INSTR:
                done = call([WHAMMC, "instr", "--host=wasi", *INSTR[form], "-s", self.path("script.whamm"), self.path("app.wasm"), "-o", out])
            else:
                monitor, bind = BIND[form]
                done = call([WHAMMC, "monitor", *monitor, "-s", self.path("script.whamm"), "-o", self.path("mon.wasm")])
                if not done.returncode:
                    done = call([WHAMMC, "bind", "--host=wasi", *bind, self.path("mon.wasm"), self.path("app.wasm"), "-o", out])
            yield form, None if done.returncode else out, done.stderr
