"""Results of an experiment, in a CSV file that grows by a row at a time and can be read at any moment."""

import csv
import os


class Store:
    """Rows by their key. Columns: those of the key, those of the values, and `error`, why there are no values."""

    def __init__(self, path, key, values):
        self.path, self.key, self.values = path, tuple(key), tuple(values)
        self.rows = {}
        if os.path.exists(path):
            with open(path, newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    self.rows[tuple(row.get(name, "") for name in self.key)] = row

    def has(self, key, retry=False):
        row = self.rows.get(tuple(key))
        return row is not None and not (retry and row["error"])

    def add_all(self, keys, results):
        """results: for each key the values by name, or a text that says why there are none."""
        new = not os.path.exists(self.path)
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*self.key, *self.values, "error"], restval="")
            if new:
                writer.writeheader()
            for key, result in zip(keys, results):
                row = dict(zip(self.key, key), error=result if isinstance(result, str) else "")
                row.update({} if isinstance(result, str) else {name: _text(result[name]) for name in self.values if name in result})
                writer.writerow(row)
                self.rows[tuple(map(str, key))] = row

    def number(self, value, *key):
        """A value as a number; None if it was not measured."""
        row = self.rows.get(tuple(map(str, key)))
        return float(row[value]) if row and row.get(value) not in (None, "") else None

    def column(self, name):
        """What stands in a column of the key, each once, in the order of the file."""
        at = self.key.index(name)
        return list(dict.fromkeys(key[at] for key in self.rows))

    def errors(self):
        return {key: row["error"] for key, row in self.rows.items() if row["error"]}


def _text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)
