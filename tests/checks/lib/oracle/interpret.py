"""What a script reports about a program: it is interpreted while wasm.Machine runs the program.

Follows docs/language.md; shares nothing with the compiler.
"""

import copy
import decimal
import fnmatch
import math
import re

from . import script as sc, wasm
from .script import Bad, Constant, INTS, FLOATS
from .wasm import OPS, Trap

UNKNOWN = object()  # a value that is known only when the program runs
GROUPS = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "u64", "i64", "f64", "bool", "str", "funcref"]
ARMS = ("block", "loop", "if", "else")
WASM_OF = {"i64": "i64", "u64": "i64", "f32": "f32", "f64": "f64"}  # all others are i32


class Leave(Exception):
    """`return`."""


class Missing(Trap):
    """An element that is not in its map."""


class Ended(Exception):
    """The script has ended the program: "trap", or "exit N"."""


class Break(Exception):
    """`break`."""


class Continue(Exception):
    """`continue`."""


class Map:
    def __init__(self):
        self.items = {}


class Shadow:
    """The elements of a shadow memory that are not zero, by unit; addresses are below 4 GiB."""

    END = 1 << 32

    def __init__(self, element, size):
        self.zero, self.size, self.items = zero(element), size, {}

    def unit(self, address):
        return min(address, self.END - 1) // self.size

    def units(self, address, n):
        last = min(address + n, self.END) - 1
        return range(self.unit(address), last // self.size + 1) if n and address < self.END else range(0)

    def get(self, unit):
        return self.items.get(unit, self.zero)

    def set(self, unit, value):
        if value == self.zero:
            self.items.pop(unit, None)
        else:
            self.items[unit] = value

    def fill(self, address, n, value):
        for unit in self.units(address, n):
            self.set(unit, value)

    def any(self, address, n):
        units = self.units(address, n)
        return any(unit in units for unit in self.items)

    def copy(self, to, source, n):
        values = [self.get(unit) for unit in self.units(source, n)]
        for unit, value in zip(self.units(to, n), values):
            self.set(unit, value)

    def clear(self):
        self.items = {}

    def lost(self):
        return 0


# ---- values ----


def zero(t):
    if isinstance(t, str):
        return False if t == "bool" else b"" if t == "str" else 0.0 if t in FLOATS else 0
    if t[0] == "shadow":
        return Shadow(*t[1:])
    if t[0] == "agg":
        return zero(sc.stored(t))
    return tuple(zero(x) for x in t[1:]) if t[0] == "tuple" else Map()


def from_wasm(t, x):
    if t == "bool":
        return x != 0
    return x if t in FLOATS else sc.reduce_int(t, x)


def to_wasm(t, x):
    return x if t in FLOATS else int(x) & ((1 << 64) - 1 if t in ("u64", "i64") else 0xFFFFFFFF)


def convert(x, source, to):
    if to == "bool":
        return x != 0
    if source == "bool":
        x, source = int(x), "i32"
    if to in INTS:
        if source in FLOATS:
            wide = to if sc.bits_of(to) >= 32 else to[0] + "32"
            if not math.isfinite(x) or not sc.fits(wide, int(x)):
                raise Trap
            x = int(x)
        return sc.reduce_int(to, x)
    if source in INTS:
        return wasm.int_to_float(x, to)
    return wasm.single(x) if to == "f32" else x


def arithmetic(op, t, x, y):
    if t in FLOATS:
        if op == "/" and y == 0:
            r = math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
        elif op == "%":
            r = math.nan if y == 0 or math.isinf(x) or x != x or y != y else math.fmod(x, y)
        else:
            r = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y}[op]()
        return wasm.single(r) if t == "f32" else r
    if op in ("/", "%"):
        if y == 0 or (op == "/" and y == -1 and sc.bits_of(t) >= 32 and not sc.fits(t, -x)):
            raise Trap
        q = wasm.divide(x, y)
        return sc.reduce_int(t, q if op == "/" else x - y * q)
    k = y % (64 if sc.bits_of(t) == 64 else 32)
    return sc.reduce_int(t, {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "&": lambda: x & y,
                             "|": lambda: x | y, "^": lambda: x ^ y, "<<": lambda: x << k, ">>": lambda: x >> k}[op]())


def math_function(name, t, x, y=None):
    if name in ("min", "max") and t in FLOATS:
        key = lambda v: (v, math.copysign(1, v))
        return math.nan if x != x or y != y else {"min": min, "max": max}[name](x, y, key=key)
    if name == "abs" and t in FLOATS:
        return math.copysign(x, 1)
    if name in ("min", "max", "abs"):
        return sc.reduce_int(t, {"min": min, "max": max}[name](x, y) if y is not None else abs(x))
    bits = format(x & ((1 << sc.bits_of(t)) - 1), f"0{sc.bits_of(t)}b")
    n = {"clz": bits.find("1"), "ctz": bits[::-1].find("1"), "popcnt": bits.count("1")}[name]
    return sc.reduce_int(t, n if n >= 0 else len(bits))


LOWEST = -(1 << 63)


def power_bucket(x):
    return (1 if x > 0 else -1) << (abs(x).bit_length() - 1) if x else 0


def step_bucket(x, least, most, step):
    return LOWEST if x < least else most if x >= most else x - (x - least) % step


def added(t, old, x=None, amount=1):
    """An aggregation to which x was added."""
    _, kind, number, params, _ = t
    if kind in ("hist", "lhist", "top"):
        key = x if kind == "top" else power_bucket(x) if kind == "hist" else step_bucket(x, *params)
        old.items[key_of(key)] = sc.reduce_int("u64", old.items.get(key_of(key), 0) + amount)
        return old
    if kind == "count":
        return arithmetic("+", "u64", old, 1)
    if kind == "sum":
        return arithmetic("+", number, old, x)
    n, y = old
    new = arithmetic("+", number, y, x) if kind == "avg" else x if not n else {"min": min, "max": max}[kind](x, y)
    return (n + 1, new)


def compare(op, x, y):
    return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]


