"""The table of sentences: each says what a script reports about one program, or which message it gets.

In sentences.txt, cases are divided by empty lines. The first lines, which begin with a quotation mark, are the sentence of the reference;
then comes the script. `-> NAME VALUE | VALUE` are the values of a variable, of all its rows in order; `-> NAME none`
says that it has no row; `!! TAG` is the error that the script gets, `?? TAG` a warning, `.. instr` says that a monitor cannot do it.

The program, where 0 is the import env.h(i32) -> i32, which gives x + 3:

    (func $leaf (param i32 i64) (result i32)        ;; 1
      local.get 0  i32.const 5  i32.sub)
    (func $pick (param i32)                         ;; 2
      block  block  local.get 0  br_table 0 1 0 1  end  nop  end)
    (func $main (local i32 f64)                     ;; 3, _start
      loop
        local.get 0  i32.const 1  i32.add  local.set 0
        local.get 0  i64.const 100  call $leaf  drop
        local.get 0  i32.const 3  i32.lt_u  br_if 0
      end
      f32.const 2.5  drop  i64.const 0x100000005  drop
      i32.const 16  i32.const 0xABCD  i32.store offset=4
      i32.const 16  i32.load8_s offset=4  global.set 0
      i32.const 0  call $pick  i32.const 1  call $pick  i32.const 9  call $pick
      i32.const 0  if  nop  else  i32.const 40  call $h  drop  end
      i32.const 7  i64.const 1  i32.const 1  call_indirect (type $leaf)  drop)
"""

import os

from . import compare, wasm
from ..world import FIXTURES


def program():
    leaf = wasm.Func("leaf", ["i32", "i64"], "i32", [], [("local.get", 0), ("i32.const", 5), ("i32.sub",), ("end",)])
    pick = wasm.Func("pick", ["i32"], None, [], [
        ("block", None), ("block", None), ("local.get", 0), ("br_table", [0, 1, 0], 1), ("end",), ("nop",), ("end",), ("end",)])
    main = wasm.Func("main", [], None, ["i32", "f64"], [
        ("loop", None), ("local.get", 0), ("i32.const", 1), ("i32.add",), ("local.set", 0),
        ("local.get", 0), ("i64.const", 100), ("call", 1), ("drop",),
        ("local.get", 0), ("i32.const", 3), ("i32.lt_u",), ("br_if", 0), ("end",),
        ("f32.const", 2.5), ("drop",), ("i64.const", 0x100000005), ("drop",),
        ("i32.const", 16), ("i32.const", 0xABCD), ("i32.store", 2, 4),
        ("i32.const", 16), ("i32.load8_s", 0, 4), ("global.set", 0),
        ("i32.const", 0), ("call", 2), ("i32.const", 1), ("call", 2), ("i32.const", 9), ("call", 2),
        ("i32.const", 0), ("if", None), ("nop",), ("else",), ("i32.const", 40), ("call", 0), ("drop",), ("end",),
        ("i32.const", 7), ("i64.const", 1), ("i32.const", 1), ("call_indirect", ["i32", "i64"], "i32"), ("drop",),
        ("end",)])
    return wasm.Program([("h", ["i32"], "i32")], [leaf, pick, main], [("i32", 0)], [None, 1])


class Case:
    def __init__(self, text):
        self.sentence, self.script, self.values, self.error, self.warning = "", "", {}, None, None
        self.instr_only = False
        for line in text.split("\n"):
            if line.startswith('"'):
                self.sentence += line.strip('"') + " "
            elif line.startswith("-> "):
                _, name, values = line.split(" ", 2)
                self.values[name] = [] if values == "none" else [v.strip() for v in values.split(" | ")]
            elif line.startswith("!! "):
                self.error = line[3:]
            elif line.startswith("?? "):
                self.warning = line[3:]
            elif line == ".. instr":
                self.instr_only = True
            else:
                self.script += line + "\n"


def cases():
    path = os.path.join(FIXTURES, "oracle", "sentences.txt")
    with open(path, encoding="utf-8") as file:
        blocks = [block.strip("\n") for block in file.read().split("\n\n")]
    return [Case(block) for block in blocks if block and not block.startswith("#")]


def values_of(rows, name):
    """The values of a variable's rows; names of functions have no commas here."""
    return [row.split("script0, ", 1)[1].split(", ", 4)[-1] for row in rows if f", {name}, " in row.split("script0")[0]]


def check_message(worker, case):
    with open(worker.compiler.path("script.whamm"), "w", encoding="utf-8") as file:
        file.write(case.script)
    done = compare.call([compare.WHAMMC, "check", worker.compiler.path("script.whamm")])
    out = []
    if case.error and (not done.returncode or f"[{case.error}]" not in done.stderr):
        out.append(f"no error [{case.error}]: {done.stderr.splitlines()[:1]}")
    if case.error and done.stderr.count(": error: ") > 1:
        out.append(f"more than one error: {done.stderr}")
    if case.warning and (done.returncode or "warning: " not in done.stderr or f"[{case.warning}]" not in done.stderr):
        out.append(f"no warning [{case.warning}]: {done.stderr.splitlines()[:1]}")
    return out


def check_values(worker, case, p, code):
    expected, out = compare.Both(case.script, p), []
    for name, values in case.values.items():
        found = values_of(expected.instr.rows, name)
        if found != values:
            out.append(f"the interpreter has {name} = {found}, not {values}")
    for form, path, message in worker.compiler.outputs(case.script, code, ["instr", "bind"]):
        if path:
            given = worker.node.run(path)
            out += [f"{form}: {line}" for line in compare.differences(expected.of(form), given)]
        if bool(path) == (case.instr_only and form == "bind"):
            out.append(f"{form}: {message.splitlines()[:1] or 'a monitor can do it'}")
    return out


def check(worker, first, step):
    p = program()
    code, out = p.encode(), []
    for case in cases()[first::step]:
        try:
            found = check_message(worker, case) if case.error or case.warning else []
            if case.values:
                found += check_values(worker, case, p, code)
            if not case.values and not case.error and not case.warning:
                found.append("nothing is said of it")
        except Exception as error:  # a case that the interpreter cannot read is a mistake, too
            found = [f"{type(error).__name__}: {error}"]
        out += [f"{case.sentence.strip()}: {line}" for line in found]
    return out
