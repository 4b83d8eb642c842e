"""What an experiment is."""

from .measure import Failed


class Job:
    """What is measured together, one row of results for each key. `measure` returns for each key its values by name, or a text that says
    why there are none. `rounds`: of which these are medians, if not as many as of all."""

    def __init__(self, keys, measure, title=None, rounds=None):
        self.keys, self.measure = [tuple(map(str, key)) for key in keys], measure
        self.title, self.rounds = title or " ".join(self.keys[0]), rounds

    def measured(self):
        try:
            return self.measure()
        except Failed as failure:
            return [str(failure)] * len(self.keys)


class Experiment:
    """Results have the columns `key` and `values` (evaluation/store.py). jobs(world) says what there is to measure with what this world has;
    show(store, page) writes it into the page (evaluation/page.py). `repeated`: whether the values are medians of rounds."""

    repeated = True
    name = ""
    title = ""
    key = ()
    values = ()

    def jobs(self, world):
        raise NotImplementedError

    def show(self, store, page):
        raise NotImplementedError
