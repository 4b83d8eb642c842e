"""Reads the text format of Prometheus, version 0.0.4, strictly: https://prometheus.io/docs/instrumenting/exposition_formats/."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([^ ]+)")
NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|Inf)|NaN")
SUFFIXES = {"counter": [""], "gauge": [""], "summary": ["_sum", "_count"], "histogram": ["_bucket", "_count", "_sum"]}
ESCAPES = {"\\\\": "\\", "\\n": "\n", '\\"': '"'}


def _labels(text):
    labels, at = {}, 0
    while at < len(text):
        m = LABEL.match(text, at)
        if not m or m[1] in labels or m[1].startswith("__"):
            raise ValueError(f"labels: {text!r}")
        labels[m[1]] = re.sub(r"\\.", lambda e: ESCAPES[e[0]], m[2])
        at = m.end()
    return labels


def _check_histogram(name, samples):
    """Buckets are cumulative, in ascending order, and the last one has all."""
    series = {}
    for sample, labels, value in samples:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        of = series.setdefault(rest, {"_bucket": [], "_count": []})
        of[sample[len(name):]].append((float(labels["le"]), value) if "le" in labels else value)
    for rest, of in series.items():
        buckets = of["_bucket"]
        if buckets != sorted(buckets) or len({le for le, _ in buckets}) != len(buckets) or [n for _, n in buckets] != sorted(n for _, n in buckets):
            raise ValueError(f"{name}{rest}: the buckets do not ascend: {buckets}")
        if len(of["_count"]) != 1 or buckets[-1] != (float("inf"), of["_count"][0]):
            raise ValueError(f"{name}{rest}: {buckets[-1]}, but the count is {of['_count']}")


def read(text):
    """The samples by their names: for each its labels and its number. A text that the format does not allow is a ValueError."""
    families, found, seen, current = {}, {}, set(), None
    if text and not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for line in text.split("\n")[:-1]:
        if m := re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.*)", line):
            if m[1] == "HELP":
                if m[2] in families or re.search(r"\\(?![\\n])", m[3].replace("\\\\", "")):
                    raise ValueError(line)
                families[m[2]] = None
            elif families.get(m[2], 0) is not None or m[3] not in SUFFIXES:
                raise ValueError(line)
            else:
                families[m[2]], current = m[3], m[2]
            continue
        m = SAMPLE.fullmatch(line)
        if not m or not NUMBER.fullmatch(m[3]) or current is None:
            raise ValueError(line)
        labels = _labels(m[2] or "")
        if m[1] not in [current + s for s in SUFFIXES[families[current]]] or ("le" in labels) != (m[1] == current + "_bucket"):
            raise ValueError(f"a sample of {current}: {line}")
        series = (m[1], tuple(sorted(labels.items())))
        if series in seen:
            raise ValueError(f"twice: {line}")
        seen.add(series)
        found.setdefault(current, []).append((m[1], labels, float(m[3])))
    samples = {}
    for name, of in found.items():
        if families[name] == "histogram":
            _check_histogram(name, of)
        for sample, labels, value in of:
            if families.get(sample, families[name]) != families[name]:
                raise ValueError(f"{sample} is a sample of two families")
            samples.setdefault(sample, []).append((labels, value))
    return samples
