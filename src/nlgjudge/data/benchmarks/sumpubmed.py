"""SumPubMed (Gupta et al. 2021), whose abstracts DHP perturbs."""

import re

from nlgjudge.data.benchmarks import benchmark


@benchmark("sumpubmed", "abstracts of articles, not rated; DHP perturbs them", expect=(300, 300))
def read(files):
    """Read articles and abstracts; ids 1 to 300 are registered."""
    articles = {}
    for entry in files.entries:
        part, number = re.fullmatch(r"(text|abstract)/\w+_(\d+)\.txt", entry.path).groups()
        articles.setdefault(int(number), {})[part] = files.read(entry).decode("utf-8")
    items = []
    for number, article in sorted(articles.items()):
        abstract = article["abstract"]
        texts = (article["text"], abstract, [abstract], "")
        items.append((None, f"{number:03d}", "reference", *texts))
    return items, (), ()
