"""Makes, for every instruction of src/wasm/opcode.def, a module that executes it once, and scripts that watch it.

The encoder here is independent of whammc's. Each module exports "f", the function that holds the instruction; operands
that JavaScript can pass are f's parameters.
"""

import re
import struct

I32, I64, F32, F64, V128, FUNCREF, EXTERNREF = 0x7F, 0x7E, 0x7D, 0x7C, 0x7B, 0x70, 0x6F
LETTERS = {"i": I32, "a": I32, "l": I64, "f": F32, "d": F64, "v": V128}
TEXT = {I32: "i32", I64: "i64", F32: "f32", F64: "f64"}
# Types of every module; those of GC, or of continuations, only where they are needed.
T_NONE, T_CALLEE, T_TAG, T_F, T_STRUCT, T_INTS, T_BYTES, T_FUNCS, T_DESCRIBED, T_DESCRIPTOR = range(10)
T_CONT, T_SWITCHES, T_SWITCHED = 4, 5, 6
CALLEE, OTHER = 1, 2  # functions; 0 is f


def uleb(n):
    out = bytearray()
    while True:
        n, low = n >> 7, n & 0x7F
        out.append(low | (0x80 if n else 0))
        if not n:
            return bytes(out)


def sleb(n):
    out = bytearray()
    while True:
        low, n = n & 0x7F, n >> 7
        last = n == 0 and not low & 0x40 or n == -1 and low & 0x40
        out.append(low | (0 if last else 0x80))
        if last:
            return bytes(out)


def vec(items):
    return uleb(len(items)) + b"".join(items)


class Op:
    """A line of opcode.def."""

    def __init__(self, fields):
        (self.id, self.name, prefix, code, self.category, self.operands, self.results, self.imm, self.flow, self.modes, _,
         self.names) = fields
        self.prefix, self.code = int(prefix, 16), int(code, 16)
        self.bytes = bytes([self.prefix]) + uleb(self.code) if self.prefix else bytes([self.code])

    def name_type(self, name):
        """The type that the names column gives to a bound name, or None."""
        found = re.search(rf"(?:^| ){name}:(\w+)", self.names)
        return found[1] if found and found[1] != "unknown" else None

    @property
    def size(self):
        found = re.search(r"mem\((\d+)", self.names)
        return found and int(found[1]) or (8 if self.name.endswith("64") else 4)


def read_table(path):
    with open(path, encoding="utf-8") as file:
        lines = [s for s in file if s.startswith("OP(")]
    return [Op([w.strip('"') for w in re.findall(r'"[^"]*"|[^,\s()]+', s[3:])]) for s in lines]


class Case:
    """The code around an instruction: f's parameters and results, and what the instruction takes and leaves."""

    def __init__(self, op, params, code, results, takes, leaves, runs=True, locals_=(), count=None):
        self.op, self.params, self.code, self.results = op, params, code, results
        self.takes, self.leaves = takes, leaves  # Wasm types, deepest first; None = no type of the language
        self.runs, self.locals = runs, locals_
        self.count = count  # executions by mode, if it is not once

    def values(self):
        """Arguments for f, as text for JavaScript. No two of one type are the same."""
        addresses = self.op.operands.startswith("a") and "*" not in self.op.operands
        values = []
        for k, t in enumerate(self.params):
            at = 16 + 8 * k if addresses and self.op.operands[k] == "a" else 5 + k
            values.append({I32: str(at), I64: f"{7 + k}n", F32: f"{k + 1.5}", F64: f"{k + 2.25}"}[t])
        return values


def immediates(op):
    align = op.size.bit_length() - 1
    return {
        "NONE": b"", "ZERO": b"\0", "MEMARG": bytes([align, 8]), "MEMARG_LANE": bytes([align, 8, 1]), "LANE": b"\1",
        "LANES16": bytes(range(16)), "I32": sleb(-1234), "I64": sleb(-1 << 40), "F32": struct.pack("<f", 2.5),
        "F64": struct.pack("<d", -3.75), "V128": bytes(range(1, 17)), "DATA": b"\0", "DATA_MEMORY": b"\0\0",
        "ELEM": b"\0", "ELEM_TABLE": b"\0\0", "TABLE": b"\0", "TABLE_TABLE": b"\0\0", "MEMORY": b"\0",
        "MEMORY_MEMORY": b"\0\0", "TYPE": uleb(T_INTS),
    }.get(op.imm)


