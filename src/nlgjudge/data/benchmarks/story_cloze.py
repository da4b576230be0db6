"""The Story Cloze Test (Mostafazadeh et al. 2017), licensed on request."""

from nlgjudge.data.benchmarks import benchmark

VARIABLE = "NLGJUDGE_STORY_CLOZE"
_SENTENCES = [f"InputSentence{number}" for number in range(1, 5)]
_ENDINGS = ["RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2"]


@benchmark("story_cloze", "a right and a wrong ending of stories", variable=VARIABLE)
def read(files):
    """Read the user's CSV."""
    columns = ["InputStoryid", *_SENTENCES, *_ENDINGS, "AnswerRightEnding"]
    what = "the validation CSV of the Story Cloze Test"
    items = []
    ratings = []
    for row in files.read_own_copy(VARIABLE, what, columns):
        doc_id = row["InputStoryid"]
        opening = " ".join(row[sentence] for sentence in _SENTENCES)
        right = f"RandomFifthSentenceQuiz{int(row['AnswerRightEnding'])}"
        for ending in _ENDINGS:
            system_id = "right_ending" if ending == right else "wrong_ending"
            item_id = f"{doc_id}/{system_id}"
            items.append((item_id, doc_id, system_id, opening, row[ending], [row[right]], ""))
            ratings.append((item_id, "ending", "mean", float(ending == right)))
    return items, ratings, ()
