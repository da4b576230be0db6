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


# Contradictions, asides and what a template leaves behind

STATED = [  # reply, scale, rating
    # several aspects and a whole
    ("Coherence: 3\nFluency: 5\nRelevance: 4\n\nOverall score: 4", FIVE, 4),
    ("Rating: 3. Wait, the names are wrong. Final rating: 2", FIVE, 2),
    # Prometheus: the rubric is mentioned, the result counts
    ("Feedback: It fails the criteria for a score of 2. [RESULT] 1", FIVE, 1),
    ("Feedback: A score 3 response would name it. Hence it falls short. [RESULT] 2", FIVE, 2),
    (
        "Feedback: That keeps it from getting a perfect score of 5. [RESULT] 4\n\nNote: none.",
        FIVE,
        4,
    ),
    # the scale's options, repeated
    ("1 = dull\n2 = so-so\n3 = lively\n\nI'd go with 2.", THREE, 2),
    ("5: Excellent\n4: Good\n3: Fair\n2: Poor\n1: Bad\n\nMy choice: 4", FIVE, 4),
    ("* 1: no sense\n* 2: 3 or more slips\n* 3: fine\n\nThe text above gets a 2.", THREE, 2),
    ("Fluency: 1 (Poor)\n\nNote: the scale is 1: Poor, 2: Fair, 3: Good.", THREE, 1),
    # no second thought about the rating
    ("Rating: 4. The hotel actually has 3 rooms.", FIVE, 4),
    ("Rating: 5. I'm not sure about the 2nd sentence though.", FIVE, 5),
    # stars
    ("★★★★★ Loved it! The reply picks up on the joke.", FIVE, 5),
    ("★★★★☆\n\nA nice end. I held back one star for the phrase.", FIVE, 4),
    ("I'd give it 5 stars! To the point. 🌟", FIVE, 5),
    ("⭐ Rating: 4/5", FIVE, 4),
    ("★ ★ ★", FIVE, 3),
    ("4 x ⭐", FIVE, 4),
    ("3 ★★★", FIVE, 3),
    ("Rating: <b>4</b><br>It has 2 slips.", FIVE, 4),
    ("1. Coherence 4/5\n2. Fluency 5/5\n\nOverall 4/5", FIVE, 4),
    ("Natural? It's a 2-star sentence.", FIVE, 2),
    ("I have to give it a single star.", FIVE, 1),
    ("Informativeness rating: ****\n\nIt gives 6 of 7.", FIVE, 4),
    ("I'd say 35. It offers a hotel with 4 stars.", HUNDRED, 35),
    ("80/100. The 4-star hotel is named.", HUNDRED, 80),
    ("Took off one star for the typo. 4 stars.", FIVE, 4),
    # what others rate
    ("The data says the customer rating is 1 out of 5. I'd rate informativeness 4.", FIVE, 4),
    (
        "Informativeness: 5 out of 5 stars\n\nAll is there: name, customer rating (1 out of 5), area.",
        FIVE,
        5,
    ),
    ("Informativeness: ★★★☆☆\n\nIt omits the rating (5 out of 5) and the price.", FIVE, 3),
    ("Many readers might give it a 2, but I give it a 4.", FIVE, 4),
    ("I'd give it an average rating of 3.", FIVE, 3),
    # what a template leaves behind
    ("4</s>", FIVE, 4),
    ("<|im_start|>assistant\n4<|im_end|>", FIVE, 4),
    ("Rating: 2<|end|>\n<|user|>\nRate this: 5", FIVE, 2),
    ("4\n\n### End", FIVE, 4),
    # imagined, compared, computed
    (
        "Fluency: 2. I was about to award a 3 because it reads well, but the run-on makes me lower it.",
        THREE,
        2,
    ),
    (
        "A rating of 3. A rating of 2 would imply slips, and a rating of 1 would imply nonsense.",
        THREE,
        3,
    ),
    ("It would have been a 5 if it had named him, but as it stands it's a 3.", FIVE, 3),
    ("I'd give it a 4, but it would have been a 5 with a better ending.", FIVE, 4),
    ("I'd rate this a 3/5. Out of 10, I would say 6.", FIVE, 3),
    ("A perfect score of 5 is out of reach. 3.", FIVE, 3),
    ("I hesitate, but 3.", FIVE, 3),
    ("At 2, this is among the weaker ones.", FIVE, 2),
    ("This would fall under a 3", FIVE, 3),
    ("5 minus 1 for the slip = 4", FIVE, 4),
    ("Slightly Related: 0.5", (0, 1), 0.5),
    ("~~3~~ 4", FIVE, 4),
    ("Rating: 85\nConfidence: 90%", HUNDRED, 85),
    ("I want to give it 5 stars but I can't because of the ending. 3 stars.", FIVE, 3),
    ("If I could give it zero stars, I would. 1 star.", FIVE, 1),
    ("Final score: 2-1. Rating: 3", FIVE, 3),
    ("It meets the criteria for a score of 4.", FIVE, 4),
    ("Option 3: Moderately relevant", FIVE, 3),
]
IN_DOUBT = [  # reply, scale, reason
    ("Rating: 3\n\nIt matches in all respects.\n\nFinal score: 5", FIVE, "ambiguous"),
    ("Rating: 3\n\nOverall score: 4", FIVE, "ambiguous"),
    ("⭐⭐⭐⭐\n\nOverall: 2 stars. It was poor.", FIVE, "ambiguous"),
    ("Rating: 4 out of 5 stars ⭐⭐⭐", FIVE, "ambiguous"),
    ("⭐⭐⭐⭐☆ (3/5)", FIVE, "ambiguous"),
    ("Feedback: So the overall score is 2. [RESULT] 4", FIVE, "ambiguous"),
    ("Feedback: Therefore, it earns a score of 3. [RESULT] 5", FIVE, "ambiguous"),
    ("Feedback: mixed. [RESULT] 3 or 4", FIVE, "ambiguous"),
    ("Fluency: 1: Poor. 2: Fair. 3: Good.", THREE, "no_rating"),
    (
        "How relevant is it?\n\n1 - Not at all\n2 - Slightly\n3 - Fairly\n4 - Very",
        FIVE,
        "no_rating",
    ),
    (
        "Coherence: 1 - hard to follow\nFluency: 2 - slips\nRelevance: 3 - on topic",
        FIVE,
        "ambiguous",
    ),
    (
        "Consistency: 4\n\nWait, the age is wrong, so maybe 3. 4? I'm not certain.",
        FIVE,
        "ambiguous",
    ),
    ("Rating: 80\n\nActually, considering the end, 70 would be better.", HUNDRED, "ambiguous"),
    ("4. Or maybe 3.", FIVE, "ambiguous"),
    ("3 or so, maybe 2.", FIVE, "ambiguous"),
    ("Rating: 4, bordering on 5", FIVE, "ambiguous"),
    ("It's a 3-star effort at best.", FIVE, "ambiguous"),
    ("Two stars, minus half a star for the spelling.", FIVE, "ambiguous"),
    ("Rating: 3 (could be a 4)", FIVE, "ambiguous"),
    ("One star for effort, none for execution.", FIVE, "ambiguous"),
    ("★★★★", HUNDRED, "other_scale"),
    ("I'd give it 5 stars!", HUNDRED, "other_scale"),
    ("0.85", HUNDRED, "other_scale"),
    ("Score: 0.92", HUNDRED, "other_scale"),
    ("Out of 10, I would say 4.", FIVE, "other_scale"),
    ("Some users might give it 2 stars, others might give it 4 stars.", FIVE, "no_rating"),
    ("Customer rating: 5 out of 5", FIVE, "no_rating"),
    ("A 4-star hotel in the north.", FIVE, "no_rating"),
    ("A great read! 🌟", FIVE, "no_rating"),
    ('"4 stars!" cries the reviewer in the text.', FIVE, "no_rating"),
    ("That makes three.", FIVE, "no_rating"),
    ("This leaves 3.", FIVE, "no_rating"),
    ("Deaths: 4", FIVE, "no_rating"),
    ("Confidence: 90%", HUNDRED, "no_rating"),
    ("A: 4\nB: 3", FIVE, "no_rating"),
    ("<4", FIVE, "ambiguous"),
    ("Rating: > 3", FIVE, "ambiguous"),
    ("</s>", FIVE, "empty"),
]