class Maker:
    def __init__(self, table):
        self.ops = {op.name: op for op in table}

    def __call__(self, name, imm=b""):
        return self.ops[name].bytes + imm

    def get(self, n):
        return self("local.get", uleb(n))

    def plain(self, op):
        """An instruction with fixed operands: parameters in, results out."""
        code, params = b"", []
        for letter in op.operands:
            if letter == "v":
                code += self("v128.const", bytes((len(params) * 16 + k) % 251 for k in range(16)))
            else:
                code += self.get(len(params))
                params.append(LETTERS[letter])
        code += op.bytes + immediates(op)
        takes = [LETTERS[c] if c != "v" else None for c in op.operands]
        leaves = [LETTERS[c] if c != "v" else None for c in op.results]
        results = [t for t in leaves if t]
        if op.results == "v":  # JavaScript sees half of it
            code += self("i64x2.extract_lane", b"\0")
            results = [I64]
        return Case(op, params, code, results, takes, leaves)

    def contexts(self):
        """Instructions whose types depend on something, by name: arguments of Case from `params` on."""
        o, get, none = self, self.get, b"\x40"
        i = lambda n: o("i32.const", sleb(n))
        end, nop, drop = o("end"), o("nop"), o("drop")
        func = o("ref.func", uleb(CALLEE))
        i31 = get(0) + o("ref.i31")
        null = o("ref.null", b"\x70")
        struct_ = o("struct.new", uleb(T_STRUCT))
        ints = lambda n: i(9) + i(n) + o("array.new", uleb(T_INTS))
        bytes_ = lambda n: i(-3) + i(n) + o("array.new", uleb(T_BYTES))
        funcs = lambda n: func + i(n) + o("array.new", uleb(T_FUNCS))
        length = o("array.len")
        call = get(0) + get(1)
        skipped = {"before": 1, "after": 1, "alt": 0, "entry": 0, "exit": 0}  # an arm that is not taken
        catches = o("block", b"\x69") + o("try_table", none + b"\1\3\0") + i(1) + o("throw", b"\0") + end + \
            o("unreachable") + end
        cont = o("ref.func", uleb(OTHER)) + o("cont.new", uleb(T_CONT))
        cast = bytes([0, 0, 0x6E, 0x6C])  # not null, label 0, any to i31
        descriptor = o("struct.new_default", uleb(T_DESCRIPTOR))
        described = get(0) + descriptor + o("local.tee", b"\1") + o("struct.new_desc", uleb(T_DESCRIBED))
        with_descriptor = described + get(1)
        field = o("struct.get", uleb(T_DESCRIBED) + b"\0")
        exact = (b"\x63\x62" + uleb(T_DESCRIPTOR),)  # a local
        cast_desc = bytes([3, 0, 0x6E, T_DESCRIBED])  # null, label 0, any to the described type
        return {
            "unreachable": ([], o("unreachable"), [], [], []),
            "block": ([], o("block", none) + nop + end, [], [], []),
            "loop": ([], o("loop", none) + nop + end, [], [], []),
            "if": ([I32], get(0) + o("if", none) + nop + o("else") + nop + end, [], [I32], []),
            "else": ([I32], get(0) + o("if", none) + nop + o("else") + nop + end, [], [], [], True, (), skipped),
            "try": ([], o("try", none) + nop + o("catch_all") + nop + end, [], [], []),
            "catch": ([], o("try", none) + nop + o("catch", b"\0") + drop + end, [], [], [], True, (), skipped),
            "catch_all": ([], o("try", none) + nop + o("catch_all") + nop + end, [], [], [], True, (), skipped),
            "delegate": ([], o("try", none) + nop + o("delegate", b"\0"), [], [], []),
            "throw": ([I32], get(0) + o("throw", b"\0"), [], [I32], []),
            "rethrow": ([I32], o("try", none) + get(0) + o("throw", b"\0") + o("catch_all") + o("rethrow", b"\0") + end,
                        [], [], []),
            "throw_ref": ([], catches + o("throw_ref"), [], [None], []),
            "end": ([], o("block", none) + nop + end, [], [], [], True, (), {"before": 2, "after": 1}),
            "br": ([], o("block", none) + o("br", b"\0") + end, [], [], []),
            "br_if": ([I32], o("block", none) + get(0) + o("br_if", b"\0") + end, [], [I32], []),
            "br_table": ([I32], o("block", none) + get(0) + o("br_table", b"\1\0\0") + end, [], [I32], []),
            "return": ([I32], get(0) + o("return"), [I32], [I32], []),
            "call": ([I32, I64], call + o("call", uleb(CALLEE)), [I32], [I32, I64], [I32]),
            "call_indirect": ([I32, I64, I32], call + get(2) + o("call_indirect", uleb(T_CALLEE) + b"\0"), [I32],
                              [I32, I64, I32], [I32]),
            "return_call": ([I32, I64], call + o("return_call", uleb(CALLEE)), [I32], [I32, I64], []),
            "return_call_indirect": ([I32, I64, I32], call + get(2) +
                                     o("return_call_indirect", uleb(T_CALLEE) + b"\0"), [I32], [I32, I64, I32], []),
            "call_ref": ([I32, I64], call + func + o("call_ref", uleb(T_CALLEE)), [I32], [I32, I64, None], [I32]),
            "return_call_ref": ([I32, I64], call + func + o("return_call_ref", uleb(T_CALLEE)), [I32],
                                [I32, I64, None], []),
            "drop": ([F64], get(0) + drop, [], [F64], []),
            "select": ([F32, F32, I32], get(0) + get(1) + get(2) + o("select"), [F32], [F32, F32, I32], [F32]),
            "typed_select": ([I64, I64, I32], get(0) + get(1) + get(2) + o("typed_select", b"\1\x7e"), [I64],
                             [I64, I64, I32], [I64]),
            "try_table": ([], o("try_table", none + b"\0") + nop + end, [], [], []),
            "local.get": ([F64], get(0), [F64], [], [F64]),
            "local.set": ([I64], get(0) + o("local.set", b"\1") + get(1), [I64], [I64], [], True, (I64,)),
            "local.tee": ([F32], get(0) + o("local.tee", b"\1") + drop + get(1), [F32], [F32], [F32], True, (F32,)),
            "global.get": ([], o("global.get", b"\0"), [I64], [], [I64]),
            "global.set": ([I64], get(0) + o("global.set", b"\0") + o("global.get", b"\0"), [I64], [I64], []),
            "table.get": ([I32], get(0) + o("table.get", b"\0") + o("ref.is_null"), [I32], [I32], [None]),
            "table.set": ([I32], get(0) + null + o("table.set", b"\0") + i(5) + o("table.get", b"\0") +
                          o("ref.is_null"), [I32], [I32, None], []),
            "table.grow": ([I32], null + get(0) + o("table.grow", b"\0"), [I32], [None, I32], [I32]),
            "table.fill": ([I32, I32], get(0) + null + get(1) + o("table.fill", b"\0") + get(0) +
                           o("table.get", b"\0") + o("ref.is_null"), [I32], [I32, None, I32], []),
            "ref.null": ([], null + o("ref.is_null"), [I32], [], [None]),
            "ref.is_null": ([], func + o("ref.is_null"), [I32], [None], [I32]),
            "ref.func": ([], func + o("ref.is_null"), [I32], [], [None]),
            "ref.eq": ([I32], i31 + i31 + o("ref.eq"), [I32], [None, None], [I32]),
            "ref.as_non_null": ([], func + o("ref.as_non_null") + o("ref.is_null"), [I32], [None], [None]),
            "br_on_null": ([], o("block", none) + null + o("br_on_null", b"\0") + drop + end, [], [None], [None]),
            "br_on_non_null": ([], o("block", b"\x64\x70") + null + o("br_on_non_null", b"\0") + func + end + drop, [],
                               [None], []),
            "cont.new": ([], cont + o("ref.is_null"), [I32], [None], [None]),
            "cont.bind": ([], cont + o("cont.bind", uleb(T_CONT) * 2) + o("ref.is_null"), [I32], [None], [None]),
            "suspend": ([I32], get(0) + o("suspend", b"\0"), [], [I32], []),
            "resume": ([], cont + o("resume", uleb(T_CONT) + b"\0"), [], [None], []),
            "resume_throw": ([I32], get(0) + cont + o("resume_throw", uleb(T_CONT) + b"\0\0"), [], [I32, None], []),
            "resume_throw_ref": ([], o("ref.null", b"\x69") + cont + o("resume_throw_ref", uleb(T_CONT) + b"\0"), [],
                                 [None, None], []),
            "switch": ([], o("ref.null", uleb(T_SWITCHED)) + o("switch", uleb(T_SWITCHED) + b"\1") + drop, [], [None], [None]),
            "struct.new": ([I32, I32], get(0) + get(1) + struct_ + o("struct.get", uleb(T_STRUCT) + b"\0"), [I32],
                           [I32, I32], [None]),
            "struct.new_default": ([], o("struct.new_default", uleb(T_STRUCT)) + o("struct.get", uleb(T_STRUCT) + b"\0"),
                                   [I32], [], [None]),
            "struct.get": ([I32, I32], call + struct_ + o("struct.get", uleb(T_STRUCT) + b"\0"), [I32], [None], [I32]),
            "struct.get_s": ([I32], get(0) + i(-2) + struct_ + o("struct.get_s", uleb(T_STRUCT) + b"\1"), [I32], [None],
                             [I32]),
            "struct.get_u": ([I32], get(0) + i(-2) + struct_ + o("struct.get_u", uleb(T_STRUCT) + b"\1"), [I32], [None],
                             [I32]),
            "struct.set": ([I32], o("struct.new_default", uleb(T_STRUCT)) + get(0) +
                           o("struct.set", uleb(T_STRUCT) + b"\0"), [], [None, I32], []),
            "array.new": ([I32, I32], get(0) + get(1) + o("array.new", uleb(T_INTS)) + length, [I32], [I32, I32], [None]),
            "array.new_default": ([I32], get(0) + o("array.new_default", uleb(T_INTS)) + length, [I32], [I32], [None]),
            "array.new_fixed": ([I32, I32], call + o("array.new_fixed", uleb(T_INTS) + b"\2") + length, [I32],
                                [I32, I32], [None]),
            "array.new_data": ([I32, I32], call + o("array.new_data", uleb(T_BYTES) + b"\0") + length, [I32],
                               [I32, I32], [None]),
            "array.new_elem": ([I32, I32], call + o("array.new_elem", uleb(T_FUNCS) + b"\0") + length, [I32],
                               [I32, I32], [None]),
            "array.get": ([I32], ints(9) + get(0) + o("array.get", uleb(T_INTS)), [I32], [None, I32], [I32]),
            "array.get_s": ([I32], bytes_(9) + get(0) + o("array.get_s", uleb(T_BYTES)), [I32], [None, I32], [I32]),
            "array.get_u": ([I32], bytes_(9) + get(0) + o("array.get_u", uleb(T_BYTES)), [I32], [None, I32], [I32]),
            "array.set": ([I32, I32], ints(9) + get(0) + get(1) + o("array.set", uleb(T_INTS)), [], [None, I32, I32],
                          []),
            "array.len": ([], ints(9) + length, [I32], [None], [I32]),
            "array.fill": ([I32, I32, I32], ints(40) + get(0) + get(1) + get(2) + o("array.fill", uleb(T_INTS)), [],
                           [None, I32, I32, I32], []),
            "array.copy": ([I32, I32, I32], ints(40) + get(0) + ints(40) + get(1) + get(2) +
                           o("array.copy", uleb(T_INTS) * 2), [], [None, I32, None, I32, I32], []),
            "array.init_data": ([I32, I32, I32], bytes_(40) + get(0) + get(1) + get(2) +
                                o("array.init_data", uleb(T_BYTES) + b"\0"), [], [None, I32, I32, I32], []),
            "array.init_elem": ([I32, I32, I32], funcs(40) + get(0) + get(1) + get(2) +
                                o("array.init_elem", uleb(T_FUNCS) + b"\0"), [], [None, I32, I32, I32], []),
            "ref.test": ([I32], i31 + o("ref.test", b"\x6c"), [I32], [None], [I32]),
            "ref.test_null": ([I32], i31 + o("ref.test_null", b"\x6c"), [I32], [None], [I32]),
            "ref.cast": ([I32], i31 + o("ref.cast", b"\x6c") + o("i31.get_s"), [I32], [None], [None]),
            "ref.cast_null": ([I32], i31 + o("ref.cast_null", b"\x6c") + o("i31.get_s"), [I32], [None], [None]),
            "br_on_cast": ([I32], o("block", b"\x6c") + i31 + o("br_on_cast", cast) + drop + o("ref.null", b"\x6c") +
                           end + o("i31.get_s"), [I32], [None], [None]),
            "br_on_cast_fail": ([I32], o("block", b"\x6e") + i31 + o("br_on_cast_fail", cast) + end + o("ref.is_null"),
                                [I32], [None], [None]),
            "struct.new_desc": ([I32], described + field, [I32], [I32, None], [None], True, exact),
            "struct.new_default_desc": ([], descriptor + o("struct.new_default_desc", uleb(T_DESCRIBED)) + field, [I32],
                                        [None], [None]),
            "ref.get_desc": ([I32], described + o("ref.get_desc", uleb(T_DESCRIBED)) + o("ref.is_null"), [I32], [None],
                             [None], True, exact),
            "ref.cast_desc_eq": ([I32], with_descriptor + o("ref.cast_desc_eq", uleb(T_DESCRIBED)) + field, [I32],
                                 [None, None], [None], True, exact),
            "ref.cast_desc_eq_null": ([I32], with_descriptor + o("ref.cast_desc_eq_null", uleb(T_DESCRIBED)) + field,
                                      [I32], [None, None], [None], True, exact),
            "br_on_cast_desc_eq": ([I32], o("block", b"\x63" + uleb(T_DESCRIBED)) + with_descriptor +
                                   o("br_on_cast_desc_eq", cast_desc) + drop + o("ref.null", uleb(T_DESCRIBED)) + end +
                                   field, [I32], [None, None], [None], True, exact),
            "br_on_cast_desc_eq_fail": ([I32], o("block", b"\x6e") + with_descriptor +
                                        o("br_on_cast_desc_eq_fail", cast_desc) + end + o("ref.is_null"), [I32],
                                        [None, None], [None], True, exact),
            "any.convert_extern": ([], o("ref.null", b"\x6f") + o("any.convert_extern") + o("ref.is_null"), [I32],
                                   [None], [None]),
            "extern.convert_any": ([], o("ref.null", b"\x6e") + o("extern.convert_any") + o("ref.is_null"), [I32],
                                   [None], [None]),
            "ref.i31": ([I32], i31 + o("i31.get_s"), [I32], [I32], [None]),
            "i31.get_s": ([I32], i31 + o("i31.get_s"), [I32], [None], [I32]),
            "i31.get_u": ([I32], i31 + o("i31.get_u"), [I32], [None], [I32]),
        }

    def cases(self):
        special = self.contexts()
        for op in self.ops.values():
            if op.name in special:
                yield Case(op, *special[op.name])
            elif immediates(op) is not None and "*" not in op.operands + op.results:
                yield self.plain(op)
            else:
                yield Case(op, [], b"", [], [], [], False)  # nobody made a context for it


