"""Replies whose rating is known because it was put there: templates, ratings, scales and distractions.

A template has `{r}` where its rating goes, and perhaps `{low}`, `{high}`, `{aspect}`, `{reason}`, `{count}`
(a number that is no rating) and `{odd}` (another rating than `{r}`). Readable templates state one rating;
unreadable ones state none, or none on the scale that was asked for, or leave it in doubt. All words are ours.
"""

import random

SCALES = [(1, 5), (1, 3), (1, 5), (0, 100), (1, 10), (0, 1), (1, 7)]
ASPECTS = ["Coherence", "Fluency", "Relevance", "Consistency", "Naturalness", "Engagingness", "Factual accuracy",
           "Overall quality", "Groundedness"]
# Sentences about a text, many with a number that is no rating.
REASONS = [
    "The text follows the source closely.", "It names 3 of the 7 facts.", "It leaves out who said so and when.",
    "Two sentences repeat each other.", "The war ended in 1998, and the text says so.",
    "At half-time the team led 2-1.", "The hotel in the story has 4 stars.", "In chapter 3 the hero leaves.",
    "The train left at 4:30 on 3/5/2023.", "It covers 60% of what matters.", "One of the names is misspelt.",
    "The first 2 sentences are fine; the rest is not.", "He paid $5 for it.", "It is short, clear and to the point.",
    "There are 4 errors of grammar.", "The 3rd sentence contradicts the 1st.", "The final score was 3-1 to the hosts.",
    "It is not perfect, but it reads well.", "It was released in version 2.4.1.", "Ten people were hurt, five of them badly.",
    "The response asks if the other person likes it.", "A five-year plan is mentioned twice.",
    "Nothing in it is made up.", "The mayor won by 5 votes.", "The phrase \"three times\" is odd.",
]

READABLE = [
    "{r}", "{r}.", " {r}\n", "**{r}**", "- {r}", "{aspect}: {r}", "- {aspect}: {r}", "* **{aspect}:** {r}", "1. {aspect}: {r}",
    "{aspect} ({low}-{high}): {r}", "{aspect} = {r}", "Rating: {r}", "Score: {r}", "**Score:** {r}", "Score: **{r}**",
    "### Rating\n{r}", "Rating:\n{r}", "**Rating**\n\n**{r}**\n\n{reason}", "Rating: {r}\nReason: {reason}", "Rating: {r}\n\n{reason} {reason}",
    "{reason} {reason}\nRating: {r}", "{reason} Score: {r}.", "{reason} Score: {r}/{high}", "Score: {r}/{high}\n\n{reason}",
    "{reason} Final score: {r}.", "{reason}\n\nFinal rating: {r}/{high}", "{r}/{high}", "{r} out of {high}", "{r} / {high}\n{reason}",
    "I would give it a score of {r}. {reason}", "{reason} So I would give it {r} out of {high}.",
    "I would rate this summary a {r}. {reason}", "I would score this summary as a {r}, indicating that it reads well.",
    "{reason} Therefore, I rate it {r}/{high}.", "{reason} It deserves a {r}.", "{reason} The score is {r}.",
    "{aspect}: {r}. {reason} {reason}", "{aspect}: {r}\n\n{reason} {reason} {reason}", "- {aspect}: {r}/{high} - {reason}",
    "Sure! Here is my evaluation.\n\nScore: {r}/{high}\n\nReasons:\n* {reason}\n* {reason}",
    "Based on the criteria, I would give this text a score of {r} out of {high}.\n\nHere is a breakdown of the score:\n\n1. Grammar: {odd}/{high}\n2. Style: {r}/{high}\n3. Tone: {odd}/{high}",
    "Evaluation steps:\n1. I read the text.\n2. I looked for slips.\n3. I rated it.\n\nRating: {r}",
    "Scale: {low} (bad) to {high} (good)\nRating: {r}\n{reason}", "On a scale of {low} to {high}, I would give it a {r}.",
    "{reason} On a scale from {low} to {high} I rate it {r}.", "Rating ({low}-{high}): {r}", "Rating (out of {high}): {r}\n{reason}",
    "Grammar: {odd}\nStyle: {r}\nOverall: {r}", "Overall rating: {r}. {reason}", "My rating is {r} because of this: {reason}",
    "{r} - {reason}", "{r}, because it reads well.", "{r}\n\n{reason} {reason}", "Score - {r}", "Rating: [[{r}]]", "<score>{r}</score>\n{reason}",
    "The answer is \\boxed{{{r}}}.", "<think>Perhaps {odd}? No.</think>\nRating: {r}", "It would have been a {odd} had it been shorter.\nRating: {r}",
    "{reason}\n\nScore: {r} (it could be shorter)", "I'd give it a {r} for {aspect}.", "Overall, I would rate the {aspect} of this text as {r} out of {high}.",
]
STARRED = ["{r} stars", "{r} stars. {reason}", "{reason} {r} stars.", "Rating: {r} stars", "I give it {r} stars. {reason}", "{r} stars out of {high}"]
UNREADABLE = [
    "{reason} {reason}", "Rating: {r} or {odd}", "Rating: -{high}", "Rating: {low}-{high}", "{aspect}: {r}\n{second}: {odd}", "Rating: {r}\nRating: {odd}",
    "{low} = bad\n{high} = good", "Rating scale:\n{low} = bad\n{mid} = fair\n{high} = good", "Score: {low} = bad, {mid} = fair, {high} = good",
    "Score: {r}/{wrong}", "{r}/{wrong}", "{r} out of {wrong}. {reason}", "I would give it a score of {r} out of {wrong}.", "On a scale of 1 to {wrong}, I would give it a {r}.",
    "{aspect} (1-{wrong}): {r}", "Rating: {r} (on a scale of 1-{wrong})", "I cannot rate this. {reason}", "As an AI, I cannot say.", "Number of errors: {r}",
    "Errors: {r}", "I would not give it a {r}.", "It would have deserved a {r} if it had been shorter.", "Rating: {r}/3/2021", "The maximum score is {high}.",
    "Somewhere between {r} and {odd}.", "I am torn between a {r} and a {odd}.", "Rating: n/a", "{r} sentences are wrong.", "It covers {r} of the {wrong} facts.",
    "Scores: * {low} point\n* {high} points", "* {low} point: bad\n* {high} points: good", "A score of {low} means bad, a score of {high} means good.",
    "<think>Rating: {r}", "Step {r}: read the text.", "{low}. I read the text.\n2. I rated it.",
]


