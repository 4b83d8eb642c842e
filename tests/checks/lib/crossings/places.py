"""Places of a script in which a sentence can stand, and the program.

A place is a template of a script. `n` is the number that sentences use there. `same` is a template with the same executions
where the interpreter does not know the place; which rule a row has is not compared then.
"""

from dataclasses import dataclass

from ..oracle import wasm


def program():
    leaf = wasm.Func("leaf", ["i32"], "i32", [], [("local.get", 0), ("i32.const", 5), ("i32.add",), ("return",), ("end",)])
    main = wasm.Func("main", [], None, ["i32"], [
        ("loop", None), ("local.get", 0), ("i32.const", 1), ("i32.add",), ("local.tee", 0), ("call", 1), ("drop",),
        ("local.get", 0), ("i32.const", 100), ("i32.mul",), ("local.get", 0), ("i32.store", 2, 0),
        ("local.get", 0), ("i32.const", 3), ("i32.lt_u",), ("br_if", 0), ("end",),
        ("block", None), ("block", None), ("local.get", 0), ("br_table", [0, 1], 0), ("end",), ("nop",), ("end",),
        ("i32.const", 1), ("if", None), ("nop",), ("else",), ("nop",), ("end",),
        ("i32.const", 0), ("if", None), ("nop",), ("else",), ("nop",), ("end",),
        ("i32.const", 7), ("call", 0), ("drop",),
        ("i32.const", 7), ("i32.const", 1), ("call_indirect", ["i32"], "i32"), ("drop",),
        ("i32.const", 0), ("memory.grow",), ("drop",), ("i32.const", 64), ("i32.load", 2, 0), ("drop",),
        ("local.get", 0), ("global.set", 0), ("end",)])
    return wasm.Program([("h", ["i32"], "i32")], [leaf, main], [("i32", 3)], [None, 1])


@dataclass
class Place:
    template: str
    n: str = "pc"
    leave: str = "return;"  # what `return;` is there
    same: "Place | None" = None
    reports: bool = True  # there is a report
    never: bool = False   # the program does not get there

    def script(self, sentence):
        said = sentence.said.replace("return;", self.leave)
        parts = {"SCOPE": sentence.scope, "DECLARED": sentence.declared, "SAID": said}
        text = self.template
        for word, part in parts.items():
            text = text.replace(word, replaced(part, self.n))
        return text + "\n"


def replaced(text, n):
    """Text in which N is a number."""
    out, word = "", ""
    for c in text + " ":
        if c.isalnum() or c == "_":
            word += c
        else:
            out, word = out + (n if word == "N" else word) + c, ""
    return out[:-1]


def probe(rule, before="", after=""):
    return f"SCOPE\n{rule} {{ {before}DECLARED SAID{after} }}"


def alternative(rule, result="", before="", like=None):
    """An `alt` probe, which runs where a `before` one would."""
    return Place(probe(rule, before, result), same=Place(probe(like or rule.replace(":alt", ":before"))))