def section(number, content):
    return bytes([number]) + uleb(len(content)) + content


def module(maker, case, throws=False):
    """`throws`: the callee of calls throws an exception."""
    code, gc = case.code, case.op.prefix == 0xFB or case.op.name == "ref.eq"
    function = lambda params, results: b"\x60" + vec([bytes([t]) for t in params]) + vec([bytes([t]) for t in results])
    types = [function([], []), function([I32, I64], [I32]), function([I32], []), function(case.params, case.results)]
    stacks = bool(re.match(r"cont\.|suspend|resume|switch", case.op.name))
    if stacks:
        types += [b"\x5d" + uleb(T_NONE), b"\x4e\2\x60\1\x63" + uleb(T_SWITCHED) + b"\0\x5d" + uleb(T_SWITCHES)]
    if gc:
        types += [b"\x5f\2\x7f\1\x78\1", b"\x5e\x7f\1", b"\x5e\x78\1", b"\x5e\x70\1"]
    if "_desc" in case.op.name:
        types += [b"\x4e\2\x4d" + uleb(T_DESCRIPTOR) + b"\x5f\1\x7f\1\x4c" + uleb(T_DESCRIBED) + b"\x5f\0"]
    body = lambda locals_, code: (lambda b: uleb(len(b)) + b)(vec([b"\1" + (t if isinstance(t, bytes) else bytes([t])) for t in locals_]) + code + b"\x0b")
    names = b"\0\5\4test" + (lambda b: b"\1" + uleb(len(b)) + b)(vec([b"\0\1f", b"\1\6callee", b"\2\5other"]))
    callee = maker.get(0) + (maker.ops["throw"].bytes + b"\0" if throws else b"")
    funcs = uleb(20) + uleb(CALLEE) * 20
    out = [
        section(1, vec(types)),
        section(3, vec([uleb(T_F), uleb(T_CALLEE), uleb(T_NONE)])),
        section(4, vec([b"\x70\0\x40"])),
        section(5, vec([b"\1\1\2"])),
        section(13, vec([b"\0" + uleb(T_TAG), b"\0" + uleb(T_NONE)])) if throws or stacks or re.search("throw|catch|rethrow", case.op.name) else b"",
        section(6, vec([b"\x7e\1\x42" + sleb(1 << 33) + b"\x0b"])),
        section(7, vec([b"\1f\0\0", b"\6memory\2\0"])),
        section(9, vec([b"\1\0" + funcs, b"\0\x41\0\x0b" + funcs] + ([b"\3\0" + vec([uleb(OTHER)])] if stacks else []))),
        section(12, b"\1"),
        section(10, vec([body(case.locals, code), body([], callee), body([], b"")])),
        section(11, vec([b"\1" + uleb(64) + bytes(range(64))])),
        section(0, b"\4name" + names),
    ]
    return b"\0asm\1\0\0\0" + b"".join(out)


