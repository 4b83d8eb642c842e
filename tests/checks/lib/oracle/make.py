"""Random programs, and random scripts for them."""

import random

from . import wasm
from .script import FLOATS, INTS, NUMBERS, bits_of, is_signed, type_text
from .wasm import OPS

NUMERIC = ("i32", "i64", "f32", "f64")
BINARY = {
    "i32": ["add", "sub", "mul", "and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"],
    "f32": ["add", "sub", "mul", "min", "max"],
}
BINARY["i64"], BINARY["f64"] = BINARY["i32"], BINARY["f32"]
COMPARE = {"i32": ["eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"], "f32": ["eq", "ne", "lt", "gt", "le", "ge"]}
COMPARE["i64"], COMPARE["f64"] = COMPARE["i32"], COMPARE["f32"]
UNARY = {
    "i32": [("i32.clz", "i32"), ("i32.ctz", "i32"), ("i32.popcnt", "i32"), ("i32.extend8_s", "i32"), ("i32.extend16_s", "i32"),
            ("i32.eqz", "i32"), ("i64.eqz", "i64"), ("i32.wrap_i64", "i64")],
    "i64": [("i64.clz", "i64"), ("i64.popcnt", "i64"), ("i64.extend32_s", "i64"), ("i64.extend_i32_s", "i32"), ("i64.extend_i32_u", "i32")],
    "f32": [("f32.neg", "f32"), ("f32.abs", "f32"), ("f32.convert_i32_s", "i32"), ("f32.convert_i64_u", "i64"), ("f32.demote_f64", "f64")],
    "f64": [("f64.neg", "f64"), ("f64.abs", "f64"), ("f64.convert_i32_u", "i32"), ("f64.convert_i64_s", "i64"), ("f64.promote_f32", "f32")],
}
LOADS = {"i32": ["i32.load", "i32.load8_s", "i32.load8_u", "i32.load16_s", "i32.load16_u"],
         "i64": ["i64.load", "i64.load8_u", "i64.load16_s", "i64.load32_s", "i64.load32_u"], "f32": [], "f64": []}
STORES = {"i32": ["i32.store", "i32.store8", "i32.store16"], "i64": ["i64.store", "i64.store8", "i64.store32"],
          "f32": ["f32.store"], "f64": ["f64.store"]}


class Programs:
    """Functions call only those in front of them, and loops count to a bound: every program ends."""

    def __init__(self, r):
        self.r = r

    def program(self):
        r = self.r
        self.imports = [("h", ["i32"], "i32")] if r.random() < 0.3 else []
        self.globals = [(t, self.constant(t)) for t in r.choices(NUMERIC, k=r.randrange(1, 4))]
        self.signatures = [(p, q) for _, p, q in self.imports]
        self.table = [None] * r.randrange(1, 4)
        funcs = []
        count = r.randrange(1, 5)
        for k in range(count):
            last = k == count - 1
            params = [] if last else r.choices(NUMERIC, k=r.randrange(3))
            result = None if last else r.choice(NUMERIC + (None,))
            funcs.append(self.function(f"f{k}" if r.random() < 0.8 else None, params, result))
            self.signatures.append((params, result))
            if r.random() < 0.5:
                self.table[r.randrange(len(self.table))] = len(self.signatures) - 1
        return wasm.Program(self.imports, funcs, self.globals, self.table)

    def constant(self, t):
        r = self.r
        if t[0] == "f":
            return wasm.single(r.choice([0.0, 1.0, -1.5, 0.1, 100.25, -7.0, r.randrange(-99, 99) / 4]))
        bits = int(t[1:])
        return r.choice([r.randrange(10), r.randrange(10), r.randrange(256), (1 << bits) - r.randrange(1, 9), r.getrandbits(bits)])

    def function(self, name, params, result):
        self.locals = list(params) + self.r.choices(NUMERIC, k=self.r.randrange(1, 4))
        self.nparams, self.reserved, self.loops = len(params), set(), 0
        self.result, self.labels, self.size = result, [], self.r.randrange(10, 50)
        body = self.statements(self.r.randrange(1, 6), 0)
        if result:
            body += self.expr(result, 0)
        return wasm.Func(name, params, result, self.locals[self.nparams:], body + [("end",)])

    def of_type(self, t):
        return [i for i, u in enumerate(self.locals) if u == t and i not in self.reserved]

    def expr(self, t, depth):
        r = self.r
        self.size -= 1
        if depth > 3 or self.size < 0 or r.random() < 0.25:
            local = self.of_type(t)
            globals_ = [i for i, (u, _) in enumerate(self.globals) if u == t]
            pick = r.random()
            if local and pick < 0.5:
                return [("local.get", r.choice(local))]
            if globals_ and pick < 0.7:
                return [("global.get", r.choice(globals_))]
            return [(t + ".const", self.constant(t))]
        choice = r.randrange(9)
        if choice < 3:
            return self.expr(t, depth + 1) + self.expr(t, depth + 1) + [(f"{t}.{r.choice(BINARY[t])}",)]
        if choice == 3:
            op, source = r.choice(UNARY[t])
            return self.expr(source, depth + 1) + [(op,)]
        if choice == 4 and t == "i32":
            u = r.choice(NUMERIC)
            return self.expr(u, depth + 1) + self.expr(u, depth + 1) + [(f"{u}.{r.choice(COMPARE[u])}",)]
        if choice == 5 and LOADS[t]:
            return self.address() + [(r.choice(LOADS[t]), 0, r.choice([0, 1, 8, 300]))]
        if choice == 6:
            return self.call(t, depth) or self.expr(t, depth + 1)
        if choice == 7:
            if r.random() < 0.5:
                return self.expr(t, depth + 1) + self.expr(t, depth + 1) + self.expr("i32", depth + 1) + [("select",)]
            local = self.of_type(t)
            return self.expr(t, depth + 1) + [("local.tee", r.choice(local))] if local else self.expr(t, depth + 1)
        if r.random() < 0.5:
            out = self.expr("i32", depth + 1) + [("if", t)]
            self.labels.append(None)
            out += self.expr(t, depth + 1) + [("else",)] + self.expr(t, depth + 1) + [("end",)]
            self.labels.pop()
            return out
        self.labels.append(None)
        out = [("block", t)] + self.statements(1, depth + 1) + self.expr(t, depth + 1) + [("end",)]
        self.labels.pop()
        return out

    def address(self):
        return self.expr("i32", 3) + [("i32.const", 0xFF), ("i32.and",)]

    def call(self, t, depth):
        r = self.r
        fits = [i for i, (_, result) in enumerate(self.signatures) if result == t]
        if not fits:
            return None
        fid = r.choice(fits)
        params, result = self.signatures[fid]
        out = [x for p in params for x in self.expr(p, depth + 1)]
        if fid in self.table and r.random() < 0.5:
            return out + [("i32.const", self.table.index(fid)), ("call_indirect", params, result)]
        return out + [("call", fid)]

    def statements(self, n, depth):
        return [x for _ in range(n) for x in self.statement(depth)]

    def statement(self, depth):
        r = self.r
        self.size -= 1
        choice = r.randrange(14)
        if depth > 3 or self.size < 0:
            choice %= 6
        t = r.choice(NUMERIC)
        if choice < 2:
            i = r.randrange(len(self.locals))
            if i not in self.reserved:
                return self.expr(self.locals[i], depth + 1) + [("local.set", i)]
        if choice == 2:
            i = r.randrange(len(self.globals))
            return self.expr(self.globals[i][0], depth + 1) + [("global.set", i)]
        if choice == 3:
            return self.address() + self.expr(t, depth + 1) + [(r.choice(STORES[t]), 0, r.choice([0, 4, 1000]))]
        if choice == 4:
            return self.expr(t, depth + 1) + [("drop",)]
        if choice == 5:
            return r.choice([[("nop",)], [("memory.size",), ("drop",)], [("i32.const", r.randrange(2)), ("memory.grow",), ("drop",)]])
        if choice == 6:
            return self.call(None, depth) or [("nop",)]
        if choice in (7, 8):
            return self.branching_if(depth)
        if choice in (9, 10):
            self.labels.append("block")
            out = [("block", None)] + self.statements(r.randrange(3), depth + 1)
            out += self.expr("i32", depth + 1) + [("br_if", 0)] + self.statements(r.randrange(2), depth + 1) + [("end",)]
            self.labels.pop()
            return out
        if choice in (11, 12) and self.loops < 3:
            return self.loop(depth)
        if choice == 13:
            return self.table_of_labels(depth)
        return [("nop",)]

    def branching_if(self, depth):
        r = self.r
        out = self.expr("i32", depth + 1) + [("if", None)]
        self.labels.append("if")
        out += self.statements(r.randrange(3), depth + 1)
        if r.random() < 0.4:
            depths = [d for d, kind in enumerate(reversed(self.labels)) if kind in ("block", "if")]
            if not self.result and r.random() < 0.3:
                out += [r.choice([("return",), ("br", len(self.labels))])]
            elif depths:
                out += [("br", r.choice(depths))]
        elif r.random() < 0.6:
            out += [("else",)] + self.statements(r.randrange(3), depth + 1)
        self.labels.pop()
        return out + [("end",)]

    def loop(self, depth):
        r = self.r
        self.loops += 1
        i = len(self.locals)
        self.locals.append("i32")
        self.reserved.add(i)
        n = r.randrange(1, 5)
        again = [("local.get", i), ("i32.const", n), ("i32.lt_u",)]
        out = [("i32.const", 0), ("local.set", i), ("loop", None)]
        self.labels.append("loop")
        out += [("local.get", i), ("i32.const", 1), ("i32.add",), ("local.set", i)] + self.statements(r.randrange(3), depth + 1)
        if r.random() < 0.3:
            out += again + [("br_if", 0)] + self.statements(1, depth + 1)
        self.labels.pop()
        return out + again + [("br_if", 0), ("end",)]

    def table_of_labels(self, depth):
        r = self.r
        n = r.randrange(1, 4)
        out = [("block", None)] * n
        self.labels += ["block"] * n
        out += self.expr("i32", depth + 1) + [("i32.const", 3), ("i32.and",), ("br_if", n - 1)]
        out += self.expr("i32", depth + 1)
        depths = [d for d, kind in enumerate(reversed(self.labels)) if kind in ("block", "if")]
        out += [("br_table", [r.choice(depths) for _ in range(r.randrange(4))], r.choice(depths))]
        for d in range(n):
            out += [("end",)]
            self.labels.pop()
            if d < n - 1:
                out += self.statements(r.randrange(2), depth + 1) + [("nop",)]
        return out