def replies(readable, unreadable, count, seed):
    """Yield (text, scale, truth), the truth None for unreadable replies; a quarter are unreadable."""
    rng = random.Random(seed)
    for _ in range(count):
        scale = rng.choice(SCALES)
        low, high = scale
        wanted = rng.random() >= 0.25
        template = rng.choice(readable if wanted else unreadable)
        rating = rng.randint(low, high)
        text = rendered(template, rng, scale, rating)
        yield text, scale, float(rating) if wanted else None


def rendered(template, rng, scale, rating):
    low, high = scale
    others = [value for value in range(low, high + 1) if value != rating]
    aspect, second = rng.sample([name for name in ASPECTS if "{second}" not in template or "Overall" not in name], 2)
    values = {
        "r": rating, "odd": rng.choice(others), "low": low, "high": high, "mid": (low + high) // 2 if high - low > 1 else low,
        "wrong": rng.choice([top for top in (4, 6, 8, 20, 50) if top != high]), "aspect": aspect, "second": second,
    }
    text = template
    while "{reason}" in text:
        text = text.replace("{reason}", rng.choice(REASONS), 1)
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text.replace("{{", "{").replace("}}", "}")


# Written after the parser had been fixed to the templates above, in the manner of long-winded chat models.
HELD_OUT_READABLE = [
    "Sure, I'd be happy to help! Here's my assessment of the text:\n\n**{aspect}: {r}/{high}**\n\n{reason} {reason}",
    "Thank you for the text! After reading it, I would rate its {aspect} as follows:\n\n{aspect}: {r}\n\n{reason}",
    "Certainly!\n\n{reason}\n\n{reason}\n\nBased on this, my score for {aspect} is {r}.",
    "Here's the evaluation form:\n\n* {aspect} ({low}-{high}): {r}\n\nExplanation: {reason}",
    "Evaluation Form (scores ONLY):\n\n- {aspect}: {r}",
    "| Criterion | Score |\n|---|---|\n| {aspect} | {r} |",
    "**Rating: {r} out of {high}**\n\n**Strengths**\n- {reason}\n\n**Weaknesses**\n- {reason}",
    "I'd say this is a {r}. {reason}", "Let me think step by step.\n1. {reason}\n2. {reason}\n3. {reason}\nTherefore, the rating is {r}.",
    "{reason} Thus I am assigning a score of {r}.", "The text gets a {r} out of {high} from me. {reason}",
    "My evaluation: {r}/{high}. {reason}", "{aspect} score: {r}\n{reason}", "Score ({low} to {high}): {r}", "Final answer: {r}",
    "After careful consideration, I have decided to give this text a rating of {r} out of {high}. {reason}",
    "{{\"rating\": {r}}}", "```\nRating: {r}\n```", "RATING: {r}", "rating={r}", "Rating : {r}", "Rating - {r}/{high}", "Rating — {r}", "Answer: {r}\n\nExplanation: {reason}",
    "I rate the {aspect} of this text {r} out of {high}, because it reads well.", "In conclusion, it merits a score of {r}/{high}.",
    "{reason} That is why I chose {r} as the score.", "Considering all this, a score of {r} seems fair.", "A rating of {r} is appropriate here. {reason}",
    "The {aspect} of the text can be rated {r}/{high}.", "{r} (on a scale of {low} to {high})", "{r}/{high} - {reason}", "({r})", "\"{r}\"", "{r} points", "{r} out of {high} points. {reason}",
    "> {aspect}: {r}", "{aspect}:\n{r}", "{aspect}:\n\n**{r}/{high}**\n\n{reason}", "Assessment: {reason} {reason}\n\nScore:\n{r}", "## Score: {r}/{high}\n\n## Reasons\n1. {reason}\n2. {reason}",
    "Score: {r}\nConfidence: 0.8", "Score: {r}\nWord count: 112", "Score: {r}\n\nNote: {reason}", "This text would get a {r} from me.", "I would assign it {r}/{high}. {reason}",
    "Here is a breakdown:\n- Grammar: {odd}/{high}\n- Style: {r}/{high}\n\nOverall score: {r}/{high}", "Overall, {r}/{high}.", "Overall: {r} out of {high}. {reason}", "Total score: {r}/{high}",
    "I think the score should be {r}. {reason}", "The appropriate rating for this text is {r}.", "It is rated {r} out of {high}.", "Given the above, my final rating is: {r}.",
    "{reason}\n\n**Final Score**\n\n{r}/{high}", "{reason}\n\nFinal verdict: {r}/{high}", "Rating: \"{r}\"", "Rating: ({r})", "Rating: {r} - {reason}", "Rating: {r}, as it reads well.", "Rating: {r} because it reads well.",
    "You asked for a number between {low} and {high}; mine is {r}.",
]
HELD_OUT_UNREADABLE = [
    "Rating: between {low} and {high}", "Please give me the text first, then I will rate it from {low} to {high}.", "I would need the source to rate this. {reason}",
    "- {low}: bad\n- {mid}: fair\n- {high}: good\n\nWhich one do you want?", "Rating: {r}, or maybe {odd}.", "I first thought {r}, then {odd}.", "Either {r} or {odd}.",
    "My rating is {r}/{wrong}.", "Rating: {r} out of {wrong} points", "{aspect}: {r}/{wrong}\n{reason}", "Score: {r} (max. {wrong})", "Using a {wrong}-point scale, I rate this {r}.",
    "Number of sentences: {r}", "Length: {r} words", "There are {r} mistakes in the text.", "I found {r} errors.", "Chapter {r}", "Option {r} of {wrong}", "The text has {r} paragraphs and {odd} headings.",
    "If it had an ending, I would give it a {r}.", "This does not deserve a {r}.", "It is hard to give more than a {r}.", "At most {r}.", "Less than {r}", "Not {r}.", "Nothing like a {r} out of {high}.", "A {r} would be too generous.",
    "Response A: {r}\nResponse B: {odd}", "First text: {r}, second text: {odd}", "Grammar: {r}\nStyle: {odd}\nTone: {r}", "The scale goes from {low} to {high}.", "Rating (from {low} to {high}):", "Score: ___/{high}", "Score: ?/{high}",
    "The lowest score is {low} and the highest is {high}.", "Rating criteria:\n* {low} point - bad\n* {high} points - good", "Sorry, I am unable to score this from {low} to {high}.", "The match ended {high}-{low}.", "Rated R", "See page {r}.",
    "Published: {r}/{r}/2020", "It opens at {r}:30.", "Version {r}.0.1", "Rating: unknown. {reason}", "The average score of other texts is {r}.", "The reviewer on page 2 gave it a {r}.",
]