def literal(e):
    """The value of a literal node of its type."""
    if e.type in INTS:
        return sc.reduce_int(e.type, e.value)
    if e.type == "f32":
        return wasm.int_to_float(e.value, "f32") if isinstance(e.value, int) else wasm.single(e.value)
    return float(e.value) if e.type == "f64" else e.value


def with_field(value, path, new):
    if not path:
        return new
    n = path[0]
    return value[:n] + (with_field(value[n], path[1:], new),) + value[n + 1:]


def address_of(e, x):
    """Addresses are unsigned."""
    return x & ((1 << sc.bits_of(e.type)) - 1)


def at_path(value, path):
    if value is UNKNOWN:
        return value
    for n in path:
        value = value[n]
    return value


def calls(e):
    return e.kind == "call" or any(map(calls, getattr(e, "args", [])))


def key_of(x):
    if isinstance(x, tuple):
        return tuple(map(key_of, x))
    return x + 0.0 if isinstance(x, float) else x  # -0 is 0


def bodies_of(s):
    """The bodies in a statement, but for those of annotations."""
    return [*(body for _, body in s.arms), s.orelse] if s.kind == "if" else [s.body] if s.kind in ("loop", "range", "each") else []


def in_list(text, n):
    for item in text.split(","):
        if item.strip():
            low, _, high = item.partition("-")
            if int(low) <= n <= int(high or low):
                return True
    return False


# ---- evaluation ----


class Evaluator:
    """Expressions and statements; subclasses know what names mean."""

    def variable(self, name):
        """(dictionary, key) of a variable, or None."""

    def bound(self, e):
        return UNKNOWN

    def bound_set(self, name, value, t):
        raise Bad(f"{name} cannot be assigned")

    fns, consts, steps, loop_values, site = {}, {}, 0, {}, None

    def value(self, e):
        return getattr(self, "eval_" + e.kind)(e)

    def eval_int(self, e):
        return literal(e)

    eval_float = eval_bool = eval_str = eval_int

    def eval_name(self, e):
        if e.name in self.loop_values:
            return self.loop_values[e.name]
        place = self.variable(e.name)
        if place:
            return place[0][place[1]]
        if e.name in self.consts:
            return literal(self.consts[e.name])
        return self.bound(e)

    def eval_field(self, e):
        return at_path(self.eval_name(e), e.path)

    def eval_index(self, e):
        k = self.value(e.args[0])
        if e.name == "targets" and not self.variable(e.name):
            return self.bound(sc.Node("index", name=e.name, key=k, type="u32"))
        m = self.eval_name(e)
        if m is UNKNOWN or k is UNKNOWN:
            return UNKNOWN
        if isinstance(m, Shadow):
            return m.get(m.unit(address_of(e.args[0], k)))
        if key_of(k) not in m.items:
            t = self.map_type(e.name)[2]
            if t in sc.NUMBERS or t == "bool":
                return zero(t)
            raise Missing
        return at_path(m.items[key_of(k)], e.path)

    def eval_unary(self, e):
        x = self.value(e.args[0])
        if x is UNKNOWN:
            return x
        if e.type in FLOATS:
            return -x
        return not x if e.op == "!" else sc.reduce_int(e.type, ~x if e.op == "~" else -x)

    def eval_binary(self, e):
        x = self.value(e.args[0])
        if e.op in ("&&", "||"):
            decides = e.op == "||"
            if x is not UNKNOWN:
                return x if x == decides else self.value(e.args[1])
            y = self.value(e.args[1])
            return y if y is not UNKNOWN and y == decides and not calls(e.args[0]) else UNKNOWN
        y = self.value(e.args[1])
        if x is UNKNOWN or y is UNKNOWN:
            return UNKNOWN
        return compare(e.op, x, y) if e.type == "bool" else arithmetic(e.op, e.type, x, y)

    def eval_cast(self, e):
        x = self.value(e.args[0])
        return x if x is UNKNOWN else convert(x, e.args[0].type, e.to)

    def eval_cond(self, e):
        c = self.value(e.args[0])
        return c if c is UNKNOWN else self.value(e.args[1 if c else 2])

    def eval_tuple(self, e):
        values = tuple(map(self.value, e.args))
        return UNKNOWN if UNKNOWN in values else values

    def eval_method(self, e):
        s = self.value(e.receiver) if hasattr(e, "receiver") else self.eval_name(e)
        args = [self.value(a) for a in e.args]
        if isinstance(s, Shadow) and UNKNOWN not in args:
            addresses = {"fill": 2, "any": 2, "copy": 3}.get(e.method, 0)
            return getattr(s, e.method)(*[address_of(a, x) if i < addresses else x for i, (a, x) in enumerate(zip(e.args, args))])
        if s is UNKNOWN or UNKNOWN in args:
            return UNKNOWN
        if e.method == "len" and isinstance(s, Map) and len(self.map_type(e.name)) == 4:
            return self.map_type(e.name)[3]
        if isinstance(s, Map) and e.method == "clear":
            return s.items.clear()
        if e.method == "len":
            return len(s.items if isinstance(s, Map) else s)
        if e.method == "lists":
            return in_list(s.decode(), args[0])
        return {"starts_with": s.startswith, "ends_with": s.endswith, "contains": lambda x: x in s}[e.method](args[0])

    def eval_aggregate(self, e):
        return at_path(self.eval_name(e), e.path)

    def eval_added(self, e):
        x = [self.value(a) for a in e.args]
        if x and e.of[1] != "top":
            x = [convert(x[0], e.args[0].type, e.of[2])]
        self.store(e.receiver, lambda old: added(e.of, old, *x))

    def eval_emptied(self, e):
        self.store(e.receiver, lambda old: old.items.clear() or old if isinstance(old, Map) else zero(e.of))

    def eval_contains(self, e):
        k, m = self.value(e.args[0]), self.value(e.map)
        return UNKNOWN if UNKNOWN in (k, m) else key_of(k) in m.items

    def eval_math(self, e):
        args = [self.value(a) for a in e.args]
        return UNKNOWN if UNKNOWN in args else math_function(e.name, e.type, *args)

    def eval_call(self, e):
        args = [self.value(a) for a in e.args]
        if e.name in sc.READS:
            return self.run.read(e.name, *args)
        return self.run.call_fn(e.name, args)

    # -- statements --

    def execute(self, statements):
        for s in statements:
            getattr(self, "do_" + s.kind)(s)

    def do_var(self, s):
        pass

    do_const = do_var

    def do_annotated(self, s):
        """Runs at another time."""

    def annotated(self, statements, when):
        """Runs the blocks with this annotation, wherever in the body they are."""
        for s in statements:
            for body in bodies_of(s):
                self.annotated(body, when)
            if s.kind == "annotated" and s.when == when:
                try:
                    self.execute(s.body)
                except Leave:
                    pass
                except Missing:
                    if when != "exit":
                        raise

    def text_of(self, s):
        parts = [x if isinstance(x, str) else printed(x[0].type, self.value(x[0]), x[1]) for x in s.parts]
        return b"".join(x.encode() if isinstance(x, str) else x for x in parts)

    def do_print(self, s):
        n = self.run.printed[s.place] = self.run.printed.get(s.place, 0) + 1
        if n <= (s.limit or n) and (n - 1) % (s.every or 1) == 0:
            self.run.lines.append(self.text_of(s))
        elif s.limit:
            self.run.left_out[s.place] = n - s.limit

    def do_trap(self, s):
        where = b" (in %s)" % self.run.program.shown(self.site.fid).encode() if self.site else b""
        self.run.lines.append(b"script.whamm:%d: %s%s" % (s.place[0], self.text_of(s), where))
        raise Ended("trap")

    def do_assert(self, s):
        if not self.value(s.args[0]):
            self.do_trap(s)

    def do_exit(self, s):
        raise Ended(f"exit {self.value(s.args[0])}")

    def do_do(self, s):
        self.value(s.call)

    def do_return(self, s):
        raise Leave(self.value(s.value) if s.value else None)

    def do_if(self, s):
        for condition, body in s.arms:
            if self.value(condition):
                return self.execute(body)
        return self.execute(s.orelse)

    def do_break(self, s):
        raise Break

    def do_continue(self, s):
        raise Continue

    def iteration(self, body):
        """Whether the loop goes on."""
        try:
            self.execute(body)
        except Break:
            return False
        except Continue:
            pass
        return True

    def do_loop(self, s):
        while self.value(s.condition) and self.iteration(s.body):
            pass

    def do_range(self, s):
        first, limit = [self.value(a) for a in s.args]
        if not self.loop_values:
            self.loop_values = {}  # of this activation
        for self.loop_values[s.name] in range(first, limit):
            if not self.iteration(s.body):
                break
        self.loop_values.pop(s.name, None)

    def do_each(self, s):
        m = self.value(s.map)
        if not self.loop_values:
            self.loop_values = {}
        for key in sorted(m.items):
            if key in m.items:
                self.loop_values.update(zip(s.names, (key, m.items[key])))
                if not self.iteration(s.body):
                    break
        for name in s.names:
            self.loop_values.pop(name, None)

    def do_assign(self, s):
        new = self.value(s.value)
        self.store(s.target, lambda old: new)

    def do_delete(self, s):
        k = key_of(self.value(s.args[0]))
        self.value(s.map).items.pop(k, None)

    def do_update(self, s):
        by = self.value(s.value)
        self.store(s.target, lambda old: arithmetic(s.op, s.target.type, old, by))

    def do_step(self, s):
        one = 1.0 if s.target.type in FLOATS else 1
        self.store(s.target, lambda old: arithmetic(s.op, s.target.type, old, one))

    def store(self, e, change):
        if e.kind == "index" and isinstance(self.eval_name(e), Shadow):
            m = self.eval_name(e)
            unit = m.unit(address_of(e.args[0], self.value(e.args[0])))
            m.set(unit, change(m.get(unit)))
            return
        if e.kind == "index":
            m, k = self.eval_name(e), key_of(self.value(e.args[0]))
            if len(self.map_type(e.name)) == 4 and k >= self.map_type(e.name)[3]:
                return
            old = m.items.get(k, zero(self.map_type(e.name)[2]))
            m.items[k] = with_field(old, e.path, change(at_path(old, e.path)))
            return
        place = self.variable(e.name)
        if not place:
            self.bound_set(e.name, change(self.bound(e)), e.type)
            return
        path = getattr(e, "path", [])
        old = place[0][place[1]]
        place[0][place[1]] = with_field(old, path, change(at_path(old, path)))