# ---- scripts ----

KEYS = ("u32", "i32", "u8", "i64", "bool", "str", ("tuple", "u32", "i16"), ("tuple", "bool", "str"), ("tuple", "u32", "bool"))
WORDS = ("u8", "i8", "u16", "i16", "u32", "u32", "i32", "u64", "i64", ("tuple", "u32", "bool"), ("tuple", "i32", "bool"),
         ("tuple", "u32", "u32"), ("tuple", "i8", "u16", "bool"), ("tuple", "i64", "bool"), ("tuple", "i16", "i32"), ("tuple", "u32", "u32", "u32"))
VALUES = ("u32", "i32", "u64", "i8", "f64", "bool", ("tuple", "u32", "i64"), ("tuple", "i8", ("tuple", "f32", "u32")))
TUPLES = (("tuple", "u32", "i64"), ("tuple", "f64", "u32", "u8"), ("tuple", "bool", ("tuple", "i16", "f32"), "str"), ("tuple", "i8", "i8"))
INNER = ("map", "u32", "i32")
# type: (the type of what is added, fields that can be read with their types)
AGGREGATES = {"count": (None, {}), "sum": ("i64", {}), "sum(u64)": ("u64", {}), "sum(f64)": ("f64", {}),
              "min": ("i64", {"count": "u64", "min": "i64"}), "max(u64)": ("u64", {"count": "u64", "max": "u64"}),
              "max": ("i64", {"count": "u64", "max": "i64"}), "avg": ("i64", {"count": "u64", "sum": "i64"}), "hist": ("i64", {}), "hist(u64)": ("u64", {}),
              "lhist(-5, 40, 7)": ("i64", {}), "lhist(0, 1000, 100)": ("i64", {}), "top(3, u32)": ("u32", {}), "top(2, str)": ("str", {})}
NARROWER = {"i64": ("i64", "i32", "u32", "u8", "i16"), "u64": ("u64", "u32", "u16"), "f64": ("f64", "f32", "u8", "i64"), "u32": ("u32",), "str": ("str",)}
FORMATS = {"f": ["", "", ".3", ".0", "e", ".2e", ">12.1", "010.2"], "i": ["", "", "x", "#x", "08b", "o", ">9", "<9", "^7", "#010x", "05", "X"],
           "s": ["", "?", ">8", "^9", "4"], "b": ["", ">7"]}
ALL = NUMBERS + ("bool", "str") + TUPLES
STRINGS = ['""', '"a"', '"i32.add"', '"f0"', '"control"', '"\\x41\\u{e9}"', '"local"', '"f"']
STATIC = ("fid", "fname", "pc", "opidx", "at_func_end", "opname", "category_name", "offset", "align", "memory", "is_write",
          "num_targets", "default_target", "target_fn_name", "target_fn_type")