MODES = {"ORDINARY": ["before", "after", "alt"], "BRANCH": ["before", "after", "alt", "at_target"], "BLOCK": ["before", "after", "alt", "entry", "exit"],
         "CALL": ["before", "after", "alt", "unwind"], "END": ["before", "after"], "UNREACHABLE": ["before", "alt"]}
CONSTANT = {I32: "77", I64: "78", F32: "79.5", F64: "80.5"}


SCALARS = {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "bool", "str"}


class Names:
    """A script that reads every bound name of an instruction in mode `before`; `info` is what `info -v` says of it."""

    refused, leaves = False, []

    def __init__(self, case, info):
        declared, body, self.watched = "report var n: i32;\n", " n++;", {}
        for name, kind in re.findall(r"(?m)^  (\w+) +(\S+) +(?:static|dynamic)", info):
            if case.op.imm == "BR_TABLE" and name in ("imm2", "imm3"):
                continue  # it has one target and the default
            if name == "probe_id":
                continue  # only monitors have it
            if kind == "funcref":
                body += f" var v_{name}: funcref; v_{name} = {name};"
            elif kind.startswith("map<"):
                declared += f"var v_{name}: u32;\n"
                body += f" v_{name} = {name}[0];"
            elif kind in SCALARS:
                declared += f"var v_{name}: {kind};\n"
                body += f" v_{name} = {name};"
                if name in ("trap", "fid", "opidx"):
                    self.watched[f"v_{name}"] = name
        self.text = f"{declared}wasm:opcode:{case.op.name}:before {{{body} }}\n"