class Activation(Evaluator):
    """The script scope, or a call of a function."""

    def __init__(self, run, types, values=None):
        self.run, self.types, self.fns, self.consts = run, types, run.script.fns, run.script.consts
        self.locals = values

    def variable(self, name):
        if self.locals is not None and name in self.locals:
            return self.locals, name
        return (self.run.globals, name) if name in self.run.globals else None

    def map_type(self, name):
        return self.types.get(name) or self.run.script.vars[name]

    def do_var(self, s):
        if self.locals is not None:
            self.locals[s.name] = self.value(s.init) if s.init else zero(s.type)
        elif s.init:
            self.run.globals[s.name] = self.value(s.init)

    def do_annotated(self, s):
        self.annotated([s], "init")


# ---- matching ----


class Site:
    """A place: a function, and an instruction of it; `count` of a basic block."""

    def __init__(self, program, fid, i, count=None):
        self.p, self.fid, self.i, self.count = program, fid, i, count
        self.f = program.funcs[fid - len(program.imports)]
        self.instr = self.f.body[i]
        self.op = OPS[self.instr[0]]

    def label(self, k):
        depths = self.instr[1]
        return depths[k] if k < len(depths) else 0

    def immediate(self, n):
        name, *imms = self.instr
        if name == "br_table":
            labels = list(imms[0]) + [imms[1]]
            return labels[n] if n < len(labels) else None
        if name == "call_indirect":
            return [self.p.type_index(*imms), 0][n]
        return 0 if name.startswith("memory.") else imms[n]


