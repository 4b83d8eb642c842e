"""Results of an experiment, in a CSV file that grows by a row at a time and can be read at any moment, and what they were measured with."""

import collections
import csv
import datetime
import io
import os


class Store:
    """Rows by their key. Columns: those of the key, those of the values, `error`, why there are no values, `rounds`, of which the values
    are medians, `measured`, the day, and `machine`, a number of Machines. The last three are empty in files of before there were these columns."""

    def __init__(self, path, key, values):
        self.path, self.key, self.values = path, tuple(key), tuple(values)
        self.columns = [*self.key, *self.values, "error", "rounds", "measured", "machine"]
        self.rows = {}
        if os.path.exists(path):
            with open(path, newline="", encoding="utf-8") as file:
                text = file.read()
            whole, end, _ = text.rpartition("\n")  # a run that was killed, or a full disk, may have left a part of a row
            reader = csv.DictReader(io.StringIO(whole + end, newline=""), restval="")
            for row in reader:
                self.rows[tuple(row.get(name, "") for name in self.key)] = row
            if reader.fieldnames != self.columns or whole + end != text:
                self._rewrite()

    def _rewrite(self):
        part = self.path + ".part"
        with open(part, "w", newline="", encoding="utf-8") as file:
            self._write(file, self.rows.values())
        os.replace(part, self.path)

    def _write(self, file, rows):
        writer = csv.DictWriter(file, self.columns, restval="", extrasaction="ignore")
        if not file.tell():
            writer.writeheader()
        writer.writerows(rows)

    def has(self, key, retry=False):
        row = self.rows.get(tuple(key))
        return row is not None and not (retry and row["error"])

    def add_all(self, keys, results, rounds, machine):
        """results: for each key the values by name, or a text that says why there are none."""
        rows, today = [], datetime.date.today().isoformat()
        for key, result in zip(keys, results):
            row = dict(zip(self.key, key), error=result if isinstance(result, str) else "", rounds=str(rounds), measured=today,
                       machine=machine)
            row.update({} if isinstance(result, str) else {name: _text(result[name]) for name in self.values if name in result})
            rows.append(row)
            self.rows[tuple(map(str, key))] = row
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            self._write(file, rows)

    def number(self, value, *key):
        """A value as a number; None if it was not measured."""
        row = self.rows.get(tuple(map(str, key)))
        return float(row[value]) if row and row.get(value) not in (None, "") else None

    def column(self, name):
        """What stands in a column of the key, each once, in the order of the file."""
        at = self.key.index(name)
        return list(dict.fromkeys(key[at] for key in self.rows))

    def origins(self):
        """(machine, rounds) -> the days on which these were measured, one for each row; what is not known is empty."""
        found = collections.defaultdict(list)
        for row in self.rows.values():
            if not row["error"]:
                found[row.get("machine") or "", row.get("rounds") or ""].append(row.get("measured") or "")
        return found

    def errors(self):
        return {key: row["error"] for key, row in self.rows.items() if row["error"]}


class Machines:
    """Descriptions of machines and of what is on them, by number: what -> version. A CSV file with the columns machine, what, version."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if os.path.exists(path):
            with open(path, newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    self.known.setdefault(row.get("machine") or "1", {})[row["what"]] = row["version"]

    def number_of(self, description):
        """The number of a machine that is so, as far as both say what is there; of a new one if there is none. A machine may have got more."""
        same = (number for number, known in self.known.items() if all(known.get(what, version) == version for what, version in description.items()))
        number = next(same, str(len(self.known) + 1))
        known = self.known.setdefault(number, {})
        if not description.items() <= known.items():
            known.update(description)
            self._write()
        return number

    def _write(self):
        with open(self.path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["machine", "what", "version"])
            writer.writerows((n, *pair) for n, known in self.known.items() for pair in known.items())


def _text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)
