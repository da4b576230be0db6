"""HumanMT's rated translations of IWSLT14, CC BY-NC-SA."""

from nlgjudge.data.benchmarks import benchmark

VARIABLE = "NLGJUDGE_HUMANMT"
_COLUMNS = ["segment", "source", "reference", "translation", "rater", "score"]


@benchmark("iwslt14", "rated translations (HumanMT)", expect=(1000, 1000), variable=VARIABLE)
def read(files):
    """Read the user's `ratings.csv`: the archive's texts and ratings (1 to 5), a line per judgement."""
    items = {}
    ratings = []
    what = "a folder with HumanMT's ratings.csv"
    for row in files.read_own_copy(VARIABLE, what, _COLUMNS, "ratings.csv"):
        segment = row["segment"]
        item_id = f"{segment}/translation"
        texts = (row["source"], row["translation"], [row["reference"]], "")
        items[item_id] = (item_id, segment, "translation", *texts)
        ratings.append((item_id, "overall", row["rater"], float(row["score"])))
    return items.values(), ratings, ()