# A second set, written after the parser had been fixed to the first two.
SECOND_READABLE = [
    "Of course! I'd be glad to assist you with that.\n\n{reason} {reason}\n\nFor these reasons, I would assign a {aspect} rating of {r} out of {high}.",
    "Sure, here is my rating of the text:\n\n{aspect} - {r}/{high}", "  Sure! Based on the information you gave me, I would rate the text a {r}/{high} for {aspect}.\n\nReasons:\n\n1. {reason}\n2. {reason}",
    "Great question! {reason} I'd rate it {r}.", "**Evaluation**\n\n{reason}\n\n**Score: {r}**", "***{r}/{high}***", "Score:{r}", "score: {r}\nreason: {reason}", "{{\"reason\": \"it reads well\", \"score\": {r}}}",
    "Rating: {r} / {high}.", "Rating: {r}.0", "I give this text {r} out of {high}.", "We rate this text {r}/{high}.", "I'd go with a {r}. {reason}", "I'd go with {r}.", "Definitely a {r}.", "That's a {r} for me.", "It's a {r}.", "Probably {r}.",
    "{reason}\n\n{reason}\n\n{r}", "{r}\n{reason}\n{reason}", "{reason}\n\n**{r}/{high}**", "{aspect}\n{r}", "Score of {r}. {reason}", "Score = {r}/{high}", "The score that I would give is {r}.", "The {aspect} score of this text is {r} out of {high}.",
    "To sum up, the text scores a {r} on the {low}-{high} scale.", "With all this in mind, the text receives {r} out of {high} points.", "The text earns a {r}/{high} for {aspect}. {reason}", "This leads me to a rating of {r}.", "Hence the score of {r}.", "Hence, {r}/{high}.",
    "Criteria: {aspect}\nScore: {r}\nComment: {reason}", "Task: rate the text from {low} to {high}.\nRating: {r}", "1. {aspect}: {r}/{high}\n\n{reason}", "({r}/{high}) {reason}", "[{r}]", "[Score: {r}]", "(Score: {r}) {reason}", "#Rating: {r}", "Rating→{r}", "Rating：{r}",
    "My score: {r}", "Your text's score: {r}", "AI rating: {r}", "Rating for {aspect}: {r}", "Rating of {aspect}: {r}/{high}", "{aspect} rating: {r}/{high}. {reason}", "Judgement: {r}", "Verdict: {r}/{high}", "Grade: {r}", "{aspect} grade: {r}",
]
SECOND_UNREADABLE = [
    "Could you share the text? I will answer with a score of {low} to {high}.", "I don't feel able to give a number.", "No score. {reason}", "Score: none", "Rating: {r}/{r}/{r}", "{r}-{odd}", "{r} to {odd}", "{r}, {odd}", "{r} and {odd}", "{r}; {odd}",
    "Coherence {r}, fluency {odd}", "{r} for style, {odd} for grammar", "A {r} for style and a {odd} for grammar.", "Style gets a {r}, grammar a {odd}.", "Rating: {r} (style), {odd} (grammar)", "Score before: {r}\nScore after: {odd}",
    "I'd have said {r}, had it ended well.", "A {r} at best.", "Rating: at most {r}", "Rating: less than {r}", "Rating: >{r}", "Rating: {r}+", "You could argue for a {r} or a {odd}.", "A higher score than {r} is out of the question.",
    "{r} of {wrong} checks passed.", "{r}/{wrong} checks passed.", "Passed {r} out of {wrong} checks.", "It names {r} people.", "{r} people are named.", "Question {r}: is it clear?", "Text {r} is better.", "I prefer text {r}.", "Summary {r}", "The better text is number {r}.",
    "Score in stars: {r} of {wrong}", "Rating: {r} stars out of {wrong}", "{r} stars out of {wrong}", "Rating: {r}/{wrong} stars", "{r} out of a possible {wrong}.", "My rating on the {wrong}-point scale: {r}", "Rating (0-{wrong}): {r}", "The game ended {r}-{odd}, and the text says so.", "{reason} Rating:", "{reason} The score:",
    "Phone: {r}", "Price: ${r}", "Room {r}", "He scored {r}.", "The team scored {r} goals.", "The judges gave the singer a {r}.", "She was rated {r} by her pupils.", "It took {r} hours.", "At {r} in the morning.", "{r} years ago.",
]


