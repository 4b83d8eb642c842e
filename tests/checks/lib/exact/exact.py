"""Compares what instrumented modules count with what the interpreter in src/eval/ counts (tests/unit/evaluate -c).

Both are asked with the same commands, those of tests/unit/evaluate.c; evaluate.mjs answers for Node.
"""

import os
import re
import struct

from ..commands import call
from ..ways.arcs import sections
from ..world import BUILD, EXAMPLE_SCRIPTS, LIB, SCRIPTS, SOURCE, WHAMMC, chosen_seeds

EVALUATE = os.environ.get("EVALUATE") or os.path.join(BUILD, "tests", "unit", "evaluate")
# What is compared with the interpreter, and what only with each other.
COUNTING = [f"{EXAMPLE_SCRIPTS}/{name}.whamm" for name in ("hotness", "icount", "imix")]
SHAPES = f"{SCRIPTS}/shapes.whamm"
REPORTED = ("plain", "coalesced")  # forms with SHAPES
# Errors of the interpreter by number (EvalStatus): it cannot go on, though an engine could.
GIVES_UP = {"3": "not supported", "4": "too large", "5": "arguments", "18": "stack", "19": "fuel"}


def seeds(count):
    """Of random modules; `count` if the environment says nothing."""
    return chosen_seeds("WHAMMC_EXACT", count)


# --- Asking ---------------------------------------------------------------------------------------------


def ask(command, scripts):
    """The answers to several lists of commands; a program that ends before its time gives 'error crash'."""
    lines = ["reset\n" + "".join(line + "\n" for line in script) for script in scripts]
    done = call(command, text="".join(lines), timeout=1200)
    got = iter(done.stdout.splitlines())
    crash = "error crash " + done.stderr.strip()[-500:].replace("\n", " ")
    result = []
    for script in scripts:
        next(got, None)
        result.append([next(got, crash) for _ in script])
    return result


def ask_truth(scripts, fuel=3000000):
    return ask([EVALUATE, "-c", str(fuel)], scripts)


def ask_node(scripts, node="node24"):
    runtime = os.path.join(BUILD, "stdlib", "runtime", "whammc-runtime.wasm")
    return ask([node, f"{LIB}/exact/evaluate.mjs", f"{SOURCE}/stdlib/host/whammc.js", runtime], scripts)


def as_number(value):
    """A value of the interpreter as evaluate.mjs writes it."""
    kind, _, bits = value.partition(":")
    if kind == "i64":
        return value
    if kind in ("i32", "f32", "f64"):
        bits = int(bits)
        if kind == "i32":
            number = float(bits - (bits >> 31 << 32))
        elif kind == "f32":
            number = struct.unpack("<f", struct.pack("<I", bits))[0]
        else:
            number = struct.unpack("<d", struct.pack("<Q", bits))[0]
        return "nan" if number != number else f"number:{struct.unpack('<Q', struct.pack('<d', number))[0]}"
    return "null" if bits == "null" else "reference"


def outcome(answer):
    """What can be compared of an answer of either."""
    words = answer.split(" ")
    if words[0] == "ok":
        values = [as_number(w) if not w.startswith("number:") else w for w in words[1:]]
        return " ".join(["ok", *(w if w in ("nan", "null") else v for w, v in zip(words[1:], values))])
    ended = re.search(r"ended the program with status (\d+)", answer)
    if ended:
        return f"exit {ended.group(1)}"
    if words[1] == "exit":
        return " ".join(words[1:3])
    return "trap" if words[1].isdigit() else words[1]


# --- Instrumenting --------------------------------------------------------------------------------------


def instrument(module, output, scripts, flags):
    """None, or what went wrong."""
    words = [w for s in scripts for w in ("-s", s)]
    done = call([WHAMMC, "instr", *words, "--no-js", module, "-o", output, *flags])
    return f"exit status {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else None


def make_monitor(output, scripts, flags=()):
    """None, or what went wrong."""
    done = call([WHAMMC, "monitor", *[w for s in scripts for w in ("-s", s)], *flags, "-o", output])
    return f"exit status {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else None


def bind(module, output, monitors, flags=()):
    """None, or what went wrong."""
    done = call([WHAMMC, "bind", "--host=wasi", *flags, "-o", output, *monitors, "--", module])
    return f"exit status {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else None


# --- Programs -------------------------------------------------------------------------------------------

ARGUMENTS = {
    "i32": [0, 5, 0x80000001],
    "i64": [0, 7, 0x8000000000000001],
    "f32": [0, 0x40200000, 0xF149F2CA],  # 0, 2.5, -1e30
    "f64": [0, 0xC00C000000000000, 0x7E37E43C8800759C],  # 0, -3.5, 1e300
}
REFERENCES = ("funcref", "externref")
START = 8  # a section


