"""Reads profiles of pprof: gzip'd messages of profile.proto. Written from the description of the wire format alone."""

import gzip

# Fields of messages: name, and for what is a message or a list what it is.
FIELDS = {
    "Profile": {1: ("sample_type", "ValueType"), 2: ("sample", "Sample"), 3: ("mapping", "Mapping"), 4: ("location", "Location"),
                5: ("function", "Function"), 6: ("string_table", "texts"), 9: ("time_nanos", None), 10: ("duration_nanos", None),
                11: ("period_type", "ValueType"), 12: ("period", None), 13: ("comment", "numbers"), 14: ("default_sample_type", None)},
    "ValueType": {1: ("type", None), 2: ("unit", None)},
    "Sample": {1: ("location_id", "numbers"), 2: ("value", "numbers"), 3: ("label", "Label")},
    "Label": {1: ("key", None), 2: ("str", None), 3: ("num", None), 4: ("num_unit", None)},
    "Mapping": {1: ("id", None), 2: ("memory_start", None), 3: ("memory_limit", None), 4: ("file_offset", None), 5: ("filename", None),
                6: ("build_id", None), 7: ("has_functions", None), 8: ("has_filenames", None), 9: ("has_line_numbers", None),
                10: ("has_inline_frames", None)},
    "Location": {1: ("id", None), 2: ("mapping_id", None), 3: ("address", None), 4: ("line", "Line")},
    "Line": {1: ("function_id", None), 2: ("line", None), 3: ("column", None)},
    "Function": {1: ("id", None), 2: ("name", None), 3: ("system_name", None), 4: ("filename", None), 5: ("start_line", None)},
}


def _number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _message(data, kind):
    fields, at = FIELDS[kind], 0
    made = {name: [] if what in ("numbers", "texts") or what and name != "period_type" else 0 for name, what in fields.values()}
    while at < len(data):
        key, at = _number(data, at)
        name, what = fields[key >> 3]
        if key & 7 == 0:
            value, at = _number(data, at)
            value = _signed(value)
            if what == "numbers":
                made[name].append(value)
            else:
                assert what is None, name
                made[name] = value
            continue
        assert key & 7 == 2, name
        length, at = _number(data, at)
        part, at = data[at:at + length], at + length
        assert len(part) == length, "the message is cut"
        if what == "texts":
            made[name].append(part.decode("utf-8"))
        elif what == "numbers":
            inner = 0
            while inner < len(part):
                value, inner = _number(part, inner)
                made[name].append(_signed(value))
        elif name == "period_type":
            made[name] = _message(part, what)
        else:
            made[name].append(_message(part, what))
    return made


class Profile:
    """A profile with its texts put in: `types` are (name, unit); `samples` are (stack, values, labels), a stack being a list of places,
    the leaf first, and a place (address, [(function, file, line)]), innermost first."""

    def __init__(self, data):
        raw = _message(gzip.decompress(data), "Profile")
        texts = raw["string_table"]
        assert texts[0] == "" and len(set(texts)) == len(texts)
        functions = {f["id"]: f for f in raw["function"]}
        mappings = {m["id"]: m for m in raw["mapping"]}
        assert 0 not in functions and len(functions) == len(raw["function"]) and 0 not in mappings
        self.raw, self.types = raw, [(texts[t["type"]], texts[t["unit"]]) for t in raw["sample_type"]]
        self.functions = {texts[f["name"]]: (texts[f["system_name"]], texts[f["filename"]], f["start_line"]) for f in raw["function"]}
        self.shown = texts[raw["default_sample_type"]]
        self.comments = [texts[c] for c in raw["comment"]]
        self.programs = [(texts[m["filename"]], texts[m["build_id"]], m["memory_limit"]) for m in raw["mapping"]]
        places = {}
        for location in raw["location"]:
            assert location["id"] and location["line"] and (not location["mapping_id"] or location["mapping_id"] in mappings)
            assert not location["mapping_id"] or location["address"] < mappings[location["mapping_id"]]["memory_limit"]
            places[location["id"]] = (location["address"], [(texts[functions[line["function_id"]]["name"]],
                                                             texts[functions[line["function_id"]]["filename"]], line["line"])
                                                            for line in location["line"]])
        self.samples = []
        for sample in raw["sample"]:
            assert len(sample["value"]) == len(self.types) and any(sample["value"])
            labels = {texts[label["key"]]: texts[label["str"]] for label in sample["label"]}
            self.samples.append(([places[i] for i in sample["location_id"]], sample["value"], labels))

    def column(self, name):
        return [kind for kind, _ in self.types].index(name)

    def self_of(self, name, inlined=True):
        """Sums of a value by the function at the leaf; without `inlined` by that of the program around it."""
        sums, column = {}, self.column(name)
        for stack, values, _ in self.samples:
            function = stack[0][1][0 if inlined else -1][0]
            sums[function] = sums.get(function, 0) + values[column]
        return {function: n for function, n in sums.items() if n}