# A third set, likewise.
THIRD_READABLE = [
    "Absolutely! Let's look at it closely.\n\n- {reason}\n- {reason}\n\nAll in all, I'd score the text {r}/{high}.", "Hello! {reason} My {aspect} rating: {r}", "Below is my assessment.\n\n**{aspect}:** {r} / {high}\n\n{reason}",
    "I have read both texts. {reason} As a result, I would give the text a {r} for {aspect}.", "Given these points, the {aspect} rating would be {r}.", "**Overall Score:** {r}/{high}\n\n{reason}", "**Overall Assessment: {r}/{high}**", "*Rating:* {r}", "_Score_: {r}",
    "Reasoning: {reason}\nScore: {r}\n", "Analysis:\n{reason}\n{reason}\n\nRating:\n\n{r}", "Explanation: {reason}\n\n{aspect}: {r}", "Step 1: {reason}\nStep 2: {reason}\nScore: {r}", "The score of the text is therefore {r}/{high}.", "Consequently I award it {r} out of {high}.",
    "It's about a {r}. {reason}", "I think it's a {r}.", "I believe this text deserves a score of {r}. {reason}", "I believe the text deserves {r} out of {high}.", "I feel that {r}/{high} is fair.", "Scored {r}/{high}.", "Rated: {r}/{high}", "Result: {r}", "Conclusion: {reason}\n\nRating: {r}",
    "Score: {r}\n\nThe text would score higher if it were shorter.", "Score: {r}. To get a {odd}, it would have to be changed.", "I gave it a {r}. {reason}", "I have given this text a score of {r}. {reason}", "{aspect}: {r} ({reason})", "{aspect}: {r} — {reason}", "{aspect}: {r}; {reason}", "{r}: {reason}",
    "{r} ({reason})", "`{r}`", "```json\n{{\"score\": {r}}}\n```", "'{r}'", "<rating>{r}</rating>", "Rating: <{r}>", "Rating: {r}|{high}", "SCORE: {r}/{high}\nREASON: {reason}", "Rating is {r}.", "Score is {r} out of {high}", "Score would be {r}.", "My score is {r} out of {high} because it reads well.",
]
THIRD_UNREADABLE = [
    "I can see {r} ways to improve it.", "Only {r} of them is right.", "A score cannot be given.", "Rating: see above", "Rating: good", "The rating is high.", "Rating: TBD\nDate: {r} May", "Updated {r} times.", "Score: pending", "Scores range from {low} to {high}.",
    "Rating: {r}?\nOr rather {odd}?", "Rating: {odd}... no, {r}.", "Version 1: {r}/{high}, version 2: {odd}/{high}", "The original gets {r}/{high}, the copy {odd}/{high}.", "{aspect}: {r}-{odd}", "{aspect}: {r} to {odd}", "{aspect}: {r}/{wrong}", "Overall: {r}/{wrong}", "Final score: {r}/{wrong}", "Overall score: {r} out of {wrong}. {reason}",
    "I rate it {r} out of {wrong}.", "It deserves {r}/{wrong}.", "Score: {r} of a possible {wrong}", "On a scale from 0 to {wrong}: {r}", "{r} on a scale of 1-{wrong}", "{r}/{wrong} {reason}", "Score: {r} | Max: {wrong}", "{r} stars (out of {wrong})", "{r}%  of {wrong}", "{r}.{r}.{r}",
    "{low} {mid} {high}", "{low}/{mid}/{high}", "Choose one: {low}, {mid}, {high}", "[ ] {low}\n[ ] {high}", "( ) {low} ( ) {high}", "{low}=bad, {high}=good", "{low}: bad; {high}: good", "Bad: {low}, good: {high}", "Score {low} if it is bad, {high} if it is good.", "Give a {low} if it is bad.", "I'd give a {r} only to a perfect text.", "Nobody would give it a {r}.", "It isn't worth a {r}.", "It can't be a {r}.", "It was almost a {r}.", "No more than {r}.",
]