class Program:
    """A module, its instrumented forms, and what is to be called."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.forms = {}  # name -> path
        self.calls = []  # lines
        self.outcomes = []  # the interpreter's
        self.truth = None  # what it counted
        self.why = ""  # ... or why it could not
        self.problems = []
        self.warned = set()  # forms that may not count exactly, as the host has said
        with open(path, "rb") as file:
            data = file.read()
        self.uses_wasi = b"wasi_snapshot_preview1" in data
        # What starts by itself may report when the host cannot read yet; WASI would be shown a memory that was not there.
        self.can_be_bound = all(kind != START for kind, _, _ in sections(data)) and (not self.uses_wasi or b"\6memory\2" in data)

    def find_calls(self, exports):
        """Calls of all functions, three times, with other arguments each time; `exports` is evaluate's answer."""
        if not exports.startswith("ok"):
            self.why = exports
            return
        words = [word.split(":") for word in exports.split(" ")[1:]]
        command = [w for w in words if w[0] in (b"_start".hex(), b"main".hex())]
        for turn in range(1 if command else 3):
            for field, params, results in command or words:
                types = [t for t in params.split(",") if t]
                if "v128" in params + results or not all(t in ARGUMENTS or t in REFERENCES for t in types):
                    continue
                values = [f"{t}:{ARGUMENTS[t][turn]}" if t in ARGUMENTS else f"{t}:null" for t in types]
                self.calls.append(" ".join(["call", "-", field, *values]))

    def script(self, path, calls, *more):
        return [f"module - {path}", *calls, *more]


def find_truth(programs, fuel=3000000):
    """Runs them in the interpreter; calls that it cannot finish are taken out, and it is tried again."""
    left = [p for p in programs if p.calls and not p.why]
    for _ in range(24):
        again = []
        for p, got in zip(left, ask_truth([p.script(p.path, p.calls, "counts -") for p in left], fuel)):
            if got[0] != "ok":
                p.why = got[0]
                continue
            bad = next((k for k, a in enumerate(got[1:-1]) if a.startswith("error ") and a.split(" ")[1] in GIVES_UP), None)
            if bad is None:
                p.outcomes, p.truth = [outcome(a) for a in got[1:-1]], got[-1]
                continue
            field = p.calls[bad].split(" ")[2]
            # Other arguments would seldom help.
            p.calls = [c for k, c in enumerate(p.calls) if k < bad or c.split(" ")[2] != field]
            again.append(p)
        left = again
        if not left:
            return
    for p in left:
        p.why = "too many calls that do not end"


def counts_of(text):
    """A report in some text, as `counts` answers."""
    instructions, total, categories, counts = 0, 0, [], []
    for line in text.splitlines():
        row = line.split(", ")
        if len(row) < 11 or not row[0].isdigit():
            continue
        name, fid, pc, value = row[2], row[-4], row[-3], int(row[-1])
        if name == "instructions":
            total = value
        elif name == "count":
            instructions += 1
            counts += [(int(fid), int(pc), value)] if value else []
        elif name.endswith("_ops") and value:
            categories.append(f"{name[:-4]}={value}")
    return " ".join(["ok", str(instructions), str(total), *categories, *(":".join(map(str, c)) for c in sorted(counts))])


def sorted_counts(answer):
    """An answer to `counts` with categories in order."""
    words = answer.split(" ")
    return " ".join([*words[:3], *sorted(w for w in words[3:] if "=" in w), *(w for w in words[3:] if "=" not in w)])


def difference(have, want):
    """Where two answers differ, in a few words."""
    have, want = have.split(" "), want.split(" ")
    only = [w for w in have if w not in set(want)][:4]
    missing = [w for w in want if w not in set(have)][:4]
    return f"has {' '.join(only)} instead of {' '.join(missing)}"


def report_file(program, form, directory):
    """Where a form's report goes; "" if it is not compared."""
    return os.path.join(directory, f"{program.name}.{form}.report") if form in REPORTED else ""


def compare_lives(programs, totals, directory, node="node24", most=4):
    """All calls in one instance of each form, whose report is kept for compare_reports; then calls that trap in an instance of their own."""
    first = [(p, name, path) for p in programs for name, path in [("original", p.path), *p.forms.items()]]
    scripts = []
    for p, name, path in first:
        report = report_file(p, name, directory)
        asked = [] if name == "original" else ["warnings", "counts -"] + [f"report - {report}"] * bool(report)
        scripts.append(p.script(path, p.calls, f"state - {p.name}", *asked))
    original = {}
    for (p, name, _), got in zip(first, ask_node(scripts, node)):
        if name == "original":
            original[p] = got
            check_original(p, got, totals)
            continue
        if name == "bound" and p.uses_wasi and not p.truth:
            continue  # its memory is shown to WASI
        want = original[p]
        if got[:len(want)] != want:
            k = next(k for k, (a, b) in enumerate(zip(got, want)) if a != b)
            p.problems.append(f"{name}: {scripts_line(p, k)}: {want[k]} became {got[k]}")
        warnings, counts = got[len(want):len(want) + 2]
        if warnings != "ok 0":
            p.warned.add(name)
            totals[f"counts not compared: {warnings[5:]}"] += 1
        else:
            check_counts(p, name, counts, p.truth, totals)
    compare_traps(programs, totals, node, most)