def static_name(site, variant, e):
    """The value of a static name; UNKNOWN if it has none."""
    p, name, op = site.p, e.name, site.op
    if name == "fid":
        return site.fid
    if name == "fname":
        return p.shown(site.fid).encode()
    if name in ("pc", "to"):
        return 0 if variant.event == "func:entry" else site.f.pc[site.i]
    if name == "opidx":
        return 0 if variant.event == "func:entry" else site.i
    if name == "at_func_end":
        return site.i == len(site.f.body) - 1
    if name == "escapes":
        return site.fid in p.table or site.fid == len(p.imports) + len(p.funcs) - 1
    if name == "tail_calls":
        return False
    if name == "instr_count":
        return site.count
    if name in ("opname", "category_name"):
        return (op.name if name == "opname" else op.category).encode()
    if name in ("bytecode", "category_id"):
        return op.code if name == "bytecode" else op.category_id
    if name == "data_size":
        return op.data_size
    if name == "is_write":
        return ".store" in op.name
    if name == "offset":
        return site.instr[2]
    if name == "align":
        return site.instr[1]
    if name == "memory":
        return 0
    if name == "num_targets":
        return len(site.instr[1])
    if name == "default_target":
        return site.instr[2]
    if name == "targets":
        return UNKNOWN if e.key is UNKNOWN else site.label(e.key)
    if name.startswith("target_"):
        fid, local = site.instr[1], site.instr[1] >= len(p.imports)
        return {"target_fn_name": p.shown(fid) if local else p.imports[fid][0], "target_fn_type": "local" if local else "import",
                "target_imp_module": "" if local else "env"}[name].encode()
    if name.startswith("imm"):
        x = site.immediate(int(name[3:]))
        t = e.type if e.type in sc.NUMBERS else "u32"
        own = variant.names[name].kind if name in variant.names and isinstance(variant.names[name], Constant) else None
        if own:  # widened as by `as`
            return convert(from_wasm(own, x), own, t)
        return from_wasm(t, x)
    return UNKNOWN


EVERYWHERE = {"fid": "u32", "fname": "str", "pc": "u32", "opidx": "u32", "at_func_end": "bool", "escapes": "bool", "tail_calls": "bool"}
AT_OPCODES = {"opname": "str", "bytecode": Constant("u16", False), "category_id": Constant("u32", False), "category_name": "str"}
STATIC = set(EVERYWHERE) | set(AT_OPCODES)


class Variant:
    """A probe at one event."""

    def __init__(self, probe, number, event, op=None, mode=None, internal=None):
        self.origin, self.probe = probe, copy.deepcopy(probe)
        self.number, self.event, self.op, self.mode, self.internal = number, event, op, mode, internal
        self.rule = f"wasm:opcode:{op.name}:{internal}" if op else f"wasm:{event}:<no-mode>"
        self.names = dict(EVERYWHERE)
        if op:
            self.names.update(AT_OPCODES)
            for name, (kind, _) in op.names.items():
                if kind == "unknown":
                    continue
                if name.startswith("res") and name[3:].isdigit() and mode != "after" or (name == "failed" and mode != "after"):
                    continue
                self.names[name] = ("map", "u32", "u32") if kind.startswith("map") else kind
            for family, types in (("arg", op.operands), ("res", op.results if mode == "after" else [])):
                for n, t in enumerate(reversed(types)):
                    if t != "?" and f"{family}{n}" not in self.names and op.name not in ARMS:
                        self.names[f"{family}{n}"] = "u32" if t == "at" else t
            if "data_size" in op.names:
                self.names["data_size"] = Constant("u32", False)
            if op.name.endswith(".const"):
                self.names["imm0"] = Constant(op.name[:3], True)
            if op.name == "br_table":
                self.names.update({f"imm{n}": "u32" for n in range(20)})
            if op.name in ("br", "br_if", "if"):
                self.names["taken"] = "bool"
        elif event in ("block:start", "block:end", "edge"):
            self.names["instr_count"] = "u32"
        if event == "edge":
            self.names.update({"from": "u32", "to": "u32"})
            self.rule = "wasm:block:start:<no-mode>"
        self.static = {n for n in self.names if n in STATIC or n.startswith("imm") or n in ("instr_count", "to") or
                       (op and n in op.names and op.names[n][1])}
        self.names.update(self.probe.bounds)
        self.vars, self.words, self.inits = {}, {}, []

    def written(self, all_):
        """The rule of a shared variable's row: the event, or the rule as in the script if it matches several."""
        if sum(v.origin is self.origin for v in all_) > 1:
            return self.origin.rule
        return self.rule if ":" in self.event or self.op or self.event == "edge" else f"wasm:{self.event}"

    def rank(self):
        """The order of rows at one place."""
        return ["func:entry", "opcode", "block:start", "edge", "block:end", "func:exit"].index(self.event)

    def declare(self, statements):
        for s in statements:
            if s.kind == "var":
                self.vars[s.name] = s.type
                kept = [w for w in s.words if w != "report"]
                self.words[s.name] = (kept[0] if kept else "unshared" if s.words else "local", "report" in s.words)
                self.inits.append(s)
            if s.kind == "annotated":
                self.declare(s.body)
                if s.when == "init":
                    self.inits.append(s)
            for body in bodies_of(s):
                self.declare(body)

    def prepare(self, script):
        self.declare(self.probe.body)
        self.used = set(self.probe.bounds)
        names_in(self.probe.predicate, self.used)
        for s in self.probe.body:
            names_in(s, self.used)
        self.used -= set(self.vars)
        self.used -= set(script.vars)
        typer = sc.Typer(sc.Scope({**script.vars, **self.vars}, self.names.get, script.fns, script.consts))
        if self.probe.predicate:
            typer.want(self.probe.predicate, "bool")
        typer.body(self.probe.body)

    def exists(self, site, types):
        """Whether operands, results and locals are there, with types that fit."""
        for name in self.used:
            family = name.rstrip("0123456789")
            if family == name or family not in ("arg", "res", "local", "global", "imm"):
                continue
            n = int(name[len(family):])
            if family == "imm":
                if site.immediate(n) is None:
                    return False
                continue
            if family == "local":
                found = site.f.local_types()
            elif family == "global":
                found = [t for t, _ in site.p.globals]
            elif self.event == "func:exit":
                found = [site.f.result] if site.f.result and family == "res" else []
            else:
                found = list(reversed(types[0] if family == "arg" else types[1]))
            if n >= len(found) or found[n] != WASM_OF.get(self.names.get(name), "i32"):
                return False
        return True