class Script:
    """A script for a case in a mode; what it must find. `guard`: the value of a dynamic predicate, None = no predicate."""

    def __init__(self, case, mode, operands, guard=None):
        op, self.mode = case.op, mode
        self.watched = {}  # variable -> index of the argument of f, or -1 for f's result
        bounds, declared, body = [], "report var n: i32;\n", " n++;"
        wanted = [("arg", case.takes, True), ("res", case.leaves, mode == "after")] if operands else []
        for word, types, there in wanted:
            for k, t in enumerate(reversed(types)):
                if not t or not there:
                    continue
                name = f"{word}{k}"
                kind = op.name_type(name)
                if not kind:
                    kind = TEXT[t]
                    bounds.append(f"{name}: {kind}")
                declared += f"report var {word}_{k}: {kind};\n"
                body += f" {word}_{k} = {name};"
                self.watched[f"{word}_{k}"] = name
        if mode == "alt" and op.modes == "BLOCK":
            body = " drop_args();" + body
        # What a tail call leaves are the results of its function.
        leaves = case.results if op.name.startswith("return_call") else case.leaves
        self.leaves = leaves if mode == "alt" else []
        # What has no type in the language cannot be left by an alt body.
        self.refused = mode == "alt" and None in case.leaves
        if self.leaves and not self.refused:
            body += f" return {self.constants(case, leaves)};"
        rule = f"wasm:opcode:{op.name}{'(' + ', '.join(bounds) + ')' if bounds else ''}:{mode}"
        predicate = "" if guard is None else " / on /"
        declared += "" if guard is None else f"var on: bool = {'true' if guard else 'false'};\n"
        self.text = f"{declared}{rule}{predicate} {{{body} }}\n"

    @staticmethod
    def constants(case, leaves):
        values = [CONSTANT[t] + (f" as {TEXT[t]}" if case.op.results == "*" else "") for t in leaves]
        return values[0] if len(values) == 1 else f"({', '.join(values)})"
