"""Results of an experiment, in a CSV file that grows by a row at a time and can be read at any moment."""

import collections
import csv
import os


class Store:
    """Rows by their key. Columns: those of the key, those of the values, `error`, why there are no values, and `rounds`, of which the values
    are medians; empty in files of before there was this column."""

    def __init__(self, path, key, values):
        self.path, self.key, self.values = path, tuple(key), tuple(values)
        self.columns = [*self.key, *self.values, "error", "rounds"]
        self.rows = {}
        if os.path.exists(path):
            with open(path, newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file, restval="")
                for row in reader:
                    self.rows[tuple(row.get(name, "") for name in self.key)] = row
            if reader.fieldnames != self.columns:
                self._write(self.rows.values(), "w")

    def _write(self, rows, mode):
        new = mode == "w" or not os.path.exists(self.path)
        with open(self.path, mode, newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns, restval="", extrasaction="ignore")
            if new:
                writer.writeheader()
            writer.writerows(rows)

    def has(self, key, retry=False):
        row = self.rows.get(tuple(key))
        return row is not None and not (retry and row["error"])

    def add_all(self, keys, results, rounds):
        """results: for each key the values by name, or a text that says why there are none."""
        rows = []
        for key, result in zip(keys, results):
            row = dict(zip(self.key, key), error=result if isinstance(result, str) else "", rounds=str(rounds))
            row.update({} if isinstance(result, str) else {name: _text(result[name]) for name in self.values if name in result})
            rows.append(row)
            self.rows[tuple(map(str, key))] = row
        self._write(rows, "a")

    def number(self, value, *key):
        """A value as a number; None if it was not measured."""
        row = self.rows.get(tuple(map(str, key)))
        return float(row[value]) if row and row.get(value) not in (None, "") else None

    def column(self, name):
        """What stands in a column of the key, each once, in the order of the file."""
        at = self.key.index(name)
        return list(dict.fromkeys(key[at] for key in self.rows))

    def programs_by_rounds(self):
        """How many programs were measured in how many rounds, where that is known; the most rounds of a program count."""
        rounds = {}
        for row in self.rows.values():
            if row.get("rounds"):
                rounds[row["program"]] = max(int(row["rounds"]), rounds.get(row["program"], 0))
        return collections.Counter(rounds.values())

    def errors(self):
        return {key: row["error"] for key, row in self.rows.items() if row["error"]}


def _text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)
