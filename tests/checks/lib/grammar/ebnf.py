"""The grammar of docs/language.md as a program: it tells whether a text follows it, and makes texts up that do.

It reads tokens where the grammar wants them, so that the context that decides what a token is (a match rule, a tuple's
field) is the grammar's. Each of the grammar's words in capitals without a rule of its own is a kind of token, below.
"""

import re

from ..world import read

BLANK = re.compile(r"(?:[ \t\n]|\r\n)+|//[^\n]*")
OPERATORS = ("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--", "&&", "||", "==", "!=", ">=", "<=", "<<", ">>", "->")

KINDS = {
    "NAME": re.compile(r"[A-Za-z_]\w*(?!\w)", re.A),
    "WORD": re.compile(r"[A-Za-z_]\w*(?!\w)", re.A),
    "AGGREGATION": re.compile(r"(?:count|sum|min|max|avg|stats|hist|lhist|top)(?!\w)", re.A),
    "PATTERN": re.compile(r"[A-Za-z0-9_.*+\\?|!\[\]]+"),
    "DIGITS": re.compile(r"[0-9][0-9_]*"),
    "INTEGER": re.compile(r"(?:0|-?[1-9][0-9_]*|0[xX][0-9A-Fa-f]+|0[bB][01]+)(?!\w|\.(?!\.))", re.A),
    "FLOAT": re.compile(
        r"(?:-?[0-9][0-9_]*(?:\.[0-9]*)?[eE][+-]?[0-9]+|-?[0-9][0-9_]*\.[0-9]*|-(?:[iI][nN][fF]|[nN][aA][nN]))(?![\w.])", re.A
    ),
    "STRING": re.compile(r'"(?:[^"\\]|\\[nrt"\'\\0]|\\x[0-9A-Fa-f]{2}|\\u\{[0-9A-Fa-f]+\})*"'),
}

EXAMPLES = {
    "NAME": ["x", "count", "lib", "arg0", "mapping", "iff", "_a9", "const", "delete", "in", "for", "break"],
    "WORD": ["f", "len", "map", "if", "u32"],
    "AGGREGATION": ["count", "hist", "lhist", "top"],
    "PATTERN": ["wasm", "*load*|*store*", "i32.add", "call", "?f", "[abc]", "before", "9", "if", "a+b\\"],
    "DIGITS": ["0", "1", "12", "1_0", "007"],
    "INTEGER": ["0", "5", "-5", "1_000", "0xFF", "0b01"],
    "FLOAT": ["1.", "2.5", "-2.5", "1e+5", "1.5E-3", "-inf", "-NaN", "00.5"],
    "STRING": ['""', '"a b"', r'"\n\x41\u{1F600}"', '"// no comment"', '"line\nline"'],
}


def grammar_text():
    text = read("docs/language.md")
    return re.search(r"^## Grammar\n.*?^```\n(.*?)^```", text, re.M | re.S)[1]


def reserved_words():
    text = read("docs/language.md")
    return set(re.search(r"These words are reserved:\n\n((?:    .*\n)+)", text)[1].split())