def names_in(node, out):
    if isinstance(node, (list, tuple)):
        for x in node:
            names_in(x, out)
    elif isinstance(node, sc.Node):
        if node.kind in ("name", "index", "field", "method"):
            out.add(node.name)
        for x in vars(node).values():
            if isinstance(x, (list, tuple, sc.Node)):
                names_in(x, out)


def alternatives(pattern, name):
    return any(fnmatch.fnmatchcase(name.lower(), part.lower()) for part in pattern.split("|"))


def expand(script):
    """Variants in the order of the tables, numbered over the whole script."""
    out = []
    for probe in script.probes:
        parts = probe.parts
        if len(parts) == 2:
            if parts[1] in ("report", "begin", "end", "edge"):
                out.append(Variant(probe, len(out), parts[1]))
            continue
        for package, event in (("func", "entry"), ("func", "exit"), ("block", "start"), ("block", "end")):
            if len(parts) == 3 and alternatives(parts[1], package) and alternatives(parts[2], event):
                out.append(Variant(probe, len(out), f"{package}:{event}"))
        if len(parts) != 4 or not alternatives(parts[1], "opcode"):
            continue
        for op in OPS.values():
            if not alternatives(parts[2], op.name):
                continue
            for mode, internal in op.modes:
                if alternatives(parts[3], mode):
                    out.append(Variant(probe, len(out), "opcode", op, mode, internal))
    return out


def operand_types(program, f):
    """(operands, results) of each instruction of a function, by a walk over the types; there is no dead code."""
    out, stack, heights = [], [], [0]
    local = f.local_types()
    for i, (name, *imms) in enumerate(f.body):
        op = OPS[name]
        operands, results = list(op.operands), list(op.results)
        if name in ("block", "loop", "else", "br", "return", "end"):
            operands, results = [], []
        elif name in ("if", "br_if", "br_table"):
            operands, results = ["i32"], []
        elif name == "call":
            params, result = program.signature(imms[0])
            operands, results = list(params), [result] if result else []
        elif name == "call_indirect":
            operands, results = list(imms[0]) + ["i32"], [imms[1]] if imms[1] else []
        elif name == "drop":
            operands = [stack[-1]]
        elif name == "select":
            operands, results = [stack[-2], stack[-2], "i32"], [stack[-2]]
        elif name.startswith("local"):
            operands = [] if name.endswith("get") else [local[imms[0]]]
            results = [] if name.endswith("set") else [local[imms[0]]]
        elif name.startswith("global"):
            t = program.globals[imms[0]][0]
            operands, results = ([], [t]) if name.endswith("get") else ([t], [])
        operands = ["i32" if t == "at" else t for t in operands]
        results = ["i32" if t == "at" else t for t in results]
        out.append((operands, results))
        del stack[len(stack) - len(operands):]
        stack += results
        if name in ("block", "loop", "if"):
            heights.append(len(stack))
        elif name in ("else", "end"):
            start = f.begin[i] if name == "end" else next(s for s, e in f.orelse.items() if e == i)
            del stack[heights[-1]:]
            if name == "end":
                heights.pop()
                stack += [f.body[start][1]] if start is not None and f.body[start][1] else []
        elif name in ("br", "return", "br_table"):
            del stack[heights[-1]:]
    return out


def destinations(f, i):
    """Where control may go on after instruction i."""
    name, *imms = f.body[i]

    def label(depth):
        to = f.labels[i][-1 - depth]
        return len(f.body) - 1 if to is None else to if f.body[to][0] == "loop" else f.end[to]

    if name == "if":
        return [i + 1, f.orelse[i] + 1 if i in f.orelse else f.end[i]]
    if name == "else":
        return [f.end[f.labels[i][-1]]]
    if name in ("br", "br_if"):
        return [label(imms[0])] + ([i + 1] if name == "br_if" else [])
    if name == "br_table":
        return [label(depth) for depth in list(imms[0]) + [imms[1]]]
    return [] if name == "return" or i == len(f.body) - 1 else [i + 1]


def blocks(f):
    """Basic blocks as (first, last) instructions: what can be reached, entered at the first and left after the last."""
    starts, reached, todo = {0}, set(), [0]
    while todo:
        i = todo.pop()
        if i in reached:
            continue
        reached.add(i)
        todo += destinations(f, i)
    for i, instr in enumerate(f.body):
        jumps = instr[0] in ("if", "else", "br", "br_if", "br_table", "return")
        starts |= {i + 1} if jumps else {i} if instr[0] == "loop" else set()
        if jumps and i in reached:
            starts |= set(destinations(f, i))
    order = sorted(s for s in starts if s < len(f.body))
    return [(a, b - 1) for a, b in zip(order, order[1:] + [len(f.body)]) if a in reached]


# ---- a run ----