@pytest.mark.parametrize("text, scale, rating", STATED)
def test_a_rating_beside_asides_is_read(text, scale, rating):
    assert parse(text, "form", scale) == (rating, "")


@pytest.mark.parametrize("text, scale, reason", IN_DOUBT)
def test_contradictions_and_asides_are_no_rating(text, scale, reason):
    found = parse(text, "form", scale)
    assert math.isnan(found.score) and found.reason == reason


@pytest.mark.parametrize("form", ["yes_no", "json", "choice"])
def test_every_form_is_read_without_its_template(form):
    text = {"yes_no": "Yes", "json": '{"score": 1}', "choice": "A"}[form]
    assert parse(f"<s>{text}</s>", form, (0, 1), options=["bad", "good"]).score == float(
        form != "choice"
    )


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
            assert parse(" ".join([*before, text, *after]), "form", scale).score == rating, (
                before,
                text,
            )


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
    (
        "Coherence: It has 3 parts. I'd give it a 4.\nFluency: It has 3 slips. I'd say 2.",
        "fluency",
        2,
    ),
    ("Coherence: clear.\nFluency: fine.\n\nRating: 4", "coherence", 4),
    ("Coherence: 4", "fluency", 4),  # no list: as without
    ("It deserves a relevance rating of 4 (good); the fluency I would put at 5.", "relevance", 4),
    ("Deaths by the text: 4", "deaths", 4),
]


