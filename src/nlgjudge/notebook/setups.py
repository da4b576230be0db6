"""The set-ups of an ablation: what each asks of which judge, and how its replies become scores."""

import re
import warnings
from math import inf, nan
from operator import methodcaller
from typing import Any

import pandas as pd

from nlgjudge.data.checks import check_known
from nlgjudge.judging.judge import Budget, Function
from nlgjudge.judging.planning import CHARACTERS, Count, prompt_tokens
from nlgjudge.judging.prompts import Prompt, as_prompt
from nlgjudge.judging.replay import Replay
from nlgjudge.judging.run import get_judge, judge_items, without
from nlgjudge.judging.tasks import MISSING, Tasks

# Everything that a set-up can say, and what it says otherwise.
SETUP: dict[str, Any] = {
    "judge": "surface",
    "prompt": "",  # a name or a text, in which {aspect} becomes the aspect
    "words": {},  # old to new wording of the prompt
    "scale": None,  # lowest and highest rating; None for the prompt's own
    "pattern": "",  # a regular expression for ratings that are not read otherwise
    "average": None,  # aspects whose scores are averaged; None for the aspect's own score
    "perturb": None,  # name, degree and number of edits of one of DHP's perturbations
    "samples": 1,
    "options": {},  # sampling parameters
    "system": "",  # a system message before the prompt
    "examples": 0,  # rated items that are shown first and judged by neither set-up: how many, or their ids
    "policy": "nan",  # what a reply without a rating counts as
    "estimator": "expected",  # which number token probabilities give
    "aggregation": "mean",  # how the replies to an item become its score
}
AGGREGATIONS = {"mean": "mean", "median": "median", "mode": lambda scores: scores.mode().mean()}
# Entries of which a value of another kind is refused, with an example.
_LIKE = {
    "words": {"carefully": "with care"},
    "average": ["coherence", "fluency"],
    "perturb": ["typos", "", 5],
}
_RANGE = re.compile(r"\d+(?: ?[-–] ?| to | or )(\d+)")