class Grammar:
    """Rules as lists of alternatives, each a list of symbols: ("lit", text), ("kind", name) or ("rule", name)."""

    def __init__(self, text):
        self.rules = {}
        parts = re.split(r"^(\w+) *= ", text, flags=re.M)
        for name, body in zip(parts[1::2], parts[2::2]):
            self.words = re.findall(r'"[^"]*"|\w+|[{}\[\]()|]', body)
            self.rules[name] = self.choice()
            assert not self.words, (name, self.words)
        self.start = parts[1]
        self.reserved = reserved_words()
        used = {s for rule in self.rules.values() for alternative in rule for s in alternative}
        for kind, name in used:
            assert kind != "rule" or name in self.rules or name in KINDS, name
        self.nullable = set()
        before = None
        while before != len(self.nullable):
            before = len(self.nullable)
            self.nullable |= {n for n, r in self.rules.items() if any(all(s[1] in self.nullable and s[0] == "rule" for s in a) for a in r)}

        self.costs = {}
        for _ in self.rules:
            self.costs = {name: min(self.cost(a) for a in rule) for name, rule in self.rules.items()}

    def choice(self):
        alternatives = [self.sequence()]
        while self.words and self.words[0] == "|":
            self.words.pop(0)
            alternatives.append(self.sequence())
        return [tuple(a) for a in alternatives]

    def helper(self, alternatives):
        name = f"({len(self.rules)})"
        self.rules[name] = alternatives
        return ("rule", name)

    def sequence(self):
        symbols = []
        while self.words and self.words[0] not in "|)]}":
            word = self.words.pop(0)
            if word == "(":
                symbols.append(self.helper(self.choice()))
            elif word == "[":
                symbols.append(self.helper([(), *self.choice()]))
            elif word == "{":
                name = f"({len(self.rules)})"
                self.rules[name] = []
                inside = self.choice()
                self.rules[name] = [(), *((("rule", name), *a) for a in inside)]
                symbols.append(("rule", name))
            elif word.startswith('"'):
                symbols.append(("lit", word[1:-1]))
            else:
                symbols.append(("kind" if word in KINDS else "rule", word))
            if word in "([{":
                self.words.pop(0)
        return symbols

    # --- recognising

    def match(self, symbol, text, at):
        """Where a token that begins at `at` ends, or None."""
        kind, what = symbol
        if kind == "lit":
            if not text.startswith(what, at):
                return None
            end = at + len(what)
            if what[0].isalpha():
                return end if not re.match(r"\w", text[end : end + 1], re.A) else None
            longer = any(len(o) > len(what) and text.startswith(o, at) for o in OPERATORS)
            return None if longer and what != ">" else end
        found = KINDS[what].match(text, at)
        if not found:
            return None
        if what == "NAME" and found[0] in self.reserved or what == "PATTERN" and "**" in found[0]:
            return None
        if what == "STRING":
            for code in re.findall(r"(?<!\\)(?:\\\\)*\\u\{([0-9A-Fa-f]+)\}", found[0]):
                if int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF:
                    return None
        return found.end()

    def can_begin(self, symbols, text, at):
        return not symbols or symbols[0][0] == "rule" or self.match(symbols[0], text, at) is not None

    def accepts(self, text):
        """Earley's algorithm over the places at which tokens begin. An item is (rule, symbols, dot, origin)."""
        at = skip_blank(text, 0)
        coming = {at: {(self.start, a, 0, at) for a in self.rules[self.start]}}
        wanting = {}  # place to rule to the items that wait for it there
        while coming:
            at = min(coming)
            items = list(coming.pop(at))
            seen = set(items)
            wants = wanting[at] = {}
            for rule, symbols, dot, origin in items:  # grows
                new = ()
                if dot == len(symbols):
                    new = [(r, s, d + 1, o) for r, s, d, o in wanting[origin].get(rule, ())]
                elif symbols[dot][0] == "rule":
                    name = symbols[dot][1]
                    if name not in wants:
                        wants[name] = []
                        new = [(name, a, 0, at) for a in self.rules[name] if self.can_begin(a, text, at)]
                    wants[name].append((rule, symbols, dot, origin))
                    if name in self.nullable:
                        new = [*new, (rule, symbols, dot + 1, origin)]
                else:
                    end = self.match(symbols[dot], text, at)
                    end = skip_blank(text, end) if end is not None else None
                    if end is not None:
                        coming.setdefault(end, set()).add((rule, symbols, dot + 1, origin))
                for item in new:
                    if item not in seen:
                        seen.add(item)
                        items.append(item)
            if at == len(text):
                return any(i[0] == self.start and i[2] == len(i[1]) for i in seen)
        return False

    # --- making up

    def sentence(self, generator, depth=10):
        words = []
        self.expand(("rule", self.start), generator, depth, words)
        return "".join(word + generator.choice((" ", " ", " ", "\n", " /* c */ ", " // c\n")) for word in words)

    def expand(self, symbol, generator, depth, words):
        kind, what = symbol
        if kind == "lit":
            words.append(what)
        elif kind == "kind":
            words.append(generator.choice(EXAMPLES[what]))
        else:
            alternatives = self.rules[what]
            if depth <= 0:
                least = min(self.cost(a) for a in alternatives)
                alternatives = [a for a in alternatives if self.cost(a) == least]
            for part in generator.choice(alternatives):
                self.expand(part, generator, depth - 1, words)

    def cost(self, symbols):
        """How deep the tree below becomes at least."""
        return max((1 + self.costs.get(s[1], 1000) for s in symbols if s[0] == "rule"), default=0)


def skip_blank(text, at):
    """Past blanks and comments; None in a comment without its end."""
    while at < len(text):
        found = BLANK.match(text, at)
        if found:
            at = found.end()
        elif text.startswith("/*", at):
            depth = 0
            while True:
                mark = re.compile(r"/\*|\*/").search(text, at)
                if not mark:
                    return None
                depth += 1 if mark[0] == "/*" else -1
                at = mark.end()
                if depth == 0:
                    break
        else:
            break
    return at


def scalars(grammar):
    return [symbol[1] for alternative in grammar.rules["scalar"] for symbol in alternative]