def scripts_line(p, k):
    return [f"module {p.path}", *p.calls, "state"][k]


def check_original(p, got, totals):
    totals["modules"] += 1
    totals["modules with truth"] += p.truth is not None
    totals["calls"] += len(p.calls)
    totals["traps"] += sum(o == "trap" for o in p.outcomes)
    if p.truth:
        totals["instructions"] += int(p.truth.split(" ")[2])
    if any(answer.startswith("error arguments") for answer in got):
        totals["modules with calls that JavaScript cannot make"] += 1
        p.truth = None
        return
    for line, answer, want in zip(p.calls, got[1:], p.outcomes):
        if outcome(answer) != want and p.uses_wasi:
            p.truth = None  # functions of WASI that do not do the same
        elif outcome(answer) != want:
            p.problems.append(f"the interpreter: {line}: {want}, but {answer}")
            p.truth = None


def check_counts(p, name, have, want, totals):
    if want is None:
        return
    totals["counts compared"] += 1
    if sorted_counts(have) != sorted_counts(want):
        p.problems.append(f"{name}: {difference(sorted_counts(have), sorted_counts(want))}")


def compare_traps(programs, totals, node, most):
    """Each of a program's calls that trap in an instance of its own, up to a number."""
    tasks = [(p, line) for p in programs if p.truth
             for line in [c for c, o in zip(p.calls, p.outcomes) if o == "trap"][:most]]
    truth = ask_truth([p.script(p.path, [line], "counts -") for p, line in tasks])
    forms = [(p, name, path, line, want) for (p, line), want in zip(tasks, truth) for name, path in p.forms.items()]
    for (p, name, _, line, want), got in zip(forms, ask_node([p.script(path, [line], "warnings", "counts -") for p, _, path, line, _ in forms], node)):
        if want[1].split(" ")[1:2] and want[1].split(" ")[1] in GIVES_UP:
            continue
        totals["lives of one call"] += 1
        if got[-2] != "ok 0":
            p.problems.append(f"{name}: {line} alone: {got[-2]}")
        if outcome(got[1]) != outcome(want[1]):
            p.problems.append(f"{name}: {line} alone: {want[1]} became {got[1]}")
        check_counts(p, f"{name}: {line} alone", got[-1], want[-1], totals)


def compare_with_plain(programs, totals, node="node24"):
    """What the interpreter cannot run: all calls in one instance, and some in instances of their own. All forms do what the original
    does, and count what the plain one counts.
    """
    lives = [(p, calls) for p in programs for calls in [p.calls, *([line] for line in p.calls[::3])]]
    asked = [(p, calls, name, path) for p, calls in lives for name, path in [("original", p.path), *p.forms.items()]]
    answers = ask_node([p.script(path, calls, f"state - {p.name}", *["warnings", "counts -", "report -"] * (name != "original"))
                        for p, calls, name, path in asked], node)
    totals["modules"] += len(programs)
    for (p, calls, name, _), got in zip(asked, answers):
        behaviour, counts = got[:len(calls) + 2], got[len(calls) + 2:]
        if name == "original":
            original = behaviour
            totals["traps and exceptions"] += sum(answer.startswith("error") for answer in got)
        elif behaviour != original:
            k = next(k for k, (a, b) in enumerate(zip(behaviour, original)) if a != b)
            p.problems.append(f"{name}: {scripts_line(p, k)}: {original[k]} became {behaviour[k]}")
        elif name == "plain":
            plain = counts
        elif counts[0] == "ok 0":
            totals["counts compared"] += 1
            if sorted_counts(counts[1]) != sorted_counts(plain[1]):
                p.problems.append(f"{name}: {len(calls)} calls: {difference(sorted_counts(counts[1]), sorted_counts(plain[1]))}")
            if name in REPORTED and counts[2] != plain[2]:
                p.problems.append(f"{name}: {len(calls)} calls: not the report of plain")


# --- Reports --------------------------------------------------------------------------------------------


def compare_reports(programs, directory):
    """What the forms report of shapes.whamm, which compare_lives has kept, must be the same."""
    for p in programs:
        names = [name for name in p.forms if name in REPORTED and name not in p.warned]
        reports = [shapes_rows(report_file(p, name, directory)) for name in names]
        for name, report in list(zip(names, reports))[1:]:
            if report != reports[0]:
                different = [f"{a} | {b}" for a, b in zip(reports[0], report) if a != b][:3]
                p.problems.append(f"{name}: not the report of {names[0]}: {different}")


def shapes_rows(file):
    """The rows of shapes.whamm, without the script's number."""
    if not os.path.exists(file):
        return []
    with open(file, encoding="utf-8") as lines:
        words = [line.rstrip("\n").split(", ") for line in lines]
    return [row[:4] + row[5:] for row in words if len(row) > 5 and row[4] == words[-1][4]]