class Visit(Evaluator):
    """One execution of a probe's body."""

    def __init__(self, run, variant, site, frame, operands, results):
        self.run, self.v, self.site, self.frame = run, variant, site, frame
        self.operands, self.results = operands, results
        self.fns, self.consts = run.script.fns, run.script.consts
        self.locals = {}
        for name, (word, _) in variant.words.items():
            if word == "local":
                self.locals[name] = zero(variant.vars[name])

    def variable(self, name):
        v = self.v
        if name not in v.vars:
            return (self.run.globals, name) if name in self.run.globals else None
        word = v.words[name][0]
        if word == "local":
            return self.locals, name
        if word == "frame":
            self.frame.own.setdefault(name, zero(v.vars[name]))
            return self.frame.own, name
        if word == "shared" or not self.site:
            return self.run.shared, (id(v.origin), name)
        return self.run.sites, (v.number, self.site.fid, self.site.i, name)

    def map_type(self, name):
        return self.v.vars.get(name) or self.run.script.vars[name]

    def do_var(self, s):
        if self.v.words[s.name][0] == "local":
            self.locals[s.name] = self.value(s.init) if s.init else zero(s.type)

    def place(self, name):
        """(list, index) of an operand, result, local or global."""
        family = name.rstrip("0123456789")
        n = int(name[len(family):])
        if family == "local":
            return self.frame.locals, n
        if family == "global":
            return self.run.machine.globals, n
        values = self.operands if family == "arg" else self.results
        return values, len(values) - 1 - n

    def bound(self, e):
        if e.name in self.v.static:
            return static_name(self.site, self.v, e)
        family = e.name.rstrip("0123456789")
        if family != e.name and family in ("arg", "res", "local", "global"):
            values, n = self.place(e.name)
            return from_wasm(self.v.names[e.name], values[n])
        if e.name == "from":
            f, before = self.site.f, self.frame.previous
            return next(f.pc[first] for first, last in blocks(f) if first <= before <= last)
        top = self.operands[-1] if self.operands else None
        if e.name == "taken":
            return True if self.site.op.name == "br" else top != 0
        if e.name in ("addr", "effective_addr"):
            at = self.operands[0]
            return at if e.name == "addr" else sc.reduce_int("u32", at + self.site.instr[2])
        if e.name == "target":
            n = len(self.site.instr[1])
            return min(top, n)
        if e.name == "failed":
            return self.results[-1] == 0xFFFFFFFF
        if e.name in ("table_entry_idx", "resolved_fid"):
            if e.name == "table_entry_idx":
                return sc.reduce_int("i32", top)
            fid = self.run.program.table[top] if top < len(self.run.program.table) else None
            return -1 if fid is None else fid
        raise Bad(e.name)

    def bound_set(self, name, value, t):
        values, n = self.place(name)
        values[n] = to_wasm(t, value)


class Static(Evaluator):
    """What is known of a site before the program runs."""

    def __init__(self, run, variant, site):
        self.run, self.v, self.site, self.consts = run, variant, site, run.script.consts

    def variable(self, name):
        return ({name: UNKNOWN}, name) if name in self.v.vars or name in self.run.script.vars else None

    def bound(self, e):
        if e.name == "taken" and self.site.op.name == "br":
            return True
        return static_name(self.site, self.v, e) if e.name in self.v.static else UNKNOWN

    def is_static(self, e):
        if e.kind == "call" or (e.kind in ("name", "index", "field", "method") and not self.is_known(e.name)):
            return False
        return all(map(self.is_static, getattr(e, "args", [])))

    def is_known(self, name):
        known = name in self.v.static or (name == "taken" and self.site.op.name == "br")
        return name in self.consts or (known and not self.variable(name))

    def eval_binary(self, e):
        """Only && and || (and !) are decided by a part of what they are made of."""
        return super().eval_binary(e) if e.op in ("&&", "||") or self.is_static(e) else UNKNOWN

    def eval_cast(self, e):
        return super().eval_cast(e) if self.is_static(e) else UNKNOWN

    def eval_call(self, e):
        return UNKNOWN


class Constants(Static):
    """What is known without a site."""

    def is_known(self, name):
        return name in self.consts

    def bound(self, e):
        return UNKNOWN