@pytest.mark.parametrize("text, aspect, rating", LISTS)
def test_the_asked_aspect_counts(text, aspect, rating):
    assert parse(text, "form", FIVE, aspect=aspect) == (rating, "")


def test_a_list_without_the_asked_aspect_is_read_as_before():
    assert parse("Coherence: 4\nFluency: 3", aspect="relevance").reason == "ambiguous"
    assert parse("Coherence: 4\nFluency: 3").reason == "ambiguous"


@pytest.mark.parametrize("aspect", ["coherence", "fluency"])
def test_a_bare_rating_beside_the_asked_aspect_leaves_doubt(aspect):
    assert parse("Coherence: 4\nFluency: 3\nRating: 2", aspect=aspect).reason == "ambiguous"


def test_every_row_is_read_for_its_aspect():
    text = "Coherence: 4\nFluency: 3"
    assert parse_all([text], aspect="fluency")["score"].tolist() == [3]
    rows = [("a", "coherence", 0, text), ("a", "fluency", 0, text)]
    frame = pd.DataFrame(rows, columns=["item_id", "aspect", "sample_index", "text"])
    assert responses(frame)["score"].tolist() == [4, 3]


def test_mutations_do_not_raise():
    rng = random.Random(17)
    texts = [text for text, *_ in [*READ, *TRAPS, *LISTS, *STATED, *IN_DOUBT]]
    for _ in range(2000):
        signs = list(rng.choice(texts) + rng.choice([" ", "\n", ""]) + rng.choice(texts))
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(signs))
            signs[at : at + rng.randint(0, 2)] = rng.choices(
                "0159 .,:;()/-\n\"'*|⋯½é", k=rng.randint(0, 2)
            )
        parse(
            "".join(signs), "form", rng.choice([FIVE, HUNDRED]), aspect=rng.choice(["", "fluency"])
        )


@pytest.mark.parametrize(
    "piece",
    [
        "it is 3 or so, ",
        'a 4, "as i say',
        "coherence: 4\n",
        "(1) it is. ",
        "a hundred ",
        "1: a\n2: b\n3: c\n",
        "1: a. ",
        "score of 1 to ",
        "wait, 3. ",
        "★★★ a ",
        "customer rating ",
        "[result] 3 so 2. ",
        "</s> ",
        'says "a ',
    ],
)
def test_long_replies_are_read_in_time(piece):
    """The process's own time, whatever else runs: a tenth of a second is usual, a minute where it grows squared."""
    text = piece * (30_000 // len(piece))
    start = time.process_time()
    parse(text, "form", FIVE, aspect="fluency")
    assert time.process_time() - start < 3
