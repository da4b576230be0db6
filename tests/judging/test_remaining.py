"""The last tier of the parser, which strikes out what is no rating, and the aspect that was asked."""

import math
import random
import time

import pandas as pd
import pytest

from nlgjudge.judging.parsing import parse, parse_all
from nlgjudge.judging.scoring import responses

FIVE, TEN, THREE, HUNDRED = (1, 5), (1, 10), (1, 3), (0, 100)

READ = [  # reply, scale, rating; none was read when the parser knew set phrases alone
    ("I would score the summary 75.", HUNDRED, 75),
    ("On a scale from 0 to 100, I'd place it at 84.", HUNDRED, 84),
    ("The coherence score I give is 85.", HUNDRED, 85),
    ("The rating I'd give is 4 on the 1–5 scale.", FIVE, 4),
    ("I assign the highest possible score (5).", FIVE, 5),
    ("It hangs together. 4 from me.", FIVE, 4),
    ("Most would go for a 4 on coherence, and so do I.", FIVE, 4),
    ("The order is odd. Hence **2** for coherence.", FIVE, 2),
    ("Points: 30 of 100.", HUNDRED, 30),
    ("5/5 ⭐ Coherent from start to finish!", FIVE, 5),
    ("This leads me to score it 2.", FIVE, 2),
    ("A middle-of-the-road 3 feels right.", FIVE, 3),
    ("I'd give it seventy out of one hundred.", HUNDRED, 70),
    ("Fifty-eight. The links are missing.", HUNDRED, 58),
    ("If a hundred is perfect, sixty seems fair.", HUNDRED, 60),
    ("A twenty. It is a list of names.", HUNDRED, 20),
    ("2.5 would be my rating.", THREE, 2.5),
    ("I think nine is justified.", TEN, 9),
    ("It's a partial match, so 2.", THREE, 2),
    ("I'd call it somewhat coherent (2): sentence 1 fits.", THREE, 2),
    ("For coherence that means a 4 on the ten-point scale.", TEN, 4),
    ("Given that one star stands for poor and five for perfect, this deserves four.", FIVE, 4),
    ("I'm subtracting one from the maximum of 5, which leaves a 4.", FIVE, 4),
    ("Score for coherence, from 1 to 5: 4", FIVE, 4),
    ("It repeats itself and ends abruptly. 65/100 therefore.", HUNDRED, 65),
    ("Sentence 2 contradicts sentence 1, and 3 facts are missing. I'd settle on 2.", FIVE, 2),
    ("On April 12 two men, 25 and 31, were held. Coherence 62.", HUNDRED, 62),
    ("Good but not great: 3.", FIVE, 3),
    ("I'd award four of the five stars.", FIVE, 4),
    ("My rating would have to be a 3.", FIVE, 3),
    ("The summary was given a 4 because it flows.", FIVE, 4),
    ("If pressed, I'd say 4.", FIVE, 4),
]
TRAPS = [  # reply, scale; no rating is in them
    ("The summary names 3 of the 5 facts.", FIVE),
    ("It would need to be shorter to earn a 4.", FIVE),
    ("Between 3 and 4.", FIVE),
    ("Somewhere between 6 and 8, I would think.", TEN),
    ("Rating: -1", FIVE),
    ("The hosts won 3-1, the summary says.", FIVE),
    ("The war ended in 1998 and the text is from 2015.", HUNDRED),
    ("The child is 4.", FIVE),
    ("Smith, 34, said the summary was coherent.", HUNDRED),
    ("A 4 would be too generous.", FIVE),
    ("A score of 5 seems too high.", FIVE),
    ("I was tempted to give it a 4.", FIVE),
    ("My first instinct was a 4.", FIVE),
    ("With a better ending, it would be a 4.", FIVE),
    ("It would be a 4 but for the ending.", FIVE),
    ("If I were generous, I'd give it a 4.", FIVE),
    ("For a 5, the summary would have to name the year.", FIVE),
    ("I doubt it is a 5.", FIVE),
    ("Better than a 3.", FIVE),
    ("The film gets 4 stars.", FIVE),
    ("The judges gave the singer a 77.", HUNDRED),
    ("The other summary deserves a 5.", FIVE),
    ('The text says "I give it a 4", which is odd.', FIVE),
    ("A 5 is rare.", FIVE),
    ("Step 1 is clear, step 2 is not.", FIVE),
    ("I'd cut it to 3 sentences.", FIVE),
    ("I'm 90% sure.", HUNDRED),
    ("A 3 for style and a 1 for grammar.", FIVE),
    ("1. Is the order clear?\n2. Is the topic clear?\n3. Are there slips?", FIVE),
    ("Bad: 0, good: 100", HUNDRED),
    ("This suits grade 4 readers.", FIVE),
]