HIT = "SCOPE\nreport var hit: u32;\n"
NEVER = probe("wasm:end", "if (hidden == 0) { return; } ").replace("SCOPE", "SCOPE var hidden: u32;")
ALL = {
    "script": Place("SCOPE\nreport var after_it: u32;\nDECLARED\nSAID\nafter_it++;\nwasm:begin { after_it++; }", "(5 as u32)"),
    "function": Place("SCOPE\nDECLARED\nfn ff(at_: u32) { SAID }\nwasm:func:entry { ff(pc); ff(9); }", "at_"),
    "function of a predicate": Place("SCOPE\nDECLARED\nreport var hit: u32;\nfn ff(at_: u32) -> bool { SAID return at_ > 2; }\n"
                                     "wasm:opcode:*:before / ff(pc) / { hit++; }", "at_", "return false;"),
    "function of an initial value": Place("SCOPE\nDECLARED\nreport var hit: u32;\nfn ff(at_: u32) -> u32 { SAID return at_; }\n"
                                          "wasm:opcode:call:before { report unshared var x: u32 = ff(pc); hit++; }", "at_", "return 1;"),
    "@exit": Place(HIT + "wasm:opcode:call:before { DECLARED hit++; @exit { SAID } }"),
    "@init": Place(HIT + "wasm:opcode:call:before { DECLARED hit++; @init { SAID } }"),
    "@exit of the script": Place(HIT + "DECLARED\n@exit { SAID }\nwasm:opcode:call:before { hit++; }", "(5 as u32)"),
    "@init of the script": Place(HIT + "DECLARED\n@init { SAID }\nwasm:opcode:call:before { hit++; }", "(5 as u32)"),
    "loop": Place(HIT + "wasm:opcode:call:before { DECLARED for (it in 0 as u32..2) { SAID hit++; } }", "(pc + it)"),
    "if": Place(HIT + "wasm:opcode:call:before { DECLARED hit++; if (hit % 2 == 0) { SAID } else if (hit == 3) { hit += 9; } }"),
    "else": Place(HIT + "wasm:opcode:call:before { DECLARED hit++; if (hit % 2 == 0) { hit += 4; } else { SAID } }", "fid"),
    "behind a predicate": Place(HIT + "wasm:opcode:call|i32.store(arg0: u32):before / hit % 3 != 1 || arg0 > 7 / { DECLARED hit++; SAID }", "arg0"),
    "wasm:func:unwind": Place(probe("wasm:func:unwind"), same=Place(NEVER, "(5 as u32)"), never=True),
    "wasm:opcode:call:unwind": Place(probe("wasm:opcode:call:unwind"), same=Place(NEVER, "(5 as u32)"), never=True),
    "wasm:stack:suspend": Place(probe("wasm:stack:suspend"), "(5 as u32)", same=Place("SCOPE\nwasm:func:entry { }"), never=True),
    "wasm:opcode:call:alt": alternative("wasm:opcode:call:alt", " return 3 as i32;"),
    "wasm:opcode:call_indirect:alt": alternative("wasm:opcode:call_indirect:alt", " return 3 as i32;"),
    "wasm:opcode:i32.load:alt": alternative("wasm:opcode:i32.load:alt", " return 3 as i32;"),
    "wasm:opcode:drop:alt": alternative("wasm:opcode:drop:alt"),
    "wasm:opcode:global.set:alt": alternative("wasm:opcode:global.set:alt"),
    "wasm:opcode:if:alt": alternative("wasm:opcode:if:alt", before="drop_args(); "),
    "wasm:opcode:else:alt": alternative("wasm:opcode:else:alt", like="wasm:opcode:else:entry"),
    "wasm:opcode:br_if:alt": alternative("wasm:opcode:br_if:alt", like="wasm:opcode:br_if:after"),
}
ALL["wasm:edge"] = Place(probe("wasm:edge"), "(to + from)")
ALL["wasm:edge, back"] = Place(probe("wasm:edge / from >= to /"), "(to - from)")
ALL |= {event: Place(probe(event), "(5 as u32)") for event in ("wasm:begin", "wasm:end")}
ALL["wasm:report"] = Place(probe("wasm:report"), "(5 as u32)", same=Place(probe("wasm:end"), "(5 as u32)"), reports=False)
for event in ("func:entry", "func:exit", "block:start", "block:end", *(f"opcode:{name}" for name in (
        "call:before", "*:before", "call:after", "br_if:before", "br_if:after", "i32.store:before", "br_table:at_target", "loop:entry",
        "loop:exit", "block:after", "if:entry", "else:before", "else:exit", "end:before", "i32.add:after", "return:before",
        "memory.grow:after", "local.tee:before"))):
    ALL[f"wasm:{event}"] = Place(probe(f"wasm:{event}"))