class Run(wasm.Listener):
    """The script over a program. rows() after run() are those of the report. In a monitor wasm:begin comes before sites are found."""

    def __init__(self, script, program, monitor=False):
        self.script, self.program, self.monitor = script, program, monitor
        self.globals, self.shared, self.sites, self.depth = {}, {}, {}, 0
        self.lines, self.printed, self.left_out, self.ended = [], {}, {}, None
        self.machine = None
        self.at = {}  # (kind, fid, instruction): [(variant, site, dynamic predicate or not)]
        self.rows_of = []  # (variant, site or None, variable)
        self.check_script()
        self.variants = expand(script)
        for v in self.variants:
            v.prepare(script)
        self.start()

    def check_script(self):
        s = self.script
        for st in s.init:
            if st.kind == "const":
                st.init.type = sc.Typer(sc.Scope({}, lambda n: None, {}, {})).want(st.init, st.type)
                s.consts[st.name] = st.init
            elif st.kind == "var":
                s.vars[st.name] = st.type
                self.globals[st.name] = zero(st.type)
        typer = sc.Typer(sc.Scope(dict(s.vars), lambda n: None, s.fns, s.consts))
        typer.body([st for st in s.init if st.kind != "const"])
        self.fn_types = {}
        for fn in s.fns.values():
            scope = sc.Scope({**s.vars, **dict(fn.params)}, lambda n: None, s.fns, s.consts)
            sc.Typer(scope).body(fn.body, fn.result)
            self.fn_types[fn.name] = scope.vars

    def call_fn(self, name, args):
        fn = self.script.fns[name]
        self.depth += 1
        if self.depth > 50:
            raise Trap
        a = Activation(self, self.fn_types[name], {p: x for (p, _), x in zip(fn.params, args)})
        for var, t in self.fn_types[name].items():
            if var not in self.script.vars:
                a.locals.setdefault(var, zero(t))
        try:
            a.execute(fn.body)
        except Leave as leave:
            return leave.args[0]
        finally:
            self.depth -= 1
        return None

    def read(self, name, memory, at):
        """A number of the program's memory, which is there only for what is not a monitor."""
        t = sc.READS[name]
        n = int(t[1:]) // 8
        code = self.machine.memory[at:at + n] if not self.monitor and memory == 0 else b""
        return int.from_bytes(code, "little", signed=t[0] == "i") if len(code) == n else 0

    # -- before the program --

    def places(self, v):
        """(instruction, count) of the places of an event in each function, in order."""
        p = self.program
        for k, f in enumerate(p.funcs):
            fid = len(p.imports) + k
            if v.event == "func:entry":
                yield Site(p, fid, 0)
            elif v.event == "func:exit":
                yield Site(p, fid, len(f.body) - 1)
            elif v.op:
                for i, instr in enumerate(f.body):
                    if instr[0] == v.op.name:
                        yield Site(p, fid, i)
            elif v.event.startswith("block") or v.event == "edge":
                for first, last in blocks(f):
                    yield Site(p, fid, last if v.event == "block:end" else first, last - first + 1)

    def early(self, act, *args):
        """Does what comes before the program, unless the script has ended it."""
        try:
            return None if self.ended else act(*args)
        except Ended as end:
            self.ended = end.args[0]
            return None

    def start(self):
        self.early(Activation(self, {}).execute, self.script.init)
        found = []
        types = [operand_types(self.program, f) for f in self.program.funcs]
        for v in self.variants:
            if v.event in ("begin", "end", "report"):
                for s in v.inits:
                    if s.kind == "var" and v.words[s.name][0] != "local":
                        self.shared[id(v.origin), s.name] = zero(s.type)
                continue
            for site in self.places(v):
                if not v.exists(site, types[site.fid - len(self.program.imports)][site.i]):
                    continue
                decided = Static(self, v, site).value(v.probe.predicate) if v.probe.predicate else True
                if decided is not UNKNOWN and not decided:
                    continue
                found.append((v, site, decided is UNKNOWN))
            for name, (word, report) in v.words.items():
                if word == "shared":
                    self.shared[id(v.origin), name] = zero(v.vars[name])
        for v in self.variants:
            for s in v.inits:
                word = v.words[s.name][0] if s.kind == "var" else ""
                if word and s.init and (word == "shared" or (word == "unshared" and v.event in ("begin", "end", "report"))):
                    self.early(self.set, self.shared, (id(v.origin), s.name), Visit(self, v, None, None, None, None), s)
                elif s.kind == "annotated" and v.event in ("begin", "end", "report"):
                    self.early(Visit(self, v, None, None, None, None).annotated, [s], "init")
        found.sort(key=lambda x: (x[1].fid, x[1].i, x[0].number))
        self.found = found
        if self.monitor:
            self.early(self.nowhere, "begin")
        for v, site, dynamic in found:
            kind = v.event if not v.op else v.internal
            self.at.setdefault((kind, site.fid, site.i), []).append((v, site, dynamic))
            visit = Visit(self, v, site, None, None, None)
            for s in v.inits:
                if s.kind == "annotated":
                    self.early(visit.annotated, [s], "init")
                elif v.words[s.name][0] == "unshared":
                    key = (v.number, site.fid, site.i, s.name)
                    self.sites[key] = zero(s.type)
                    if s.init:
                        self.early(self.set, self.sites, key, visit, s)
                    if v.words[s.name][1]:
                        self.rows_of.append((v, site, s.name))
        if not self.monitor:
            self.early(self.nowhere, "begin")

    def set(self, values, key, visit, s):
        values[key] = visit.value(s.init)

    def nowhere(self, event):
        for v in self.variants:
            if v.event == event:
                self.execute(Visit(self, v, None, None, None, None))

    def execute(self, visit):
        try:
            visit.execute(visit.v.probe.body)
        except Leave:
            pass

    # -- while it runs --

    def fire(self, kind, frame, i, operands=None, results=None):
        for v, site, dynamic in self.at.get((kind, frame.fid, i), ()):
            visit = Visit(self, v, site, frame, operands, results)
            if not dynamic or visit.value(v.probe.predicate):
                self.execute(visit)

    def first(self, frame):
        if self.monitor:
            self.fire("func:entry", frame, 0)

    def before(self, frame, i):
        n = len(self.types(frame)[i][0])
        operands = frame.stack[len(frame.stack) - n:] if n else []
        if ("before", frame.fid, i) in self.at:
            self.fire("before", frame, i, operands)
            frame.stack[len(frame.stack) - n:] = operands
        self.fire("block:start", frame, i)
        if hasattr(frame, "previous"):
            self.fire("edge", frame, i)
        frame.previous = i
        self.fire("block:end", frame, i)
        if frame.func.body[i][0] in ("br", "br_if", "br_table"):
            frame.saved = list(operands)

    def types(self, frame):
        cache = self.__dict__.setdefault("cache", {})
        if frame.fid not in cache:
            cache[frame.fid] = operand_types(self.program, frame.func)
        return cache[frame.fid]

    def enter(self, frame):
        if not self.monitor:
            self.fire("func:entry", frame, 0)

    def leave(self, frame, i):
        results = frame.stack[-1:] if frame.func.result else []
        self.fire("func:exit", frame, len(frame.func.body) - 1, None, results)
        if results:
            frame.stack[-1:] = results

    def after(self, frame, i, operands):
        n = len(self.types(frame)[i][1])
        results = frame.stack[len(frame.stack) - n:] if n else []
        if ("after", frame.fid, i) in self.at:
            self.fire("after", frame, i, list(operands), results)
            frame.stack[len(frame.stack) - n:] = results
        if frame.func.body[i][0] == "br_if":  # at_target runs where it falls through, too
            self.fire("semantic_after", frame, i, frame.saved)

    def inside(self, frame, i):
        self.fire("entry", frame, i)

    def close(self, frame, i):
        self.fire("exit", frame, i)

    def landed(self, frame, i):
        self.fire("semantic_after", frame, i, frame.saved)

    def behind(self, frame, i, branch):
        """What ends here, and the branch, are in the order of the program."""
        places = {i: None, frame.func.orelse.get(i, i): None}
        for place, operands in sorted({**places, **({} if branch is None else {branch: frame.saved})}.items()):
            self.fire("semantic_after", frame, place, operands)

    # -- the report --

    def run(self):
        self.machine = machine = wasm.Machine(self.program, self)
        if self.monitor:
            self.lines = []  # what was printed when it was attached
        self.early(machine.run)
        self.nowhere("end")
        for event in ("begin", "end", "report"):
            for v in self.variants:
                if v.event == event:
                    Visit(self, v, None, None, None, None).annotated(v.probe.body, "exit")
        for v, site, _ in self.found:
            Visit(self, v, site, None, None, None).annotated(v.probe.body, "exit")
        Activation(self, {}).annotated(self.script.init, "exit")
        self.lines += [b"whammc: lines that the limit of 'print' in line %d of the script left out: %d" % (line, n)
                       for (line, _), n in sorted(self.left_out.items())]
        return machine

    def rows(self):
        """Rows without ids; None: there is no report."""
        out = []
        site_rows = [(order_of(v.vars[name]), site.fid, site.i, v.rank(), v.number, k, v, site, name)
                     for k, (v, site, name) in enumerate(self.rows_of)]
        for *_, v, site, name in sorted(site_rows, key=lambda r: r[:6]):
            t = v.vars[name]
            value = self.sites[v.number, site.fid, site.i, name]
            fname = self.program.shown(site.fid)
            out.append(["memaddr", name, sc.type_text(t), wasm_text(t), "script0", fname, str(site.fid),
                        str(0 if v.event == "func:entry" else site.f.pc[site.i]),
                        f"{v.number}_{v.rule}", text(t, value)])
        shared = [(v, name) for v in self.variants if self.alive(v)
                  for name, (word, report) in v.words.items()
                  if report and (word == "shared" or v.event in ("begin", "end")) and v is self.first_of(v)]
        for v, name in shared:
            t = v.vars[name]
            out.append(["memaddr", name, sc.type_text(t), wasm_text(t), "script0", "", "", "", f"{v.number}_{v.written(self.variants)}",
                        text(t, self.shared[id(v.origin), name])])
        reported = [s for s in self.script.init if s.kind == "var" and "report" in s.words]
        for s in sorted(reported, key=lambda s: (sc.stored(s.type)[0] == "map", s.name)):
            kind = "map_id" if sc.stored(s.type)[0] == "map" else "global_id"
            if s.type == "str" or sc.stored(s.type)[0] == "tuple":
                kind = "(" + "; ".join([kind] * len(wasm_types(s.type))) + ")"
            out.append([kind, s.name, sc.type_text(s.type), wasm_text(s.type), "script0", "", "", "", "",
                        text(s.type, self.globals[s.name])])
        return out

    def first_of(self, v):
        return next(u for u in self.variants if u.origin is v.origin)

    def alive(self, v):
        """Whether literals and constants alone do not make the predicate false: then it is as if the probe were not there."""
        predicate = v.probe.predicate
        return not predicate or v.event in ("begin", "end") or Constants(self, v, None).value(predicate) is not False