class Setup:
    """One side of an ablation (`entries` of `SETUP`), checked before anything is asked.

    `prompts` has one for each aspect that is asked about; `aspects` are compared.
    """

    def __init__(self, entries, judge, items, aspects, examples=None):
        check_known("aggregation", entries["aggregation"], AGGREGATIONS)
        for name, like in _LIKE.items():
            if entries[name] and not isinstance(entries[name], type(like)):
                kind = type(like).__name__
                raise ValueError(f"{name}={entries[name]!r}: expected a {kind}, as {like}")
        self.entries, self.judge, self.aspects = entries, judge, aspects
        self.examples = examples
        self.prompts = [_prompt(entries, judge, aspect) for aspect in entries["average"] or aspects]
        self.texts = _perturbed(items, entries["perturb"]) if entries["perturb"] else items
        self.ask(plan=True)  # refuses what cannot be asked
        if entries["scale"]:
            _warn_of_another_scale(self.prompts)

    def ask(self, items=None, judge=None, plan=False):
        """Replies of the set-up's judge, or of another, as from `nlgjudge.judge_items`."""
        items = self.texts if items is None else items
        how = {name: self.entries[name] for name in ("samples", "system", "policy", "estimator")}
        how |= {"sampling": self.entries["options"], "plan": plan, "examples": self.examples}
        return judge_items(items, self.prompts, judge or self.judge, **how)

    def scores(self, replies):
        """A score for each item, by aspect."""
        keys = ["item_id", "aspect"]
        each = replies.groupby(["judge", *keys] if "judge" in replies else keys, sort=False)
        scores = each["score"].agg(AGGREGATIONS[self.entries["aggregation"]])
        scores = scores.groupby(level=keys, sort=False).mean().unstack()
        scores = scores.reindex(columns=self.entries["average"] or self.aspects)
        if not self.entries["average"]:
            return scores
        return pd.DataFrame(dict.fromkeys(self.aspects, scores.mean(axis=1, skipna=False)))

    def usage(self, replies, price):
        """By aspect, the share of its replies without a rating, and what its replies cost at `price` from scratch."""
        replies = replies[~replies["reason"].isin(MISSING)]
        unread = replies["score"].isna() | replies["reason"].ne("")
        answered = set(zip(replies["item_id"], replies["aspect"]))
        read = pd.Series(0, [prompt.aspect for prompt in self.prompts])
        for prompt in self.prompts:
            tasks = [
                task
                for task in Tasks(self.texts, prompt)
                if (task.item_id, prompt.aspect) in answered
            ]
            read[prompt.aspect] = sum(map(prompt_tokens, tasks)) * len(self.judge.judges)
        written = (replies["text"].str.len() // CHARACTERS + 1).groupby(replies["aspect"]).sum()
        prices = price or (nan, nan) if self.judge.is_model else (0, 0)
        cost = (read * prices[0] + written * prices[1]) / 1e6
        if self.entries["average"]:
            both = {"unread": unread.mean(), "cost": cost.sum(min_count=1)}
            return pd.DataFrame(both, self.aspects)
        return pd.DataFrame({"unread": unread.groupby(replies["aspect"]).mean(), "cost": cost})


def setups_of(base, change, benchmark, items, aspects, limits):
    """Both set-ups by label, with one judge where they name the same, and one budget."""
    for name in base | change:
        check_known("entry of a set-up", name, SETUP, most=len(SETUP))
    entries = {"base": SETUP | base, "variant": SETUP | base | change}
    if entries["base"] == entries["variant"]:
        raise ValueError(
            f"change={change}: expected another value than the base has, of one of {', '.join(SETUP)}"
        )
    limits = limits | {"budget": Budget(limits["max_cost"])}
    judges = {"base": _judge(entries["base"]["judge"], items, limits)}
    same = entries["base"]["judge"] == entries["variant"]["judge"]
    judges["variant"] = (
        judges["base"] if same else _judge(entries["variant"]["judge"], items, limits)
    )
    rated = {
        label: _rated(benchmark, items, one["examples"], aspects) for label, one in entries.items()
    }
    shown = [item for examples in rated.values() for item in examples["item_id"]]
    items = without(items, shown)
    setups = {
        label: Setup(setup, judges[label], items, aspects, rated[label])
        for label, setup in entries.items()
    }
    for setup in setups.values():
        for prompt in setup.prompts if len(setup.examples) else ():
            if benchmark.scale(prompt.aspect).names and not prompt.reading.has_true:
                raise ValueError(
                    f"{prompt.aspect} has labels: examples need a prompt that asks for them"
                )
    return setups


def _rated(benchmark, items, examples, aspects):
    """Rated items by their ids, or of so many documents the first one, with people's mean ratings."""
    ratings = benchmark.human().drop(columns=["doc_id", "system_id"])
    rated = benchmark.items.merge(ratings, on="item_id").set_index("item_id")
    is_tied = rated[aspects].eq(0.5).any(axis=1) & ("other" in rated)
    if isinstance(examples, int):
        items = items[~items["item_id"].isin(rated.index[is_tied])]
        examples = items.drop_duplicates("doc_id")["item_id"].head(examples)
    for name in examples:
        check_known("item", name, rated.index)
        if is_tied[name]:
            raise ValueError(f"examples: people prefer neither text of {name}; name another pair")
    return rated.loc[list(examples)].reset_index()


def plan_of(setups):
    """By set-up, calls, tokens and cost of what is not stored; what both ask for counts once."""
    counters = {setup.judge: Count(setup.judge) for setup in setups.values()}
    with_logprobs = any(setup.entries["options"].get("logprobs") for setup in setups.values())
    rows = {}
    for label, setup in setups.items():
        counter = counters[setup.judge]
        counted, estimated = dict(counter.counts), dict(counter.estimated)
        if setup.judge.asks:
            setup.ask(judge=counter)
        rows[label] = {name: number - counted[name] for name, number in counter.counts.items()}
        if with_logprobs:
            for name in sorted({"completion_tokens", "cost"} & counter.estimated.keys()):
                number = counter.estimated[name] - estimated[name]
                rows[label][f"{name}_without_logprobs"] = number
    return pd.DataFrame.from_dict(rows, orient="index").fillna(0)


def _judge(spec, items, limits):
    if getattr(spec, "asks", False):  # a limit that it would not keep is refused
        return get_judge(spec, **{name: limits[name] for name in ("max_cost", "store")})
    options = {"items": items, **limits} if isinstance(spec, (str, list)) else {}
    if options and "replay:" in str(spec):
        options["missing"] = "keep"  # a recording may lack some items
    return get_judge(spec, **options)


def _prompt(entries, judge, aspect):
    """A set-up's prompt for an aspect."""
    spec, scale = entries["prompt"], entries["scale"]
    if spec == "" and isinstance(judge, Replay):
        spec = judge.prompt(aspect)
    elif spec == "" and not judge.asks:
        spec = Prompt("no prompt", scale=(-inf, inf) if isinstance(judge, Function) else (1, 5))
    spec = _mapped(spec, lambda text: _about(text, aspect))
    if isinstance(spec, str) and not re.search(r"\{\{|\s", spec):  # a name
        spec = as_prompt(spec)
    for old, new in entries["words"].items():
        before, spec = spec, _mapped(spec, methodcaller("replace", old, new))
        if spec == before:
            raise ValueError(f"the prompt has no {old!r}: replace words of its text")
    prompt = as_prompt(spec, scale=scale or (1, 5))
    own = {"scale": scale or prompt.scale, "pattern": entries["pattern"] or prompt.pattern}
    own["exact"] = prompt.exact and not entries["words"]
    prompt = prompt._replace(aspect=aspect, **own)
    prompt.reading.find("")  # refuses what cannot be read
    return prompt


def _mapped(spec, change):
    """A text, messages or a prompt with its texts changed."""
    if isinstance(spec, str):
        return change(spec)
    if isinstance(spec, Prompt):
        before = tuple((role, change(text)) for role, text in spec.before)
        return spec._replace(before=before, body=change(spec.body))
    if isinstance(spec, list):
        return [message | {"content": change(message["content"])} for message in spec]
    return spec


def _about(text, aspect):
    return text.replace("{aspect:.3}", aspect[:3]).replace("{aspect}", aspect)


def _perturbed(items, wanted):
    from nlgjudge.papers.dhp.perturbing import Perturbation, perturb  # needs the extra metrics

    made = perturb(items, [Perturbation(*wanted)]).items
    made = made[made["perturbation"] != "original"]
    return made.assign(item_id=made["original"])


def _warn_of_another_scale(prompts):
    """A new scale needs new wording: of ranges as "1-5", and of anchors as "a score of 3"."""
    for prompt in prompts:
        anchors = [int(rating) for rating in re.findall(r"score of (\d+)", prompt.body)]
        top = max(prompt.scale)
        tops = {*map(int, _RANGE.findall(prompt.body)), max(anchors, default=top)}
        if tops != {top}:
            fault = f"prompt {prompt.name} describes another scale than {list(prompt.scale)}"
            warnings.warn(f"{fault}: change its wording too, by `words`", stacklevel=2)


def in_words(value):
    """Write a setting's value as a reader would say it; a prompt, judge or function by its name."""
    if name := getattr(value, "name", getattr(value, "__name__", "")):
        return str(name)
    if value is None or (isinstance(value, (str, list, tuple, dict)) and not len(value)):
        return "none"
    if isinstance(value, dict):
        return ", ".join(_setting(name, part) for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(in_words(part) for part in value if part != "")
    return str(value)


def _setting(name, value):
    if name == "words" and value:
        return ", ".join(f"{old}: {new}" for old, new in value.items())
    return in_words(value) if isinstance(value, dict) and value else f"{name} {in_words(value)}"