@pytest.mark.parametrize("text, scale, rating", READ)
def test_the_one_number_that_is_left_is_the_rating(text, scale, rating):
    assert parse(text, "form", scale) == (rating, "")


@pytest.mark.parametrize("text, scale", TRAPS)
def test_no_other_number_is(text, scale):
    found = parse(text, "form", scale)
    assert math.isnan(found.score) and found.reason


def test_sentences_about_the_text_change_nothing():
    about = [text for text, scale in TRAPS[:1]] + [
        "The first sentence introduces the 2015 election and the three main parties.",
        "The story has three acts, of which only one is finished.",
        "It says the vote was 52 to 48.",
        "There are 4 errors of grammar, two of them in sentence 3.",
    ]
    rng = random.Random(3)
    for text, scale, rating in READ:
        if text[0].isalpha() and text[-1] == ".":
            before, after = rng.sample(about, 2), rng.sample(about, 1)
            assert parse(" ".join([*before, text, *after]), "form", scale).score == rating, (before, text)


def test_a_number_at_the_start_of_a_line_is_seen():
    """It was lost where the line before held a number as well."""
    assert parse("Ten people were hurt.\nThree stars from me!", "stars").score == 3


# The aspect that was asked

LISTS = [  # reply, aspect, rating
    ("Coherence: 4\nFluency: 3\nOverall: 4", "fluency", 3),
    ("Coherence: 4\nFluency: 3\nOverall: 2", "", 2),
    ("Coherence: 4\nFluency: 3\nOverall: 2", "overall", 2),
    ("Coherence\n⭐⭐⭐\n\nRelevance\n⭐⭐⭐⭐", "relevance", 4),
    ("| Aspect | Score |\n|---|---|\n| Coherence | 4 |\n| Fluency | 2 |", "fluency", 2),
    ('{"coherence": 4, "fluency": 3}', "coherence", 4),
    ("I'd give coherence a 4, fluency a 3 and relevance a 5.", "relevance", 5),
    ("A 4 for coherence and a 3 for fluency.", "fluency", 3),
    ("## Coherence\nIt flows.\nScore: 4\n\n## Fluency\nIt has 2 slips.\nScore: 3", "coherence", 4),
    ("**Engaging:** 2\n**Natural:** 3", "naturalness", 3),
    ("Coherence: It has 3 parts. I'd give it a 4.\nFluency: It has 3 slips. I'd say 2.", "fluency", 2),
    ("Coherence: clear.\nFluency: fine.\n\nRating: 4", "coherence", 4),
    ("Coherence: 4", "fluency", 4),  # no list: as without
]


@pytest.mark.parametrize("text, aspect, rating", LISTS)
def test_the_asked_aspect_counts(text, aspect, rating):
    assert parse(text, "form", FIVE, aspect=aspect) == (rating, "")


def test_a_list_without_the_asked_aspect_is_read_as_before():
    assert parse("Coherence: 4\nFluency: 3", aspect="relevance").reason == "ambiguous"
    assert parse("Coherence: 4\nFluency: 3").reason == "ambiguous"


def test_every_row_is_read_for_its_aspect():
    text = "Coherence: 4\nFluency: 3"
    assert parse_all([text], aspect="fluency")["score"].tolist() == [3]
    rows = [("a", "coherence", 0, text), ("a", "fluency", 0, text)]
    frame = pd.DataFrame(rows, columns=["item_id", "aspect", "sample_index", "text"])
    assert responses(frame)["score"].tolist() == [4, 3]


def test_mutations_do_not_raise():
    rng = random.Random(17)
    texts = [text for text, *_ in [*READ, *TRAPS, *LISTS]]
    for _ in range(2000):
        signs = list(rng.choice(texts) + rng.choice([" ", "\n", ""]) + rng.choice(texts))
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(signs))
            signs[at:at + rng.randint(0, 2)] = rng.choices("0159 .,:;()/-\n\"'*|⋯½é", k=rng.randint(0, 2))
        parse("".join(signs), "form", rng.choice([FIVE, HUNDRED]), aspect=rng.choice(["", "fluency"]))


@pytest.mark.parametrize(
    "piece", ["it is 3 or so, ", 'a 4, "as i say", ', "coherence: 4\n", "(1) it is. ", "a hundred "]
)
def test_long_replies_are_read_in_time(piece):
    text = piece * (200_000 // len(piece))
    start = time.perf_counter()
    parse(text, "form", FIVE, aspect="fluency")
    assert time.perf_counter() - start < 20
