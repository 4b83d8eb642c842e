"""The page of results: Markdown with tables, and plots as SVG beside it."""

import os
import sys

COLOURS = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0", "#1b4d3e", "#7a1f3d", "#c9c12b"]
HEAD = """# Evaluation

The tables and figures of the papers that whammc is built on, made again: the Whamm paper (*Debugging WebAssembly? Put some Whamm on it!*, OOPSLA
2025), the thesis on WasmProf, and the articles on call trees and wzprof. `bench/paper` measures and writes this page; `bench/paper --help`
tells how to make one of your own. The numbers are in [{results}]({results}). Ratios are comparable between machines, times are not. The example
of the article on call trees, from its source to flame graphs in three formats, is in the manual's page on profiling.
"""


class Page:
    def __init__(self, path, results):
        folder = os.path.relpath(results, os.path.dirname(os.path.abspath(path)))
        self.plots, self.folder = results, "" if folder == "." else folder + "/"
        self.parts = [HEAD.format(results=folder if folder == "." else folder + "/")]

    @staticmethod
    def number(value):
        if value is None:
            return ""
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 20 else f"{value:.2f}"

    def heading(self, text):
        self.parts.append(f"## {text}\n")

    def text(self, text):
        self.parts.append(text + "\n")

    def programs(self, store):
        names = store.column("program")
        self.text(f"Programs: {', '.join(names)}." if len(names) < 10 else f"{len(names)} programs.")

    remark = text  # what a reader should know of the numbers

    def table(self, head, rows):
        lines = ["| " + " | ".join(map(str, head)) + " |", "|---|" + "---:|" * (len(head) - 1)]
        lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
        self.parts.append("\n".join(lines) + "\n")

    # --- plots -------------------------------------------------------------------------------------------

    def _plot(self, name, draw, alt, size=(10, 4)):
        """draw(axes) makes the picture. Without matplotlib, what is there stays, and a message says so."""
        path = os.path.join(self.plots, name + ".svg")
        try:
            import matplotlib
        except ImportError:
            matplotlib = None
            print(f"{name}.svg is {'as it was' if os.path.exists(path) else 'not made'}: this Python has no matplotlib", file=sys.stderr)
        if matplotlib:
            matplotlib.use("svg")
            matplotlib.rcParams.update({"svg.hashsalt": "whammc", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
            from matplotlib import pyplot
            figure, axes = pyplot.subplots(figsize=size, layout="constrained")
            draw(axes)
            axes.spines[["top", "right"]].set_visible(False)
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
        if os.path.exists(path):
            self.parts.append(f"![{alt}]({self.folder}{name}.svg)\n")

    def bars(self, name, series, groups, unit, log=True):
        """groups: label -> a value or None for each of the series."""
        def draw(axes):
            width = 0.8 / max(len(series), 1)
            for i, label in enumerate(series):
                values = [group[i] for group in groups.values()]
                places = [j + (i - (len(series) - 1) / 2) * width for j in range(len(groups))]
                bottom = 1 if log else 0  # a ratio of less than 1 goes down
                axes.bar(places, [(value or bottom) - bottom for value in values], width, bottom=bottom, label=label, color=COLOURS[i % len(COLOURS)])
            axes.set_xticks(range(len(groups)), list(groups))
            axes.set_ylabel(unit)
            if log:
                axes.set_yscale("log")
                axes.axhline(1, color="black", linewidth=0.6)
            axes.figure.legend(loc="outside upper center", fontsize=7, ncols=len(series) if len(series) < 9 else 4, frameon=False)
        if groups and any(value for group in groups.values() for value in group):
            self._plot(name, draw, f"Bars: {unit} for {', '.join(groups)}")

    def stack(self, name, labels, parts, rows, unit):
        """Horizontal bars, one for each label, made of its parts: rows has a number for each."""
        def draw(axes):
            for i, part in enumerate(parts):
                widths = [row[i] or 0 for row in rows]
                axes.barh(labels, widths, left=[sum(value or 0 for value in row[:i]) for row in rows], height=0.7, label=part,
                          color=COLOURS[i % len(COLOURS)])
            axes.invert_yaxis()
            axes.set_xlabel(unit)
            axes.figure.legend(loc="outside upper center", fontsize=7, ncols=len(parts), frameon=False)
        if rows:
            self._plot(name, draw, f"Bars: {unit}, for {', '.join(labels)}", (8, 0.4 * len(rows) + 1))


def _machine(page, machines, stores):
    """The machines that results are from; all that are known if the results do not tell."""
    used = {machine for store in stores.values() for machine, _ in store.origins()}
    shown = {number: machine for number, machine in machines.known.items() if number in used} or machines.known
    names = list(dict.fromkeys(name for machine in shown.values() for name in machine))
    if shown:
        page.heading("The machine" if len(shown) == 1 else "The machines")
        page.table(["", *("" if len(shown) == 1 else f"machine {number}" for number in shown)],
                   [[name, *(machine.get(name, "") for machine in shown.values())] for name in names])
    return len(shown) > 1


def _measured(store, experiment, many_machines):
    """When the results were measured, in how many rounds, and where if there are several machines; empty: that is not known."""
    origins = store.origins()
    clauses = []
    for (machine, rounds), days in sorted(origins.items(), key=lambda item: -len(item[1])):
        known = sorted(set(filter(None, days)))
        clause = [f"on {known[0]}" if len(known) == 1 else f"from {known[0]} to {known[-1]}"] if known else []
        clause += [f"in {'one round' if rounds == '1' else f'{rounds} rounds'}"] if rounds and experiment.repeated else []
        clause += [f"on machine {machine}"] if machine and many_machines else []
        if clause:
            clauses.append((f"{len(days)} of {sum(map(len, origins.values()))} numbers " if len(origins) > 1 else "") + " ".join(clause))
    return f"Measured {'; '.join(clauses)}." if clauses else ""


def write(path, results, stores, machines):
    """Writes the page from the stores of all experiments; of those without results there is only the name."""
    from . import EXPERIMENTS
    page = Page(path, results)
    many_machines = _machine(page, machines, stores)
    missing = []
    for name, experiment in EXPERIMENTS.items():
        if any(not row["error"] for row in stores[name].rows.values()):
            experiment.show(stores[name], page)
            failed = stores[name].errors()
            notes = [_measured(stores[name], experiment, many_machines), f"Not measured: {_summary(failed)}." if failed else ""]
            if any(notes):
                page.text(" ".join(filter(None, notes)))
        else:
            missing.append(experiment.title)
    if missing:
        page.text("Not measured in this run: " + "; ".join(missing) + ".")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(page.parts))


def _summary(failed):
    """The reasons, each once, with how many results it is the reason of."""
    counts = {}
    for reason in failed.values():
        counts[reason] = counts.get(reason, 0) + 1
    return "; ".join(f"{count} × {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1])[:5])