def order_of(t):
    t = sc.stored(t)
    if isinstance(t, str):
        return (GROUPS.index(t), "")
    return (len(GROUPS), sc.type_text(t)) if t[0] == "tuple" else (len(GROUPS) + 1, "")


def wasm_types(t):
    t = sc.stored(t)
    if isinstance(t, tuple) and t[0] == "tuple":
        return [w for x in t[1:] for w in wasm_types(x)]
    if t == "str":
        return ["i32", "i32"]
    return [WASM_OF.get(t, "i32")] if isinstance(t, str) else ["i32"]


def wasm_text(t):
    types, t = wasm_types(t), sc.stored(t)
    return types[0] if len(types) == 1 and not (isinstance(t, tuple) and t[0] == "tuple") else "(" + "; ".join(types) + ")"


def float_text(t, x):
    if x != x:
        return "NaN"
    if math.isinf(x):
        return "+inf" if x > 0 else "-inf"
    for digits in range(17):
        # of two that are equally near the larger one, as Rust does
        nearest = decimal.Context(prec=digits + 1, rounding=decimal.ROUND_HALF_UP).create_decimal(x)
        shown = f"{nearest:+.{digits}e}"
        if (wasm.single(float(shown)) if t == "f32" else float(shown)) == x:
            break
    mantissa, exponent = shown.split("e")
    return f"{mantissa}e{int(exponent)}"


def printed(t, x, how):
    """A value as `print` writes it, in bytes."""
    align, prefix, zeros, width, digits, letter = re.fullmatch(r"([<>^]?)(#?)(0?)([0-9]*)(?:\.([0-9]+))?(.?)", how).groups()
    if isinstance(t, tuple):
        return b"(" + b", ".join(printed(u, y, "") for u, y in zip(t[1:], x)) + b")"
    if t == "str":
        out = x.decode("utf-8", "surrogateescape")
        if letter:
            out = '"' + "".join({"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}.get(c, c) for c in out) + '"'
    elif t == "bool":
        out = "true" if x else "false"
    elif t in FLOATS:
        out = decimal_text(t, x, digits, letter)
    elif letter:
        sign = f"0{letter.lower()}" if prefix else ""
        out = sign + format(x & ((1 << sc.bits_of(t)) - 1), letter)
        if zeros and not align:
            out = sign + out[len(sign):].rjust(int(width or 0) - len(sign), "0")
    else:
        out = str(x)
    if zeros and not align and not letter or t in FLOATS and zeros and not align:
        out = "-" * (out[0] == "-") + out.lstrip("-").rjust(int(width or 0) - (out[0] == "-"), "0")
    pad = int(width or 0) - len(out)
    left = {"": 0 if t in ("str", "bool") else pad, "<": 0, ">": pad, "^": pad // 2}[align]
    return (" " * left + out + " " * (pad - left)).encode("utf-8", "surrogateescape")


def decimal_text(t, x, digits, letter):
    if x != x:
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if digits:
        out = format(x, f".{digits}{letter or 'f'}")
        return re.sub(r"e(.*)", lambda m: f"e{int(m[1])}", out)
    out = float_text(t, x).lstrip("+")
    mantissa, exponent = out.split("e")
    return f"{decimal.Decimal(out):f}" if not letter and -5 <= int(exponent) < 16 else out


def text(t, x, inside=False):
    t = sc.stored(t)
    if t in FLOATS:
        return float_text(t, x)
    if t == "bool":
        return "true" if x else "false"
    if t == "str":
        return x.decode("utf-8", "surrogateescape")
    if isinstance(t, str):
        return str(x)
    if t[0] == "tuple":
        return "(" + ("," if inside else "; ").join(text(u, y, inside) for u, y in zip(t[1:], x)) + ")"
    items = sorted(x.items.items())
    shown = ";".join(f"{text(t[1], k, True)}->{text(t[2], y, True)}" for k, y in items)
    return "{" + shown + "}" if inside else shown or "empty map"