# What happens at the same place as other things: these probes keep to themselves.
# What says which way br_if and if go, and whether a br_table takes its default; a few say more.
TAKEN = ("taken", "taken", "!taken", "arg0 != 0", "arg0 == 0", "arg0 > 0", "arg0 <= 0", "arg0 == 1")
BEYOND = ("arg0 < num_targets", "arg0 >= num_targets", "num_targets > arg0", "target == num_targets", "target < num_targets",
          "arg0 > num_targets")
APART = ("block:start", "block:end", "edge", "entry", "exit", "construct", "at_target", "end")


class Scripts:
    def __init__(self, r, program, engine):
        self.r, self.p, self.engine = r, program, engine
        self.vars, self.bound, self.fns, self.depth = {}, {}, {}, 0
        self.assignable, self.static_only, self.frames, self.words, self.shadows, self.arrays = [], False, {}, {}, {}, {}
        self.kept = set()  # variables of probes that outlive an execution
        self.nloops = self.in_loop = 0
        self.aggregates = {}  # their types as text
        self.tells = self.fuse = self.apart = False  # may print; may end the program; is at a place with other probes

    # -- expressions --

    def literal(self, t):
        r = self.r
        if t == "bool":
            return r.choice(["true", "false"])
        if t == "str":
            return r.choice(STRINGS)
        if t in FLOATS:
            return r.choice(["0.5", "1.0", "-2.25", "1e3", "0.1", "3", "-7", "1e-9"])
        bits = bits_of(t)
        high = (1 << (bits - 1)) - 1 if is_signed(t) else (1 << bits) - 1
        n = r.choice([r.randrange(10), r.randrange(10), r.randrange(100), high, r.randint(0, high)])
        if is_signed(t) and r.random() < 0.3:
            n = -n if n else -1
        if n > 9 and r.random() < 0.2:
            return r.choice([hex(n), bin(n)]) if n < 1 << 32 else hex(n)
        return f"{n}" if n < 1000 or r.random() < 0.8 else f"{n // 1000}_{n % 1000:03}"

    def places(self, t):
        """Readable places of this type."""
        out = []
        for name, u in {**self.vars, **self.bound}.items():
            out += self.fields(name, u, t)
            if not isinstance(u, str) and u[0] == "map" and name in self.vars and t in NUMBERS + ("bool",) and u[2] == t:
                out.append(("map", name, u))
        if not self.static_only:
            out += [("array", name, u) for name, u in self.arrays.items() if u[2] == t]
            out += [("shadow", name, u) for name, u in self.shadows.items() if u[1] == t]
        if not self.static_only and not self.apart:
            for name, u in self.aggregates.items():
                out += [("name", f"{name}.{field}()", t) for field, v in AGGREGATES[u][1].items() if v == t and name[0] == "g"]
                out += [("name", name, t)] if name[0] == "g" and (u, t) in (("count", "u64"), ("sum", "i64")) else []
        if t == "u32" and "targets" in self.bound:
            out.append(("map", "targets", ("map", "u32", "u32")))
        return out

    def fields(self, text, u, t):
        if u == t:
            return [("name", text, u)]
        if not isinstance(u, str) and u[0] == "tuple":
            return [x for i, f in enumerate(u[1:]) for x in self.fields(f"{text}.{i}", f, t)]
        return []

    def expr(self, t, depth=0):
        r = self.r
        if t == INNER:
            return self.r.choice([name for name, u in self.vars.items() if u == t])
        if not isinstance(t, str):
            found = [name for kind, name, _ in self.places(t) if kind == "name"]
            if found and r.random() < 0.4:
                return r.choice(found)
            if r.random() < 0.1 and depth < 2:
                return f"({self.expr('bool', depth + 1)} ? {self.expr(t, depth + 1)} : {self.expr(t, depth + 1)})"
            return "(" + ", ".join(self.expr(f, depth + 1) for f in t[1:]) + ")"
        if depth > 3 or r.random() < 0.35:
            found = [place for place in self.places(t) if depth < 9 or place[0] == "name"]
            if found and r.random() < 0.8:
                kind, name, u = r.choice(found)
                if kind == "array":
                    return f"{name}[{self.index_in(u)}]"
                if kind == "shadow":
                    return f"{name}[{self.address_in_shadow()}]"
                return name if kind == "name" else f"{name}[{self.expr(u[1], depth + 2)}]"
            return self.literal(t)
        return self.boolean(depth) if t == "bool" else self.string(depth) if t == "str" else self.number(t, depth)

    def maps(self):
        """Maps that can be read here: (text, type)."""
        return [] if self.static_only else [(name, u) for name, u in self.vars.items() if not isinstance(u, str) and u[0] == "map"]

    def boolean(self, depth):
        r = self.r
        if self.maps() and r.random() < 0.1:
            name, u = r.choice(self.maps())
            return f"({self.expr(u[1], depth + 2)} in {name})"
        choice = r.randrange(9)
        if choice < 4:
            t = r.choice(NUMBERS)
            return f"({self.expr(t, depth + 1)} {r.choice(['==', '!=', '<', '<=', '>', '>='])} {self.value(t, depth + 1)})"
        if choice < 6:
            parts = [self.expr("bool", depth + 1) for _ in range(r.choice([2, 2, 3]))]
            out = parts[0] + "".join(f" {r.choice(['&&', '||'])} {x}" for x in parts[1:])
            return f"({out})"
        if choice == 6:
            return "!" + self.expr("bool", 4)
        if choice == 7:
            t = r.choice(("str", "bool"))
            return f"({self.expr(t, depth + 1)} {r.choice(['==', '!='])} {self.value(t, depth + 1)})"
        texts = [name for name, u in {**self.vars, **self.bound}.items() if u == "str"]
        if texts and r.random() < 0.7:
            return f"{r.choice(texts)}.{r.choice(['starts_with', 'ends_with', 'contains'])}({self.expr('str', depth + 1)})"
        t = r.choice(NUMBERS)
        return f"({self.value(t, depth + 1)} as bool)"

    def string(self, depth):
        if self.r.random() < 0.3:
            return f"({self.expr('bool', depth + 1)} ? {self.expr('str', depth + 1)} : {self.expr('str', depth + 1)})"
        found = [name for kind, name, _ in self.places("str") if kind == "name"]
        return self.r.choice(found + [self.literal("str")])

    def value(self, t, depth):
        """An expression with a type of its own: no literal alone."""
        found = [name for kind, name, _ in self.places(t) if kind == "name"]
        if found:
            return self.r.choice(found)
        return f"({self.literal(t)} as {t})" if t in NUMBERS else self.literal(t)

    def number(self, t, depth):
        r = self.r
        choice = r.randrange(12)
        if choice < 5:
            ops = ["+", "-", "*"] + (["&", "|", "^", "<<", ">>"] if t in INTS else ["/", "%"])
            out = self.expr(t, depth + 1)
            for _ in range(r.choice([1, 1, 2, 3])):
                out += f" {r.choice(ops)} {self.expr(t, depth + 2)}"
            return f"({out})"
        if choice == 5 and t in INTS:
            return f"({self.expr(t, depth + 1)} {r.choice(['/', '%'])} ({self.value(t, depth + 1)} | {r.choice([1, 3, 5])}))"
        if choice == 6:
            return f"({r.choice('~-') if t in INTS else '-'}{self.value(t, depth + 1)})"
        if choice in (7, 8):
            if t in INTS and r.random() < 0.2:  # a float that is in range
                source = r.choice(["u8", "u16"])
                return f"(({self.value(source, depth + 1)} as {r.choice(FLOATS)}) as {t})"
            source = r.choice([u for u in INTS + ("bool",) + (FLOATS if t in FLOATS else ())])
            return f"({self.value(source, depth + 1)} as {t})"
        if choice == 9:
            return f"({self.expr('bool', depth + 1)} ? {self.expr(t, depth + 1)} : {self.expr(t, depth + 1)})"
        if choice == 10:
            name = r.choice(["min", "max"] + (["abs"] if t in FLOATS or is_signed(t) else []) + (["clz", "ctz", "popcnt"] if t in INTS else []))
            other = f", {self.expr(t, depth + 2)}" if name in ("min", "max") else ""
            return f"{name}({self.value(t, depth + 1)}{other})"
        maps = INNER in self.vars.values()
        calls = [f for f, (params, result) in self.fns.items() if result == t and (maps or INNER not in params)]
        if calls and not self.static_only:
            f = r.choice(calls)
            return f"{f}({', '.join(self.expr(p, depth + 2) for p in self.fns[f][0])})"
        texts = [name for name, u in {**self.vars, **self.bound}.items() if u == "str"]
        if t == "u32" and self.maps() and r.random() < 0.5:
            return f"{r.choice(self.maps())[0]}.len()"
        if t == "u32" and texts:
            return f"{r.choice(texts)}.len()"
        return self.expr(t, 4)

    # -- statements --

    def targets(self, writable):
        """(text, type) of what can be assigned."""
        out = []
        for name in writable:
            out += self.all_fields(name, self.vars[name])
        return out + self.assignable

    def all_fields(self, text, u):
        out = [(text, u)]
        if not isinstance(u, str) and u[0] == "tuple":
            for i, f in enumerate(u[1:]):
                out += self.all_fields(f"{text}.{i}", f)
        if not isinstance(u, str) and u[0] == "map":
            out = [(f"{text}[{self.expr(u[1], 2)}]{x}", f) for x, f in self.all_fields("", u[2])]
        return out

    def statement(self, writable, accumulators, indent, depth=0):
        r = self.r
        pad = "    " * indent
        if self.words and r.random() < 0.3:
            return f"{pad}step++;\n{pad}{self.word_statement()}\n" * r.choice([1, 1, 4, 12])
        if self.arrays and r.random() < 0.25:
            return f"{pad}{self.array_statement(indent)}\n"
        if self.shadows and r.random() < 0.3:
            return f"{pad}{self.shadow_statement()}\n"
        if self.aggregates and r.random() < 0.2:
            return f"{pad}{self.aggregate_statement()}\n"
        if self.tells and not self.apart and r.random() < 0.08:
            return f"{pad}{self.print_statement()}\n"
        if self.fuse and self.bound and not self.apart and r.random() < 0.1:
            return pad + f"\n{pad}".join(self.ending()) + "\n"
        maps = [(name, u) for name, u in self.maps() if name in writable]
        if maps and r.random() < 0.08:
            name, u = r.choice(maps)
            return pad + (f"delete {name}[{self.expr(u[1], 2)}];" if r.random() < 0.8 else f"{name}.clear();") + "\n"
        choice = r.random()
        if choice < 0.15 and depth < 2:
            body = self.body(writable, accumulators, indent + 1, depth + 1, r.randrange(1, 3))
            out = f"{pad}if ({self.expr('bool', 1)}) {{\n{body}{pad}}}"
            if r.random() < 0.3:
                out += f" {r.choice(['elif', 'else if'])} ({self.expr('bool', 1)}) {{\n{self.body(writable, accumulators, indent + 1, depth + 1, 1)}{pad}}}"
            if r.random() < 0.5:
                out += f" else {{\n{self.body(writable, accumulators, indent + 1, depth + 1, r.randrange(1, 3))}{pad}}}"
            return out + "\n"
        if choice < 0.2 and depth and indent:
            return f"{pad}{r.choice(['return', 'break', 'continue']) if self.in_loop else 'return'};\n"
        if choice < 0.26 and depth < 2 and indent:
            return self.loop(writable, accumulators, indent, depth)
        if choice < 0.4 and accumulators:
            name, t = r.choice(accumulators)
            amount = self.literal(t) if r.random() < 0.5 else self.expr(t, 3)
            return pad + r.choice([f"{name}++;", f"{name}--;", f"{name} {r.choice(['+=', '+=', '-='])} {amount};",
                                   f"{name} = {name} + {amount};", f"{name} = {amount} + {name};"]) + "\n"
        found = self.targets(writable)
        if not found:
            return pad + "if (false) { }\n"
        text, t = r.choice(found)
        if t in NUMBERS and r.random() < 0.4:
            return f"{pad}{text}{r.choice(['++', '++', '--'])};\n"
        if t in NUMBERS and r.random() < 0.4:
            ops = ["+", "+", "-", "*"] + (["&", "|", "^", "<<", ">>"] if t in INTS else [])
            return f"{pad}{text} {r.choice(ops)}= {self.expr(t, 1)};\n"
        if not isinstance(t, str) and t[0] == "map":
            return pad + "if (false) { }\n"
        return f"{pad}{text} = {self.expr(t)};\n"

    def loop(self, writable, accumulators, indent, depth):
        """A loop of a few iterations."""
        r, pad, outer = self.r, "    " * indent, dict(self.vars)
        self.nloops += 1
        self.in_loop += 1
        over = [(name, u) for name, u in self.maps() if u[1] not in FLOATS]  # which may be NaN
        if over and r.random() < 0.4:
            (name, u), key, value = r.choice(over), f"key{self.nloops}", f"value{self.nloops}"
            names = r.choice([[key], [key, value]])
            out = f"{pad}for ({', '.join(names)} in {name}) {{\n"
            self.vars.update(zip(names, u[1:]))
            if name in writable and r.random() < 0.3:
                out += f"{pad}    {r.choice(['if (' + self.expr('bool', 3) + ') { delete ' + name + '[' + key + ']; }', f'delete {name}[{self.expr(u[1], 3)}];'])}\n"
        elif r.random() < 0.6:
            name, t = f"i{self.nloops}", r.choice(INTS)
            out = f"{pad}for ({name} in {r.randrange(3)} as {t}..{self.expr(t, 3)} & {r.choice([3, 7])}) {{\n"
            self.vars[name] = t
        else:
            name, also = f"left{self.nloops}", r.choice(["", f" && {self.expr('bool', 2)}"])
            out = f"{pad}var {name}: u32 = {self.expr('u32', 3)} & 7;\n{pad}while ({name} > 0{also}) {{\n{pad}    {name}--;\n"
            self.vars[name] = "u32"
        local = f"own{self.nloops}"
        if r.random() < 0.4:
            self.vars[local] = t = self.any_type()
            out += f"{pad}    var {local}: {type_text(t)};\n"
            writable = [*writable, local]
        out += self.body(writable, accumulators, indent + 1, depth + 1, r.randrange(1, 3)) + pad + "}\n"
        self.vars = outer
        self.in_loop -= 1
        return out

    def body(self, writable, accumulators, indent, depth, n):
        return "".join(self.statement(writable, accumulators, indent, depth) for _ in range(n))

    # -- parts --

    def any_type(self, maps=True):
        r = self.r
        if maps and r.random() < 0.25:
            return ("map", r.choice(KEYS), r.choice(VALUES))
        return r.choice(ALL)

    def script(self):
        r = self.r
        out, self.free, self.acc = [], {}, {}
        for k in range(r.randrange(3)):
            t = r.choice(NUMBERS + ("bool", "str"))
            out.append(f"const c{k}: {t} = {self.literal(t)};")
            self.vars[f"c{k}"] = t
        for k in range(r.randrange(1, 5)):
            t = self.any_type()
            init = "" if t[0] == "map" or r.random() < 0.5 else f" = {self.expr(t, 2)}"
            out.append(f"{'report ' if r.random() < 0.8 else ''}var s{k}: {type_text(t)}{init};")
            self.free[f"s{k}"] = self.vars[f"s{k}"] = t
        for k in range(r.randrange(3)):
            t = r.choice(INTS)
            out.append(f"report var acc{k}: {t};")
            self.acc[f"acc{k}"] = t
        if r.random() < 0.2:
            out += [r.choice(["", "report "]) + self.array(f"ar{k}") for k in range(r.randrange(1, 3))]
        if r.random() < 0.2:
            out += self.shadow_memories()
        if r.random() < 0.3:
            out += [f"report var {self.aggregate(k)};" for k in range(r.randrange(1, 5))]
        self.tells = r.random() < 0.25
        ends = r.random() < 0.12 and not self.engine
        if ends:
            out.append("var fuse: i32;")
        if r.random() < 0.3:
            out.append(self.statement(list(self.free), [], 0, 2).rstrip())
        if r.random() < 0.3:
            out += self.maps_with_names()
        for k in range(r.randrange(3)):
            out.append(self.function(k))
        self.fuse = ends
        if r.random() < 0.4:
            out += self.maps_of_words()
        if r.random() < 0.3:
            out += self.functions_and_counters()
        else:
            out += [self.probe(k, self.event()) for k in range(r.randrange(1, 5))]
        for k in range(r.choice([0, 0, 0, 1, 2])):
            out.append(self.branch_probe(k))
        return "\n".join(out) + "\n"

    def array(self, name):
        t = ("map", "u32", self.r.choice(NUMBERS + ("bool",)), self.r.choice([1, 2, 7, 33]))
        self.arrays[name] = t
        return f"var {name}: {type_text(t)};"

    def index_in(self, t):
        """At script scope, where there is no other, a number."""
        if self.r.random() < 0.3 or self.static_only:
            return str(self.r.randrange(t[3]))
        return f"({self.expr('u32', 3)}) % {t[3] + 2}"

    def array_statement(self, indent):
        r = self.r
        name, t = r.choice(list(self.arrays.items()))
        at = f"{name}[{self.index_in(t) if indent else r.randrange(t[3])}]"
        steps = [] if t[2] == "bool" else [f"{at}++;"] * 4 + [f"{at}--;", f"{at} = {at} + {self.literal(t[2])};"]
        return r.choice(steps + [f"{at} = {self.expr(t[2], 2)};"] * 4 + [f"{name}.clear();", f"if ({name}.len() == {t[3]}) {{ {at} = {self.literal(t[2])}; }}"])

    def aggregate_statement(self):
        r = self.r
        name, t = r.choice(list(self.aggregates.items()))
        added = AGGREGATES[t][0]
        if r.random() < 0.05 and not self.apart and name[0] == "g":
            return f"{name}.clear();"
        target = f"{name}[{self.expr('u32', 3)} & 3]" if name[0] == "m" else name
        if not added:
            return f"{target}.add();"
        if added == "f64" and self.apart:
            return f"{target}.add(2.5);"  # what is rounded has an order
        of = r.choice(NARROWER[added])
        x = self.literal(added) if r.random() < 0.4 else self.expr(of, 2) if added == "str" else f"({self.expr(of, 2)}) as {of}"
        return f"{target}.add({x}{', 3' if t.startswith('top') and r.random() < 0.3 else ''});"

    def print_statement(self):
        """A line with values and formats."""
        r, out = self.r, ""
        for _ in range(r.randrange(4)):
            t = r.choice(NUMBERS + ("bool", "str"))
            text = self.value(t, 3) if r.random() < 0.5 or t not in NUMBERS else f"({self.expr(t, 3)}) as {t}"
            if not set(text) & set('?:"'):
                how = r.choice(FORMATS["f" if t in FLOATS else "i" if t in INTS else t[0]])
                out += f"{r.choice(['', ' ', 'x=', '{{', 'é'])}{{{text}{':' if how else ''}{how}}}"
        last = r.choice(["", "", "", f" every {r.randrange(1, 5)}", f" limit {r.randrange(1, 5)}"])
        return f'print("{out or "line"}"){last};'

    def aggregate(self, k):
        """A declaration: of one, or of a map of them."""
        name, t = f"{self.r.choice('gm')}{k}", self.r.choice(list(AGGREGATES))
        self.aggregates[name] = t
        return f"{name}: {t if name[0] == 'g' else f'map<u32, {t}>'}"

    def ending(self):
        r = self.r
        end = r.choice(['trap("ends: {fuse}");', f"exit({r.randrange(-1, 200)});", 'assert(fuse < 0, "{fname} {fuse}");'])
        return ["fuse++;", f"if (fuse == {r.choice([1, 2, 3, 9, 40])}) {{ {end} }}"]

    def shadow_memories(self):
        for k in range(self.r.randrange(1, 3)):
            self.shadows[f"sh{k}"] = ("shadow", self.r.choice(INTS + ("bool",)), self.r.choice([1, 1, 2, 4, 8, 16]))
        return [f"shadow var {name}: {t[1]}[per {t[2]}];" for name, t in self.shadows.items()]

    def address_in_shadow(self):
        """Often the same; at ends of pages, in the last one, beyond."""
        r = self.r
        t = r.choice(["u32", "u32", "i32", "u64"])
        base = r.choice([0, 0, 65530, 65536 * 16 - 20, 0x7FFFFFF0 if t == "i32" else 0xFFFFFFF0])
        shadows, self.shadows = self.shadows, {}  # of addresses in addresses there is no end
        some = f"({self.expr(t, 3)}) as {t}"
        self.shadows = shadows
        return f"({some} & 63) + {base}" if r.random() < 0.9 else some

    def shadow_statement(self):
        r = self.r
        name, (_, element, _) = r.choice(list(self.shadows.items()))
        at, n = self.address_in_shadow(), r.choice([1, 4, 8, 33, 70000])
        steps = [] if element == "bool" else [f"{name}[{at}]++;", f"{name}[{at}]--;"]
        return r.choice(steps * 2 + [f"{name}[{at}] = {self.expr(element, 2)};"] * 4 + [
            f"{name}.fill({at}, {n}, {self.literal(element)});", f"{name}.copy({at}, {self.address_in_shadow()}, {n});", f"{name}.clear();",
            f"if ({name}.any({at}, {n})) {{ {name}[{at}] = {self.expr(element, 3)}; }}"])

    def maps_of_words(self):
        """Maps from numbers to numbers with keys that are dense, sparse, negative or huge, as `step` goes on."""
        for k in range(self.r.randrange(1, 4)):
            self.words[f"w{k}"] = ("map", self.r.choice(WORDS), self.r.choice(NUMBERS + ("bool",)))
        return ["var step: i64;"] + [f"report var {name}: {type_text(t)};" for name, t in self.words.items()]

    def word_statement(self):
        r = self.r
        name, (_, key, value) = r.choice(list(self.words.items()))
        stride, base = r.choice([1, 1, 2, 4, 8, 8, 8, 24, 64, 100, 4096, 65537, 1 << 20]), r.choice([0, 0, 7, 60, -40, 1 << 31, -(1 << 31), (1 << 40) + 3])
        fields = [key] if isinstance(key, str) else list(key[1:])
        number = f"(step * {stride}) + ({base})" if base >= 0 else f"(step * {stride}) - {-base}"
        leaves = [r.choice(["true", "step % 2 == 0", "step % 3 == 0"]) if t == "bool" else r.choice([f"({number}) as {t}"] * 3 + [f"(step / 7) as {t}"])
                  for t in fields]
        if len(leaves) > 1 and r.random() < 0.5:
            leaves[0] = leaves[0] if fields[0] == "bool" else "1"
            leaves[0] = f"step as {fields[0]}" if leaves[0] == "1" and r.random() < 0.3 else f"(step - step) as {fields[0]}"
        at = f"{name}[{leaves[0] if len(leaves) == 1 else '(' + ', '.join(leaves) + ')'}]"
        if r.random() < 0.1:
            return f"delete {at};"
        if value == "bool":
            return f"{at} = {r.choice(['true', 'false', 'step % 2 == 0'])};"
        return r.choice([f"{at}++;"] * 4 + [f"{at}--;", f"{at} = {at};", f"{at} = {at} + {at};", f"{at} += {at};", f"{at} -= step as {value};", f"{at} = step as {value};"])

    def maps_with_names(self):
        """Maps that functions change and that are values of another one."""
        t = type_text(INNER)
        self.free.update(in0=INNER, in1=INNER)
        self.vars.update(in0=INNER, in1=INNER)
        out = [f"report var in0: {t};", f"{self.r.choice(['report ', ''])}var in1: {t};", f"report var outer: map<str, {t}>;"]
        out += [f"outer[{self.literal('str')}] = {self.r.choice(['in0', 'in1'])};" for _ in range(self.r.randrange(3))]
        self.fns["count"] = ([INNER, "u32"], "i32")
        return out + [f"fn count(m: {t}, k: u32) -> i32 {{ m[k % 7]{self.r.choice(['++', '--'])}; return m[k]; }}"]

    def function(self, k):
        r = self.r
        outer, words, self.words = dict(self.vars), self.words, {}
        tells, self.tells = self.tells, False
        params = {f"p{i}": r.choice(ALL) for i in range(r.randrange(1, 4))}
        result = r.choice(NUMBERS)
        self.vars.update(params)
        local = self.any_type(False)
        text = f"fn fn{k}({', '.join(f'{p}: {type_text(t)}' for p, t in params.items())}) -> {result} {{\n"
        text += f"    var w: {type_text(local)} = {self.expr(local, 2)};\n"
        self.vars["w"] = local
        text += self.body([*params, "w"], [], 1, 2, r.randrange(3)).replace("return;", "w = w;")
        if r.random() < 0.5:
            text += f"    if ({self.expr('bool', 2)}) {{ return {self.expr(result, 1)}; }}\n"
        text += f"    return {self.expr(result, 1)};\n}}"
        self.vars, self.words, self.tells = outer, words, tells
        self.fns[f"fn{k}"] = (list(params.values()), result)
        return text

    def names(self):
        """Those of each place in a function."""
        names = {"fid": "u32", "fname": "str", "pc": "u32", "opidx": "u32", "at_func_end": "bool"}
        if not self.engine:
            names["escapes"] = "bool"
        return names

    def event(self):
        """(rule, kind, bound names with types, assignable ones)."""
        r = self.r
        names = self.names()
        choice = r.random()
        if choice < 0.12:
            return self.at_function(names)
        if choice < 0.2:
            event = r.choice(["block:start", "block:end", "edge"])
            ends = {"from": "u32", "to": "u32"} if event == "edge" else {}
            return f"wasm:{event}", event, {**names, **ends, "instr_count": "u32"}, []
        if choice < 0.24:
            return f"wasm:{r.choice(['begin', 'end'])}", "nowhere", {}, []
        names.update(opname="str", category_name="str")
        present = sorted({i[0] for f in self.p.funcs for i in f.body})
        if choice < 0.36:
            op = r.choice([n for n in present if n in ("block", "loop", "if") + (() if self.engine else ("else",))] or ["block"])
            mode = r.choice(["entry", "exit", "after", "entry"] if not self.engine else ["entry"])
            return f"wasm:opcode:{op}:{mode}", "construct", names, []
        if choice < 0.42:
            mode = "before" if self.engine or r.random() < 0.5 else "after"
            return f"wasm:opcode:end:{mode}", "end", names, []
        if choice < 0.47 and not self.engine:
            return f"wasm:opcode:{r.choice(['br', 'br_if', 'br_table'])}:at_target", "at_target", names, []
        return self.at_instruction(names, [n for n in present if n not in ("end", "else")])

    def at_function(self, names):
        """Monitors have no globals and no results there."""
        r = self.r
        event, bounds = r.choice(["entry", "exit"]), {}
        if not self.engine and r.random() < 0.4:
            bounds[f"global{r.randrange(len(self.p.globals))}"] = r.choice(NUMBERS)
        results = not self.engine and event == "exit" and r.random() < 0.6
        if results:
            bounds["res0"] = r.choice(NUMBERS)
        names.update(bounds)
        bound = f"({', '.join(f'{n}: {t}' for n, t in bounds.items())})" if bounds else ""
        return f"wasm{bound}:func:{event}", "func", names, [("res0", bounds["res0"])] if results and r.random() < 0.5 else []

    def at_instruction(self, names, present):
        r = self.r
        if r.random() < 0.05:
            return "wasm:opcode:*:before", "before", names, []
        op = OPS[r.choice(present)]
        construct = op.name in ("block", "loop", "if")
        mode = "after" if not self.engine and not construct and r.random() < 0.35 else "before"
        ops, bounds = [op.name], {}
        for name, (kind, static) in op.names.items():
            if kind == "unknown" or kind.startswith("map") or (name.startswith("res") and name != "resolved_fid" and mode != "after"):
                continue
            if name in ("failed",) and mode != "after" or name in ("target_funcref", "immN") or name == "resolved_fid" and self.engine:
                continue
            names[name] = kind
        if op.name == "br_table":
            names["targets"] = ("map", "u32", "u32")
        for family, types in (("arg", op.operands), ("res", op.results if mode == "after" else [])):
            for n, t in enumerate(reversed(types)):
                if t != "?" and not construct:
                    names.setdefault(f"{family}{n}", "u32" if t == "at" else t)
        if op.name in ("br_if", "if", "br"):
            names["taken"] = "bool"
        self.add_bounds(op, mode, bounds)
        if len(set(op.operands)) == 1 and op.operands[0] != "?" and not bounds and r.random() < 0.4:
            same = [o.name for o in OPS.values() if o.operands == op.operands and o.results == op.results and
                    {n: k for n, (k, _) in o.names.items()} == {n: k for n, (k, _) in op.names.items()}]
            ops = sorted(set(r.sample(same, min(len(same), 3)) + ops), key=lambda n: OPS[n].index)
        names.update(bounds)
        derived = {"addr", "target", "taken", "table_entry_idx", "resolved_fid", "failed"} & set(names)
        assignable = []
        if not self.engine and not derived and not construct:
            families = ("arg", "local") if mode == "before" else ("res", "local")
            assignable = [(n, t) for n, t in names.items() if n.rstrip("0123456789") in families and r.random() < 0.3 and t in NUMBERS]
        self.widen(names, op)
        text = "|".join(ops)
        if r.random() < 0.1:
            text = text.upper()
        bound = f"({', '.join(f'{n}: {t}' for n, t in bounds.items())})" if bounds else ""
        package = "" if r.random() < 0.1 else "opcode"
        return f"wasm:{package}:{text}{bound}:{mode}", mode, names, assignable

    def add_bounds(self, op, mode, bounds):
        r = self.r
        if r.random() < 0.2:
            bounds[f"local{r.randrange(3)}"] = r.choice(NUMBERS)
        if op.name in ("drop", "local.set", "local.tee", "global.set"):
            bounds["arg0"] = r.choice(NUMBERS + ("bool",))
        elif op.name == "select":
            bounds["arg1"] = r.choice(NUMBERS)
        elif op.name in ("call", "call_indirect") and r.random() < 0.6:
            bounds["arg0" if op.name == "call" else "arg1"] = r.choice(NUMBERS)
            if mode == "after" and r.random() < 0.5:
                bounds["res0"] = r.choice(NUMBERS)
        elif op.operands and set(op.operands) <= {"i32"} and r.random() < 0.2 and len(op.name) > 6:
            bounds["arg0"] = r.choice(["u8", "i8", "u16", "i16", "u32", "i32"])

    def widen(self, names, op):
        """Static numbers stand for themselves where their type is wanted."""
        if op.name == "i32.const" and self.r.random() < 0.5:
            names["imm0"] = self.r.choice(["i32", "u32"])

    def probe(self, k, event):
        r = self.r
        rule, kind, names, self.assignable = event
        self.apart = apart = kind in APART
        outer, shadows, arrays, aggregates = dict(self.vars), self.shadows, dict(self.arrays), dict(self.aggregates)
        if apart:
            self.shadows, self.arrays = {}, {}
            for name in self.free:
                del self.vars[name]
        self.bound = {n: t for n, t in names.items() if not n.startswith("local") or not apart}
        if rule == "wasm:end":
            self.vars.update(self.acc)
        predicate = ""
        if kind != "nowhere" and r.random() < 0.5:
            predicate = f" / {self.predicate()} /"
        writable = [] if apart else list(self.free)
        text, declared = "", []
        for i in range(r.randrange(1, 4)):
            text += self.declaration(f"v{i}_{k}", kind, apart, writable)
            writable += [n for n in self.vars if n == f"v{i}_{k}"]
        if not apart and kind != "nowhere":
            for name, t in self.frames.items():
                if r.random() < 0.5 and name not in self.vars:
                    text += f"    frame var {name}: {type_text(t)};\n"
                    self.vars[name] = t
                    writable.append(name)
        if not apart and r.random() < 0.1:
            text += f"    {r.choice(['', 'report ', 'report unshared ', 'shared ', 'report shared '])}{self.array(f'own_{k}')}\n"
        if kind != "nowhere" and r.random() < 0.12:
            text += f"    {r.choice(['report ', 'report shared '])}var {self.aggregate(f'p{k}')};\n"
        text += self.body(writable, list(self.acc.items()), 1, 0, r.randrange(1, 5))
        self.arrays = {} if apart else arrays
        if r.random() < 0.3:
            text += self.annotated_block(k, [n for n in writable if n in self.kept or n in self.free], list(self.acc.items()))
        self.vars, self.bound, self.assignable, self.shadows = outer, {}, [], shadows
        self.arrays, self.aggregates, self.apart = arrays, aggregates, False
        return f"{rule}{predicate} {{\n{text}}}"

    def annotated_block(self, k, writable, accumulators):
        """Statements at the end of a site, or (unless it has no place) when the program starts."""
        r = self.r
        visible = {*self.free, *self.kept, *self.acc}
        self.vars = {n: t for n, t in self.vars.items() if n in visible or n[0] == "c"}
        self.bound = {n: t for n, t in self.bound.items() if n in STATIC or n.startswith("imm")}
        words, self.assignable, self.words = self.words, [], {}
        fuse, self.fuse = self.fuse, False
        t = self.any_type()
        when = "init" if self.bound and r.random() < 0.2 else "exit"
        text = f"    @{when} {{\n        var x_{k}: {type_text(t)}{'' if t[0] == 'map' else f' = {self.expr(t, 2)}'};\n"
        self.vars[f"x_{k}"] = t
        text += self.body([*writable, f"x_{k}"], accumulators, 2, 1, r.randrange(1, 4))
        self.words, self.fuse = words, fuse
        return f"{text}    }}\n"

    # -- code where functions begin and end, and inside nothing that is not counted by segments --

    def functions_and_counters(self):
        r = self.r
        return ([self.probe(k, self.at_function(self.names())) for k in range(r.randrange(1, 4))] +
                [self.counting_probe(k) for k in range(r.randrange(1, 4))])

    def counting_probe(self, k):
        """Only adds what is static to numbers, sets flags, and counts by static keys."""
        r = self.r
        present = sorted({i[0] for f in self.p.funcs for i in f.body})
        rule = r.choice(["opcode:*:before", "block:start", "block:end"] + [f"opcode:{r.choice(present)}:before"] * 4)
        counts = [f"{name}{r.choice(['++', '--', ' = ' + name + ' + 3', ' += 3'])};" for name in self.acc] + [f"kinds{k}[({r.choice(['fid', 'pc'])}, {r.randrange(3)})]++;"]
        declared = ""
        for i in range(r.randrange(1, 4)):
            name, words = f"n{i}_{k}", r.choice(["report", "report", "report shared", "shared", "report unshared"])
            t = r.choice(INTS + ("bool",))
            declared += f"    {words} var {name}: {t};\n"
            counts.append(f"{name} = true;" if t == "bool" else f"{name}{r.choice(['++', '++', '--', f' = {name} + 5', ' -= 5'])};")
        body = "".join(f"    {r.choice(counts)}\n" for _ in range(r.randrange(1, 5)))
        predicate = f" / {r.choice(['pc % 2 == 0', 'fid == 1', 'opidx < 9', 'fid != 1 && pc > 3'])} /" if r.random() < 0.4 else ""
        return f"report var kinds{k}: map<(u32, u32), {r.choice(INTS)}>;\nwasm:{rule}{predicate} {{\n{declared}{body}}}"

    # -- probes that count which way branches go --

    def branch_probe(self, k):
        r = self.r
        if r.random() < 0.25:
            rule, conditions = "br_table", BEYOND
        else:
            rule, conditions = r.choice(["br_if", "if", "br_if|if"]), TAKEN
        out = [f"report var e{k}: {r.choice(INTS)};", f"report var cells{k}: map<(u32, u32, bool), u32>;"]
        predicate = f" / {self.way(conditions)} /" if r.random() < 0.4 else ""
        body, counts = "", [f"e{k}{r.choice(['++', '--'])};", f"cells{k}[(fid, pc, {r.choice(['true', 'false'])})]++;"]
        for i in range(r.randrange(4)):
            name, words = f"b{i}_{k}", r.choice(["report", "report", "report shared", "shared"])
            if r.random() < 0.25:
                body += f"    {words} var {name}: bool;\n"
                counts.append(f"{name} = true;")
            else:
                t = r.choice(INTS)
                body += f"    {words} var {name}: {t};\n"
                amount = r.choice(["3", "pc" if t == "u32" else "2"])
                counts.append(r.choice([f"{name}++;", f"{name}--;", f"{name} = {name} + {amount};", f"{name} += {amount};"]))
        body += "".join(self.branch_statement(conditions, counts, 1) for _ in range(r.randrange(1, 4)))
        return "\n".join(out + [f"wasm:opcode:{rule}:before{predicate} {{\n{body}}}"])

    def branch_statement(self, conditions, counts, depth):
        r, pad = self.r, "    " * depth
        if depth > 2 or r.random() < 0.4:
            return pad + ("return;" if depth > 1 and r.random() < 0.15 else r.choice(counts)) + "\n"
        out = pad
        for word in ["if"] + [r.choice(["elif", "else if"])] * r.choice([0, 0, 1]):
            out += f"{word} ({self.way(conditions)}) {{\n{self.branch_statement(conditions, counts, depth + 1)}{pad}}} "
        if r.random() < 0.5:
            out += f"else {{\n{self.branch_statement(conditions, counts, depth + 1)}{pad}}}"
        return out.rstrip() + "\n"

    def way(self, conditions):
        way = self.r.choice(conditions)
        return self.r.choice([way] * 5 + [f"{way} && pc % 2 == 0", f"fid == 1 || {way}", f"!({way})"])

    def predicate(self):
        parts = [self.condition() for _ in range(self.r.choice([1, 1, 2]))]
        return f" {self.r.choice(['&&', '||'])} ".join(parts)

    def condition(self):
        r = self.r
        choice = r.random()
        if choice < 0.2:
            return r.choice(["pc > 4", "pc % 2 == 0", "opidx < 20", "fid == 1", 'fname != "f0"', "!at_func_end", "opidx / 2 * 2 == opidx"])
        while True:
            text = self.expr("bool", 1)
            if "?" not in text:
                return text

    def early(self, t):
        """An expression that has a value when the program starts."""
        variables, bound = self.vars, self.bound
        self.vars = {n: u for n, u in self.vars.items() if n in self.free or n[0] == "c"}
        self.bound = {n: u for n, u in bound.items() if n in STATIC or n.startswith("imm")}
        self.static_only = True
        text = self.expr(t, 2)
        self.vars, self.bound, self.static_only = variables, bound, False
        return text

    def declaration(self, name, kind, apart, writable):
        r = self.r
        words = r.choice(["", "report ", "report unshared ", "unshared ", "report shared ", "shared ", "frame "])
        if words == "frame " and (apart or kind == "nowhere"):
            words = ""
        t = self.any_type(words != "frame ")
        init = ""
        if t[0] != "map" and words != "frame " and "shared " not in words.replace("unshared", "") and not words and r.random() < 0.5:
            init = f" = {self.expr(t, 2)}"
        elif t[0] != "map" and ("unshared" in words or words == "report ") and r.random() < 0.3:
            init = f" = {self.early(t)}"
        self.vars[name] = t
        if words == "frame ":
            self.frames[name] = t
        elif words:
            self.kept.add(name)
        return f"    {words}var {name}: {type_text(t)}{init};\n"


def sample(seed):
    """(program, script text) of a seed. Without exact loops nothing asks for `loop:before` and basic blocks."""
    r = random.Random(seed)
    program = Programs(r).program()
    return program, Scripts(r, program, r.random() < 0.5).script()
