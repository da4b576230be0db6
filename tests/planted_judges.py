"""Judges that know people's ratings, to be asked for the papers' rows."""

import json

from nlgjudge.judging.baseline import answer
from nlgjudge.judging.tasks import Reply


class People:
    """A judge that answers with people's mean rating, on the scale that it is asked for.

    Parameters
    ----------
    benchmarks : iterable of nlgjudge.data.schema.Benchmark
    rated : dict of str to str
        By aspect as asked for, the aspect that people rated, where the two differ.
    turned : bool
        Answer with the opposite.
    only : str, optional
        Know this aspect alone, and give the middle of the scale for every other.
    """

    name = "people"
    is_model = True

    def __init__(self, benchmarks, *, rated=None, turned=False, only=None):
        self.rated = rated or {}
        self.turned = turned
        self.only = only
        self.texts = {}  # what was answered, by prompt
        self.truth = {}
        for benchmark in benchmarks:
            sources = dict(zip(benchmark.items["item_id"], benchmark.items["source"]))
            human = benchmark.human()
            for aspect in benchmark.aspects:
                low, high = human[aspect].min(), human[aspect].max()
                for item_id, rating in zip(human["item_id"], human[aspect].tolist()):
                    self.truth[item_id, sources[item_id], aspect] = (rating - low) / (high - low)

    def share(self, task):
        """Where between the lowest and the highest rating the item lies, in [0, 1]."""
        aspect = self.rated.get(task.aspect, task.aspect)
        if self.only and aspect != self.only:
            return 0.5
        share = self.truth[task.item_id, task.fields["source"], aspect]
        return 1 - share if self.turned else share

    def replies(self, tasks):
        """Answer a step of a chain as it is asked for, and any other prompt with a rating."""
        for task in tasks:
            text = self._text(task)
            self.texts[task.text] = text
            for index in range(task.n):
                yield Reply(task.item_id, task.aspect, index, text)

    def _text(self, task):
        if task.reading.form == "text":
            return "\n".join(
                f"Quality {number}: how good its {task.aspect} is"
                for number in range(1, int(task.fields["n"]) + 1)
            )
        low, high = task.reading.scale or (0, 1)
        rating = low + (high - low) * self.share(task)
        if task.reading.form == "json":
            names = [
                line.partition(":")[0]
                for line in task.fields["aspects"].splitlines()
                if line.strip()
            ]
            return json.dumps({name: round(rating, 2) for name in names})
        return answer(rating, task)
