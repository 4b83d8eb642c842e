"""Whamm scripts as trees with types: a scanner, a parser and the typing rules, as docs/language.md has them.

Types are strings ("u32"), ("agg", kind, type of its numbers, parameters, text), ("tuple", type...), ("map", key, value), ("map", "u32", element, length), an array, and ("shadow", element, bytes of a unit).
"""

import re
import struct

INTS = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")
FLOATS = ("f32", "f64")
NUMBERS = INTS + FLOATS
SCALARS = NUMBERS + ("bool", "str", "funcref")
LEVELS = [["&&", "||"], ["|"], ["^"], ["&"], ["==", "!=", ">=", ">", "<=", "<"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "0": "\0"}

TOKEN = re.compile(r"""
    (?P<blank>[ \t\r\n]+|//[^\n]*) |
    (?P<float>(?!-?[0-9][0-9_]*\.\.)-?[0-9][0-9_]*(\.[0-9_]*([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|-inf|-nan) |
    (?P<int>0[xX][0-9a-fA-F]+|0[bB][01]+|-?[0-9][0-9_]*(?![0-9_xXbB])) |
    (?P<name>[A-Za-z_][A-Za-z0-9_]*) |
    (?P<str>"(?:[^"\\]|\\.)*") |
    (?P<op>\.\.|<<=|>>=|[-+*/%&|^]=|\+\+|--|->|&&|\|\||==|!=|>=|<=|<<|>>|[-+*/%&|^!~<>=?:;,.(){}\[\]@])
""", re.X | re.S)
PATTERN = re.compile(r"[A-Za-z0-9_.*+\\?|!\[\]]+")


class Bad(Exception):
    """This is no script, or more than the oracle knows."""


class Node:
    def __init__(self, kind, **fields):
        self.kind = kind
        self.__dict__.update(fields)

    def __repr__(self):
        return f"Node({self.__dict__})"


class Probe:
    def __init__(self, parts, bounds):
        self.parts, self.bounds = parts, bounds
        self.predicate, self.body, self.rule = None, None, None


class Script:
    def __init__(self):
        self.uses, self.consts, self.init, self.fns, self.probes = [], {}, [], {}, []
        self.vars = {}  # at script scope


# ---- reading ----


class Reader:
    def __init__(self, text):
        self.text, self.at = text, 0
        self.previous = None  # kind of the last token
        self.in_predicate = False

    def blank(self):
        while True:
            m = TOKEN.match(self.text, self.at)
            if m and m.lastgroup == "blank":
                self.at = m.end()
            elif self.text.startswith("/*", self.at):
                depth, self.at = 1, self.at + 2
                while depth:
                    m = re.compile(r"/\*|\*/").search(self.text, self.at)
                    if not m:
                        raise Bad("comment")
                    depth += 1 if m[0] == "/*" else -1
                    self.at = m.end()
            else:
                return

    def peek(self):
        """(kind, text) of the next token; a minus belongs to a number only where no operand ends."""
        self.blank()
        if self.at == len(self.text):
            return "end", ""
        m = TOKEN.match(self.text, self.at)
        if not m:
            raise Bad(f"at {self.text[self.at:self.at + 20]!r}")
        kind = next(k for k in ("float", "int", "name", "str", "op") if m.group(k) is not None)
        if (self.previous or m[0] == "-0") and m[0][0] == "-" and kind in ("int", "float"):
            return "op", "--" if m[0].startswith("--") else "-"
        return kind, m[0]

    def next(self):
        kind, text = self.peek()
        self.at += len(text)
        self.previous = kind in ("float", "int", "str") or (kind == "name" and text != "return") or text in (")", "]")
        return kind, text

    def accept(self, text):
        if self.peek()[1] == text and self.peek()[0] != "str":
            self.next()
            return True
        return False

    def expect(self, text):
        if not self.accept(text):
            raise Bad(f"expected {text!r} before {self.text[self.at:self.at + 30]!r}")

    def name(self):
        kind, text = self.next()
        if kind != "name":
            raise Bad(f"expected a name, found {text!r}")
        return text

    # -- types --

    def type(self):
        if self.accept("("):
            fields = []
            while not self.accept(")"):
                fields.append(self.type())
                if not self.accept(","):
                    self.expect(")")
                    break
            return ("tuple", *fields)
        word = self.name()
        if word == "array":
            self.expect("<")
            element = self.type()
            self.expect(",")
            length = int(self.next()[1])
            self.expect(">")
            return ("map", "u32", element, length)
        if word == "map":
            self.expect("<")
            key = self.type()
            self.expect(",")
            value = self.type()
            self.blank()
            if self.text[self.at] != ">":  # `>>` ends two
                raise Bad("expected '>'")
            self.at += 1
            return ("map", key, value)
        if word in AGGREGATES:
            return self.aggregation(word)
        if word not in SCALARS:
            raise Bad(f"type {word}")
        return word

    def aggregation(self, word):
        args = []
        if self.accept("("):
            while not self.accept(")"):
                args.append(int(self.next()[1]) if self.peek()[0] == "int" else self.type())
                self.accept(",")
        text = word + (f"({','.join(a if isinstance(a, str) else type_text(a) if isinstance(a, tuple) else str(a) for a in args)})" if args else "")
        number = args[0] if args and isinstance(args[0], str) else "i64"
        return ("agg", word, args[1] if word == "top" else number, tuple(args), text)

    # -- expressions --

    def expr(self):
        e = self.level(0)
        if self.accept("?"):
            a = self.expr()
            self.expect(":")
            return Node("cond", args=[e, a, self.expr()])
        return e

    def slash_divides(self):
        """In a predicate a slash divides only if an operand follows."""
        rest = Reader(self.text)
        rest.at = self.at + 1
        kind, text = rest.peek()
        return kind not in ("op", "end") or text in ("(", "!", "~", "-", "@")

    def level(self, n):
        if n == len(LEVELS):
            return self.operand()
        e = self.level(n + 1)
        while True:
            kind, text = self.peek()
            if n == 4 and (kind, text) == ("name", "in"):
                self.next()
                e = Node("contains", args=[e], map=self.atom())
                continue
            if kind != "op" or text not in LEVELS[n] or (text == "/" and self.in_predicate and not self.slash_divides()):
                return e
            self.next()
            e = Node("binary", op=text, args=[e, self.level(n + 1)])

    def operand(self):
        self.previous = None
        op = "!" if self.accept("!") else "~" if self.accept("~") else "-" if self.accept("-") else None
        e = self.atom()
        if self.peek() == ("name", "as"):
            self.next()
            e = Node("cast", to=self.type(), args=[e])
        return Node("unary", op=op, args=[e]) if op else e

    def arguments(self):
        outer, self.in_predicate = self.in_predicate, False
        self.expect("(")
        self.previous = None
        args = []
        while not self.accept(")"):
            args.append(self.expr())
            if not self.accept(","):
                self.expect(")")
                break
        self.in_predicate = outer
        return args

    def path(self):
        fields = []
        while self.peek() == ("op", "."):
            save = self.at
            self.next()
            m = re.compile(r"[ \t\r\n]*([0-9][0-9_]*)").match(self.text, self.at)
            if not m:
                self.at = save
                break
            fields.append(int(m[1].replace("_", "")))
            self.at = m.end()
            self.previous = "int"
        return fields

    def atom(self):
        kind, text = self.next()
        if kind == "int":
            return Node("int", value=int(text.replace("_", ""), 0), bits=text[:2].lower() in ("0x", "0b"))
        if kind == "float":
            return Node("float", value=float(text.replace("_", "")))
        if kind == "str":
            return Node("str", value=unescape(text[1:-1]))
        if text == "(":
            self.at -= 1
            args = self.arguments()
            return args[0] if len(args) == 1 else Node("tuple", args=args)
        if text in ("true", "false"):
            return Node("bool", value=text == "true")
        if kind != "name":
            raise Bad(f"operand {text!r}")
        if self.peek() == ("op", "("):
            return Node("call", name=text, args=self.arguments())
        if self.peek() == ("op", "["):
            self.next()
            self.previous = None
            outer, self.in_predicate = self.in_predicate, False
            key = self.expr()
            self.expect("]")
            self.in_predicate = outer
            e = Node("index", name=text, args=[key], path=self.path())
            if self.peek() == ("op", "."):
                self.next()
                return Node("method", name=text, method=self.name(), receiver=e, args=self.arguments())
            return e
        path = self.path()
        if path:
            return Node("field", name=text, path=path, args=[])
        if self.peek() == ("op", "."):
            self.next()
            method = self.name()
            return Node("method", name=text, method=method, args=self.arguments())
        return Node("name", name=text, args=[])

    # -- statements --

    def block(self):
        self.expect("{")
        out = []
        while not self.accept("}"):
            out.append(self.statement())
        return out

    def statement(self):
        self.previous = None
        if self.accept("if"):
            arms = []
            while True:
                self.expect("(")
                condition = self.expr()
                self.expect(")")
                arms.append((condition, self.block()))
                other = self.accept("else")
                if other and not self.accept("if"):
                    return Node("if", arms=arms, orelse=self.block())
                if not other and not self.accept("elif"):
                    return Node("if", arms=arms, orelse=[])
        if self.accept("@"):
            return Node("annotated", when=self.name(), body=self.block())
        if self.accept("while"):
            self.expect("(")
            condition = self.expr()
            self.expect(")")
            return Node("loop", condition=condition, body=self.block())
        if re.match(r"for\s*\(\s*\w+\s+in\b", self.text[self.at:]):
            self.next()
            self.expect("(")
            name = self.name()
            self.next()
            first = self.expr()
            if self.accept(")"):
                return Node("each", names=[name], map=first, body=self.block())
            self.expect("..")
            limit = self.expr()
            self.expect(")")
            return Node("range", name=name, args=[first, limit], body=self.block())
        pair = re.match(r"for\s*\(\s*(\w+)\s*,\s*(\w+)\s+in\b", self.text[self.at:])
        if pair:
            self.at += pair.end()
            self.previous = None
            over = self.expr()
            self.expect(")")
            return Node("each", names=[pair[1], pair[2]], map=over, body=self.block())
        jump = re.match(r"(break|continue)\s*;", self.text[self.at:])
        s = Node(self.name()) if jump else self.simple()
        self.expect(";")
        return s

    def simple(self):
        words = []
        while self.peek()[1] in ("report", "unshared", "shared", "frame") or re.match(r"shadow\s+[A-Za-z_]", self.text[self.at:]):
            words.append(self.name())
        if self.accept("var"):
            name = self.name()
            self.expect(":")
            t = self.type()
            if self.accept("["):
                self.expect("per")
                t = ("shadow", t, int(self.next()[1]))
                self.expect("]")
            return Node("var", name=name, type=t, words=words, init=self.expr() if self.accept("=") else None)
        if re.match(r"const\s+[A-Za-z_]", self.text[self.at:]):
            self.next()
            name = self.name()
            self.expect(":")
            t = self.type()
            self.expect("=")
            return Node("const", name=name, type=t, init=self.expr())
        if self.accept("return"):
            return Node("return", value=None if self.peek()[1] == ";" else self.expr())
        if re.match(r"delete\s+[A-Za-z_]", self.text[self.at:]):
            self.next()
            e = self.atom()
            return Node("delete", map=Node("name", name=e.name, args=[]), args=e.args)
        self.blank()
        place = (self.text.count("\n", 0, self.at) + 1, self.at)
        e = self.atom()
        if e.kind == "call" and e.name in ("print", "trap", "assert", "exit"):
            return self.telling(e, place)
        if self.accept("++"):
            return Node("step", target=e, op="+")
        if self.accept("--"):
            return Node("step", target=e, op="-")
        if self.accept("="):
            return Node("assign", target=e, value=self.expr())
        if self.peek()[1] in UPDATES:
            return Node("update", target=e, op=self.next()[1][:-1], value=self.expr())
        return Node("do", call=e)

    def telling(self, e, place):
        """A call of print, trap, assert or exit."""
        text = e.args[-1]
        parts = [] if e.name == "exit" else parts_of(text.value.decode()) if text.kind == "str" else [(text, "")]
        s = Node(e.name, parts=parts, args=[] if e.name in ("print", "trap") else e.args[:1], place=place, every=None, limit=None)
        for word in ("every", "limit"):
            if self.accept(word):
                setattr(s, word, int(self.next()[1]))
        return s

    def params(self):
        self.expect("(")
        out = []
        while not self.accept(")"):
            name = self.name()
            self.expect(":")
            out.append((name, self.type()))
            if not self.accept(","):
                self.expect(")")
                break
        return out

    def probe(self):
        parts, bounds = [], {}
        while True:
            self.blank()
            m = PATTERN.match(self.text, self.at)
            parts.append(m[0] if m else "")
            self.at = m.end() if m else self.at
            self.previous = None
            if self.peek()[1] == "(":
                bounds.update(self.params())
            if not self.accept(":"):
                break
        p = Probe([part or "*" for part in parts], bounds)
        p.rule = ":".join(parts)
        if self.accept("/"):
            self.in_predicate = True
            self.previous = None
            p.predicate = self.expr()
            self.in_predicate = False
            self.expect("/")
        p.body = self.block()
        return p

    def script(self):
        s = Script()
        while self.peek()[0] != "end":
            kind, text = self.peek()
            rest = self.text[self.at:]
            if text == "use":
                self.next()
                s.uses.append(self.name())
                self.expect(";")
            elif text == "fn":
                self.next()
                name = self.name()
                params = self.params()
                result = self.type() if self.accept("->") else None
                s.fns[name] = Node("fn", name=name, params=params, result=result, body=self.block())
            elif (kind == "op" and text != "@") or re.match(r"[A-Za-z0-9_.*+\\?|!\[\]]+\s*(\([^()]*\)\s*)?:", rest):
                s.probes.append(self.probe())
            else:
                s.init.append(self.statement())
        return s


def parts_of(text):
    """Text, and (expression, format), of what is printed."""
    out, at = [], 0
    while at < len(text):
        if text[at:at + 2] in ("{{", "}}"):
            out.append(text[at])
            at += 2
        elif text[at] == "{":
            end = text.index("}", at)
            inner = text[at + 1:end]
            found = re.fullmatch(r"(.*):([<>^]?#?0?[0-9]*(?:\.[0-9]+)?[xXboe?]?)", inner, re.S)
            out.append((Reader(found[1] if found else inner).expr(), found[2] if found else ""))
            at = end + 1
        else:
            out.append(text[at])
            at += 1
    return out


def unescape(text):
    def one(m):
        if m[1]:
            return chr(int(m[1], 16))
        if m[2]:
            return chr(int(m[2], 16))
        return ESCAPES[m[3]]
    return re.sub(r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|(.))", one, text, flags=re.S).encode()


# ---- types ----


def type_text(t):
    if isinstance(t, str):
        return t
    if len(t) == 4 and t[0] == "map":
        return f"array<{type_text(t[2])},{t[3]}>"
    if t[0] == "agg":
        return t[4]
    inner = ",".join(type_text(x) for x in t[1:])
    return f"({inner})" if t[0] == "tuple" else f"map<{inner}>"


def stored(t):
    """What an aggregation is made of."""
    if isinstance(t, str) or t[0] != "agg":
        return t
    _, kind, number, *_ = t
    fields = {"count": ["u64"], "sum": [number], "min": ["u64", number], "max": ["u64", number], "avg": ["u64", number]}.get(kind)
    if not fields:
        return ("map", number, "u64")
    return fields[0] if len(fields) == 1 else ("tuple", *fields)


def bits_of(t):
    return int(t[1:])


def is_signed(t):
    return t[0] == "i"


def reduce_int(t, x):
    bits = bits_of(t)
    x &= (1 << bits) - 1
    return x - (1 << bits) if is_signed(t) and x >> (bits - 1) else x


def fits(t, x):
    return reduce_int(t, x) == x


class Constant:
    """A static name that takes types of its context: a literal, or the number of an instruction like i32.const."""

    def __init__(self, kind, widens):
        self.kind, self.widens = kind, widens


class Scope:
    """What names mean: variables {name: type}, bound names by a function name -> type or Constant or None."""

    def __init__(self, variables, bound, fns, consts):
        self.vars, self.bound, self.fns, self.consts = variables, bound, fns, consts


UPDATES = ("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
FLEXIBLE = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^")
SHADOW_METHODS = {"fill": ("anv", None), "any": ("an", "bool"), "copy": ("aan", None), "clear": ("", None), "lost": ("", "u64")}
STRING_METHODS = {"len": "u32", "starts_with": "bool", "ends_with": "bool", "contains": "bool", "lists": "bool"}
MAP_METHODS = {"len": "u32", "clear": None}
AGGREGATES = {"count": ["count"], "sum": ["sum"], "min": ["count", "min"], "max": ["count", "max"], "avg": ["count", "sum"],
              "hist": [], "lhist": [], "top": []}  # and their fields



MATH = ("min", "max", "abs", "clz", "ctz", "popcnt")
READS = {f"read_{t}": t for t in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")}


class Typer:
    def __init__(self, scope):
        self.s = scope

    def constant(self, e):
        if e.kind != "name" or e.name in self.s.vars or e.name in self.s.consts:
            return None
        b = self.s.bound(e.name)
        return b if isinstance(b, Constant) else None

    def flexible(self, e):
        """Takes the number type that its place wants."""
        if e.kind in ("int", "float"):
            return True
        if e.kind == "name":
            return self.constant(e) is not None
        if e.kind == "unary":
            return e.op != "!" and self.flexible(e.args[0])
        if e.kind == "binary":
            return e.op in FLEXIBLE and all(map(self.flexible, e.args))
        return e.kind == "cond" and all(map(self.flexible, e.args[1:]))

    def number(self, e):
        """The type of an i32.const or the like in it."""
        if e.kind == "name":
            c = self.constant(e)
            return c.kind if c and c.widens else None
        for arg in e.args[1:] if e.kind == "cond" else getattr(e, "args", []):
            found = self.number(arg)
            if found:
                return found
        return None

    def natural(self, e):
        if self.number(e):
            return self.number(e)
        if e.kind == "int":
            found = next((t for t in ("i32", "i64", "u64") if fits(t, e.value)), None)
            if not found:
                raise Bad("too large")
            return found
        if e.kind == "float":
            return natural_float(e.value)
        if e.kind == "name":
            return self.constant(e).kind
        rank = ["i32", "u16", "u32", "i64", "u64", "f32", "f64"]
        parts = [self.natural(a) for a in (e.args[1:] if e.kind == "cond" else e.args)]
        return max(parts, key=rank.index)

    def two(self, a, b, want):
        if self.flexible(a) and self.flexible(b):
            t = want if want in NUMBERS else self.natural(Node("binary", op="+", args=[a, b]))
            self.check(a, t)
            self.check(b, t)
        elif self.flexible(a):
            self.check(b, want)
            self.check(a, b.type)
        else:
            self.check(a, want)
            self.check(b, a.type)
        if a.type != b.type:
            raise Bad(f"types {a.type} and {b.type}")
        return a.type

    def want(self, e, t):
        if self.check(e, t) != t:
            raise Bad(f"wanted {t}, found {e.type}")
        return t

    def check(self, e, want=None):
        if e.kind in ("unary", "binary", "cond") and want not in NUMBERS and self.flexible(e):
            want = self.natural(e)
        e.type = getattr(self, "type_" + e.kind)(e, want)
        return e.type

    def type_int(self, e, want):
        t = want if want in NUMBERS else self.natural(e)
        if t in INTS:
            negative = e.value < 0 and not is_signed(t) and -e.value <= 1 << (bits_of(t) - 1)
            if not fits(t, e.value) and not negative and not (e.bits and e.value >> bits_of(t) == 0):
                raise Bad(f"{e.value} as {t}")
        return t

    def type_float(self, e, want):
        return want if want in FLOATS else natural_float(e.value)

    def type_bool(self, e, want):
        return "bool"

    def type_str(self, e, want):
        return "str"

    def type_name(self, e, want):
        if e.name in self.s.vars:
            t = self.s.vars[e.name]
            return stored(t) if t[0] == "agg" and t[1] in ("count", "sum") else t
        if e.name in self.s.consts:
            return self.s.consts[e.name].type
        b = self.s.bound(e.name)
        if b is None:
            raise Bad(f"unknown name {e.name}")
        if not isinstance(b, Constant):
            return b
        if want not in NUMBERS:
            return b.kind
        if not b.widens:
            return want
        wider = (want in FLOATS) == (b.kind in FLOATS) and bits_of(want) >= bits_of(b.kind)
        return want if wider else b.kind

    def follow(self, t, path):
        for n in path:
            if isinstance(t, str) or t[0] != "tuple" or n + 1 >= len(t):
                raise Bad("path")
            t = t[1 + n]
        return t

    def type_field(self, e, want):
        return self.follow(self.type_name(e, None), e.path)

    def type_index(self, e, want):
        t = self.s.vars.get(e.name) or self.s.bound(e.name)
        if t and t[0] == "shadow":
            self.address(e.args[0])
            return self.follow(t[1], e.path)
        if not t or t[0] != "map":
            raise Bad(f"{e.name} is no map")
        self.want(e.args[0], t[1])
        return self.follow(t[2], e.path)

    def address(self, e):
        if self.check(e, "u32" if self.flexible(e) else None) not in ("u32", "i32", "u64", "i64"):
            raise Bad("address")

    def type_unary(self, e, want):
        t = self.check(e.args[0], want if e.op != "!" else None)
        if (t != "bool") if e.op == "!" else (t not in (NUMBERS if e.op == "-" else INTS)):
            raise Bad("operand of " + e.op)
        return t

    def type_binary(self, e, want):
        a, b = e.args
        if e.op in ("&&", "||"):
            self.want(a, "bool")
            self.want(b, "bool")
            return "bool"
        compares = e.op in LEVELS[4]
        t = self.two(a, b, None if compares else want)
        ok = (t in NUMBERS or (t in ("bool", "str") and e.op in ("==", "!="))) if compares else \
            t in NUMBERS if e.op in ("+", "-", "*", "/", "%") else t in INTS
        if not ok:
            raise Bad(f"{e.op} of {t}")
        return "bool" if compares else t

    def type_cast(self, e, want):
        a = e.args[0]
        t = self.check(a, e.to if e.to in FLOATS and self.flexible(a) else None)
        if t not in NUMBERS + ("bool",) or e.to not in NUMBERS + ("bool",):
            raise Bad("cast")
        return e.to

    def type_cond(self, e, want):
        self.want(e.args[0], "bool")
        return self.two(e.args[1], e.args[2], want)

    def type_tuple(self, e, want):
        fields = want[1:] if want and want[0] == "tuple" and len(want) == len(e.args) + 1 else [None] * len(e.args)
        return ("tuple", *[self.check(a, w) for a, w in zip(e.args, fields)])

    def type_math(self, e, want):
        t = self.two(*e.args, want) if e.name in ("min", "max") else self.check(e.args[0], want)
        if t not in (NUMBERS if e.name in ("min", "max") else FLOATS + INTS[1::2] if e.name == "abs" else INTS):
            raise Bad(f"{e.name} of {t}")
        return t

    def type_call(self, e, want):
        if e.name in MATH and e.name not in self.s.fns:
            e.kind = "math"
            return self.type_math(e, want)
        if e.name in READS:
            for arg in e.args:
                self.want(arg, "u32")
            return READS[e.name]
        fn = self.s.fns.get(e.name)
        if not fn or len(fn.params) != len(e.args):
            raise Bad(f"call of {e.name}")
        for arg, (_, t) in zip(e.args, fn.params):
            self.want(arg, t)
        return fn.result

    def type_method(self, e, want):
        shadow = self.s.vars.get(e.name)
        if shadow and shadow[0] == "shadow":
            params, result = SHADOW_METHODS[e.method]
            if len(params) != len(e.args):
                raise Bad(f"{e.name}.{e.method}")
            for k, arg in enumerate(e.args):
                self.want(arg, shadow[1]) if e.method == "fill" and k == 2 else self.address(arg)
            return result
        e.receiver = getattr(e, "receiver", None) or Node("name", name=e.name, args=[])
        t = self.check(e.receiver) if e.receiver.kind == "index" or not shadow or shadow[0] != "agg" else shadow
        if t[0] == "agg":
            return self.type_aggregation(e, t)
        if t[0] == "map" and e.method in MAP_METHODS and not e.args:
            return MAP_METHODS[e.method]
        if t != "str" or e.method not in STRING_METHODS:
            raise Bad(f"{e.name}.{e.method}")
        for arg in e.args:
            self.check(arg) if e.method == "lists" else self.want(arg, "str")
        return STRING_METHODS[e.method]

    def type_aggregation(self, e, t):
        _, kind, number, *_ = t
        e.of = t
        if e.method in AGGREGATES[kind]:
            e.kind, e.path = "aggregate", [AGGREGATES[kind].index(e.method)]
            return stored(t)[1 + e.path[0]]
        e.kind = "added" if e.method == "add" else "emptied"
        for k, arg in enumerate(e.args):
            wanted = "u64" if k else number
            t = self.check(arg, wanted if self.flexible(arg) else None)
            fits_in = t == wanted or (t in NUMBERS if wanted == "f64" else t in INTS and is_signed(wanted) >= is_signed(t) and
                                      (t != "u64" or wanted == "u64"))
            if kind == "top" and not k:
                fits_in = t == wanted
            if not fits_in:
                raise Bad(f"{kind} of {t}")
        return None

    def type_contains(self, e, want):
        t = self.check(e.map)
        if t[0] != "map":
            raise Bad("in")
        self.want(e.args[0], t[1])
        return "bool"

    # -- statements --

    def body(self, statements, result=None):
        for s in statements:
            if s.kind == "var":
                self.s.vars[s.name] = s.type
                if s.init:
                    self.want(s.init, s.type)
            elif s.kind == "assign":
                self.want(s.value, self.check(s.target))
            elif s.kind == "update":
                self.want(s.value, self.check(s.target))
                if s.target.type not in (NUMBERS if s.op in ("+", "-", "*", "/", "%") else INTS):
                    raise Bad("update")
            elif s.kind == "step":
                if self.check(s.target) not in NUMBERS:
                    raise Bad("step")
            elif s.kind == "if":
                for condition, body in s.arms:
                    self.want(condition, "bool")
                    self.body(body, result)
                self.body(s.orelse, result)
            elif s.kind == "annotated":
                self.body(s.body)
            elif s.kind == "return" and s.value:
                self.want(s.value, result)
            elif s.kind == "loop":
                self.want(s.condition, "bool")
                self.body(s.body, result)
            elif s.kind == "each":
                t = self.check(s.map)
                if t[0] != "map":
                    raise Bad("for")
                outer = dict(self.s.vars)
                for name, of in zip(s.names, t[1:]):
                    self.s.vars[name] = of
                self.body(s.body, result)
                for name in s.names:
                    del self.s.vars[name]
                    if name in outer:
                        self.s.vars[name] = outer[name]
            elif s.kind == "range":
                s.type = self.two(*s.args, None)
                outer = self.s.vars.get(s.name)
                self.s.vars[s.name] = s.type
                self.body(s.body, result)
                del self.s.vars[s.name]
                if outer:
                    self.s.vars[s.name] = outer
            elif s.kind == "delete":
                self.type_contains(s, None)
            elif s.kind in ("print", "trap", "assert", "exit"):
                for arg in s.args:
                    self.want(arg, "bool" if s.kind == "assert" else "i32")
                for part in s.parts:
                    if not isinstance(part, str):
                        self.check(part[0])
            elif s.kind == "do":
                self.check(s.call)


def natural_float(x):
    try:
        struct.pack("<f", x)
        return "f32"
    except OverflowError:
        return "f64"


def read(text):
    """A script whose tree has no types yet."""
    return Reader(text).script()
