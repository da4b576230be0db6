"""Ratings as models and people write them: the reader finds the stated number or none, never another.

The lists describe how ratings are written, not how the parser works. The right value is what a
careful human reader would say; it is None where that reader would name no single rating.
In a form, {v} is the rating, {w} another number, {b} and {t} the ends of the scale, {o} another top.
"""

import math
import random
import re

from nlgjudge.judging.prompts import as_prompt
from nlgjudge.judging.reading import Reading

SEED = 20
CASES = 15000


def forms(text):
    """The forms between two bars; ⏎ is a line break."""
    return [form.replace("⏎", "\n") for form in text.replace("\n", "").split("¦")]


def numbers(text):
    return {form: float(number) for form, number in (pair.split("=") for pair in forms(text))}


def fill(form, **parts):
    return re.sub(r"\{([a-z])\}", lambda found: str(parts[found[1]]), form)


RATINGS = {
    (1, 5): "1 2 3 4 5 3.5 4.0 4.25 2,5 .5 0 6 9 12 45 5.5 -4",
    (1, 3): "1 2 3 1.5 2.0 2.75 2,5 .5 0 4 7 23 -2",
    (0, 1): "0 1 0.75 .25 1.0 0.5 0,8 2 85 1.5 -1 10",
    (1, 10): "1 3 7 8 10 7.5 8.0 9.25 8,5 .8 0 11 75 -8",
    (0, 100): "0 5 7 42 85 100 77.5 90.0 62,5 101 850 -3 0.85 .9",
    (-2, 2): "-2 -1 0 1 2 +1 +2 -1.5 -.5 0.5 1,5 -0,5 3 -3 22 -12",
}
WORDS = forms("zero¦one¦two¦three¦four¦five¦six¦seven¦eight¦nine¦ten")
SCRIPTS = forms("""
０１２３４５６７８９¦٠١٢٣٤٥٦٧٨٩¦۰۱۲۳۴۵۶۷۸۹¦०१२३४५६७८९¦০১২৩৪৫৬৭৮৯¦๐๑๒๓๔๕๖๗๘๙""")
LARGE = numbers("""
seventy-five=75¦forty two=42¦one hundred=100¦a hundred=100¦twelve=12¦twenty-four=24¦twenty one=21¦
ninety-nine point five=99.5¦fourteen=14¦one hundred and five=105¦five hundred=500¦two thousand=2000¦3 million=3e+06¦
1,000=1000¦1 000=1000¦4,000=4000¦2'000=2000¦3k=3000¦2 hundred=200¦5 thousand=5000¦1e2=100¦2e0=2¦1e1=10¦
two hundred=200¦3 dozen=36¦one-half=0.5""")
PARTS = numbers("""
½=0.5¦ ½=0.5¦ 1/2=0.5¦ and a half=0.5¦ and 1/2=0.5¦¼=0.25¦¾=0.75¦ 3/4=0.75¦ and three quarters=0.75¦-and-a-half=0.5¦
⅕=0.2¦ & ½=0.5""")
MARKS = forms(r"""
**{v}**¦*{v}*¦__{v}__¦_{v}_¦***{v}***¦`{v}`¦"{v}"¦'{v}'¦“{v}”¦[{v}]¦[[{v}]]¦({v})¦<b>{v}</b>¦「{v}」¦
<strong>{v}</strong>¦$\boxed{{v}}$¦\boxed{{v}}¦$\boxed{\text{{v}}}$¦${v}$¦\({v}\)¦\[{v}\]¦**[{v}]**¦$$\mathbf{{v}}$$¦
```⏎{v}⏎```¦【{v}】¦<u>{v}</u>¦<span style="color:red">{v}</span>""")
HEDGES = forms("""
about ¦approximately ¦roughly ¦~¦≈ ¦a solid ¦a strong ¦around ¦exactly ¦only ¦a clear """)
BOUNDS = forms("""
not ¦not a ¦at least ¦at most ¦up to ¦less than ¦more than ¦under ¦over ¦<¦≥ ¦<= ¦> ¦below ¦above ¦no more than ¦
not quite ¦almost ¦nearly ¦anything but a ¦never ¦$¦€¦page ¦isn't ¦no higher than ¦≠ """)
SCALED = forms("""
 on a scale of {b} to {t}¦ on a scale from {b} to {t}¦ on a {b}-{t} scale¦ (scale: {b} to {t})¦ (scale {b}–{t})¦
 on the scale {b}..{t}¦ ({b} = worst, {t} = best)¦, where {t} is the best""")
TOPS = forms("""
/{t}¦ / {t}¦ out of {t}¦ of {t}¦ (out of {t})¦/{t}.0¦ out of a possible {t}¦ ({b}-{t})¦／{t}¦ sur {t}¦ (max {t})¦
 (maximum: {t})¦ out of {t} points¦/{t} points¦ of {t} possible points¦/{t}.¦⁄{t}¦/**{t}**""")
OTHER_TOPS = forms("""
/{o}¦ / {o}¦ out of {o}¦ of {o}¦ (out of {o})¦/{o} points¦ out of {o} stars¦／{o}¦ (max {o})¦⁄{o}¦
 out of a possible {o}¦ on a scale of 1 to {o}¦ on a 1-{o} scale¦ (scale: 1-{o})¦ of {o} points""")
REMARKS = forms("""
¦.¦!¦ points¦ pts¦ marks¦分¦ point(s)¦ (good)¦ - good¦ – good¦ — good¦: good¦, good¦; it reads well¦
 because it is short¦ overall¦ for fluency¦ (some slips)¦ = good¦ -> good¦ (2 slips)¦, with 2 errors¦
 - 3 slips in 20 lines¦ because 2 of 7 facts are missing¦ (confidence: 2)¦ (confidence: 80%)¦ (p. 2)¦
. It has 3 slips.¦. In 2019 it had 1.¦ (see section 2.1)¦ since 1 of 3 names is wrong¦ ± 0.5¦ +/- 1""")
NOT_UNITS = forms("""
 errors¦ words¦ of the facts¦ sentences¦ grammatical mistakes¦ km¦th¦x¦k¦ May 2020¦:30 pm¦ years¦ times¦-year-old¦
 typos¦ facts are wrong¦ of the 9 facts¦ seconds¦ out of the 9 names¦ kg¦/1/2020""")
PERCENT = forms("%¦ %¦ percent¦ per cent¦％¦ pct¦%.¦% (good)¦%**¦ percent.")
SEVERAL = forms("""
{v}-{w}¦{v} - {w}¦{v}–{w}¦{v} – {w}¦{v}—{w}¦{v}~{w}¦{v} to {w}¦{v} or {w}¦{v} and {w}¦{v} through {w}¦
between {v} and {w}¦from {v} to {w}¦either {v} or {w}¦{v} (or {w})¦{v}, maybe {w}¦{v}, possibly {w}¦
{v}/{t} or {w}/{t}¦{v}-{w}/{t}¦{v}–{w} out of {t}¦{v} / {w} (undecided)¦{v}|{w}¦{v}; {w}¦{v} & {w}¦{v}...{w}¦
{v} or even {w}¦{v}, perhaps even {w}¦{v} (maybe {w})¦**{v}**-**{w}**¦**{v}** or **{w}**¦{v} vs. {w}¦
somewhere between {v} and {w}¦
{v} to {w} points¦{v}-{w} stars¦{v}/{w}/{t}¦{v}—or {w}¦{v} {w}¦{v}-to-{w}¦[{v}, {w}]¦({v}, {w})¦a {v} or a {w}¦
{v} up to {w}¦{v}..{w}¦{v}–{w}%¦{v} if strict, {w} if lenient¦{v} for style, {w} for grammar¦`{v}` or `{w}`¦
{v} ou {w}¦{v} bis {w}¦{v} - or {w}¦{v} until {w}¦{v} ≤ x ≤ {w}""")
# Calculations: {a} + {c}, the mean of {p} and {q}, {q} - 1 and half of {d} are all the rating.
WORKED = forms("""
{a} + {c} = {v}¦{a}+{c}={v}¦({a} + {c}) = {v}¦({p}+{q})/2 = {v}¦({p} + {q}) / 2 = {v}¦{q} - 1 = {v}¦{q}-1={v}¦
{q} - 1 (for slips) = {v}¦{q} minus 1 = {v}¦average of {p} and {q} = {v}¦{d} / 2 = {v}¦{v} (average of {p} and {q})¦
({p} + {q}) / 2¦{p} + 1¦{a} plus {c} equals {v}¦mean({p}, {q}) = {v}¦{v} = {a} + {c}¦{v} ({a} + {c})¦
{p} + 1 bonus point = {v}¦{q} − 1 → {v}¦{d} ÷ 2 = {v}¦$\\frac{{p} + {q}}{2} = {v}$¦{v} ({q} - 1)¦avg({p},{q}) ⇒ {v}¦
{p} (base) + 1 (style) = {v}""")
CORRECTED = forms("""
{w} -> {v}¦{w} → {v}¦{w} => {v}¦{w}→{v}¦{w} (fair) -> {v}¦{w}. Actually, {v}.¦{w}. Wait, {v}¦{w}, no, {v}¦
{w}... no, {v}¦~~{w}~~ {v}¦{w}. Correction: {v}¦{w} (changed to {v})¦{w}, rounded up to {v}¦{w} (rounded to {v})¦
{w}. On reflection, I would say {v}.¦{w}⏎⏎Final rating: {v}¦{w}, or rather {v}¦{w}⏎Revised rating: {v}¦
{w}, upgraded to {v}¦lowered from {w} to {v}¦{w} at first, but {v} in the end¦{w}? No, {v}.¦{w}. Sorry, {v}.¦
{w}⏎⏎**Edit:** {v}¦{w} — make that {v}¦{w}, adjusted to {v}¦changed from {w} to {v}¦
{w} initially, {v} after a second reading¦{w}. Hmm, let me change that to {v}.¦{w}/{t} -> {v}/{t}¦{w} - I mean {v}¦
{w}. I misread the text; it is {v}.¦<del>{w}</del> {v}¦{w}⏎⏎Hmm, on reflection I'd say {v}.¦{w}.⏎Wait, {v}.¦
{w}⏎⏎Wait, I missed a typo. {v}.¦{w}.⏎Actually, let me lower it to {v}.¦{w} - it reads well.⏎I was mistaken: {v}""")
BARE = forms("{v}¦{v}⏎¦ {v}¦# {v}¦> {v}¦- {v}¦* {v}¦= {v}¦<|assistant|>{v}¦{v}</s>¦{v}¦{v}")
FRAMES = forms(r"""
Rating: {v}¦Score: {v}¦**Rating:** {v}¦**Rating**: {v}¦**Score: {v}**¦### Rating⏎{v}¦## Score⏎⏎{v}¦Rating = {v}¦
rating:{v}¦RATING: {v}¦Rating：{v}¦- Score: {v}¦> Rating: {v}¦* **Score:** {v}¦Rating {v}¦Final score: {v}¦
Final Rating: {v}¦My rating: {v}¦My rating is {v}¦The rating is {v}¦The score is: {v}¦The rating is therefore {v}¦
Overall rating: {v}¦Overall: {v}¦1. Rating: {v}¦Q2. Score: {v}¦Fluency: {v}¦Fluency score: {v}¦
Fluency ({b}-{t}): {v}¦Fluency rating is {v}¦Rating for fluency: {v}¦Rating:⏎⏎{v}¦I would rate this {v}¦
I would rate the fluency of the text as {v}¦I'd give the summary a {v}¦I rate it {v}¦I would assign a score of {v}¦
Answer: {v}¦The answer is {v}¦Evaluation: {v}¦Result: {v}¦Verdict: {v}¦<score>{v}</score>¦<rating>{v}</rating>¦
<answer>⏎{v}⏎</answer>¦Rating ({b}-{t}): {v}¦评分：{v}¦得分: {v}¦Score (out of {t}): {v}¦So the final rating is {v}¦
Therefore, I give it {v}¦Grade: {v}¦Note : {v}¦On a scale of {b} to {t}, I would rate this {v}¦Bewertung: {v}¦
Puntuación: {v}¦Step 3: Rating: {v}¦It deserves a {v}¦This text earns a score of {v}¦| Rating | {v} |¦
| Metric | Score |⏎|---|---|⏎| Fluency | {v} |¦Criterion 1 - Fluency: {v}¦
Evaluation Form (scores ONLY):⏎- Fluency: {v}¦Thus: {v}¦=> Rating: {v}""")
DASHED = forms("""
Score - {v}¦Rating – {v}¦Fluency — {v}¦Rating:- {v}¦**Score** - {v}¦Fluency ({b}-{t}) - {v}""")
WRONG_SCALE = forms("""
Rating (1-{o}): {v}¦Score (out of {o}): {v}¦On a scale of 1 to {o}, I would rate this {v}¦Score [0-{o}]: {v}¦
Rating (scale of 1 to {o}): {v}¦On a {o}-point scale, it is a {v}¦Score (max. {o}): {v}¦Rating: {v} von {o}¦
Rating: {v} ({o} = perfect)¦{o} is the best rating.⏎Rating: {v}¦{"score": {v}, "max_score": {o}}¦
{"rating": {v}, "out_of": {o}}¦Rating: {v} из {o}¦Rating: {v}, max score: {o}¦{"score": {v}, "scale": "1-{o}"}""")
OTHERS = forms("""
Confidence score: {v}¦Confidence: {v}¦**Confidence:** {v}¦Confidence ({b}-{t}): {v}¦BLEU score: {v}¦BLEU: {v}¦
ROUGE-2: {v}¦ROUGE-L score: {v}¦BERTScore: {v}¦F1 score: {v}¦METEOR score = {v}¦Maximum score: {v}¦Max score: {v}¦
Minimum rating: {v}¦Highest possible rating: {v}¦Rating scale: {v}¦Rating scale: {b}-{v}¦Number of errors: {v}¦
Errors: {v}¦Error count: {v}¦Word count: {v}¦Sentences: {v}¦Threshold: {v}¦Weight: {v}¦Passing score: {v}¦
Score threshold: {v}¦Baseline score: {v}¦Previous rating: {v}¦Previous score: {v}¦Human rating: {v}¦Human score: {v}¦
Reference score: {v}¦Expected score: {v}¦Target score: {v}¦Example rating: {v}¦Score weight: {v}¦z-score: {v}¦
Certainty: {v}¦If Rating: {v} then perfect¦Temperature: {v}¦If the score is {v}, the text is fluent.¦
A rating of {v} would mean a perfect text.¦Version: {v}¦Page {v}¦A score of {v} is for perfect texts.¦
A {v} would require better grammar.¦It does not deserve a {v}.¦I cannot give it a {v}.¦It is not a {v}.¦
To get a {v}, it needs better grammar.¦It falls short of a {v}.¦My colleague rated it {v}.¦
Other reviewers gave it a {v}.¦I considered a {v}.¦Rating of the other text: {v}¦
The previous annotator's score was {v}.¦The rating is not {v}.¦I would not rate this {v}.¦Seed: {v}¦
Texts with a rating of {v} have no slips.¦Rating {v} = perfect¦Score {v}: the text has no slips¦Length: {v}¦
The highest score is {v}.¦The score ranges up to {v}.¦Ratings given so far: {v}¦Question {v}¦Example {v}:¦
Should the rating be {v}?¦Why not a {v}?¦The text is about a rating of {v}.¦Standard deviation: {v}¦
Lack of fluency: {v}¦$\\boxed{\\frac{{v}}{7}}$¦Rating: $\\frac{{v}}{7}$""")
WHOLE = forms("""
score: {v}⏎confidence: {w}¦<score value="{v}"/>¦<confidence>{w}</confidence><score>{v}</score>¦
<max_score>{t}</max_score>⏎<score>{v}</score>¦<reason>Not {w}, as 2 names are wrong.</reason><score>{v}</score>¦
<think>Maybe {w}? It has 2 slips.</think>⏎{v}¦<think>The rating should be {w}.</think>⏎Rating: {v}¦
| Criterion | Max | Score |⏎|---|---|---|⏎| Fluency | {t} | {v} |¦Initial rating: {w}⏎Final rating: {v}¦
I first thought of {w}, but the slips are minor.⏎⏎Rating: {v}¦Not {w} but {v}.¦Rating: not {w} but {v}¦
It is better than {w}, so my rating is {v}.¦Human rating: {w}. My rating: {v}.¦Rating (not {w}): {v}¦
Prompt: Rate the text (e.g. Rating: {w}).⏎Answer: Rating: {v}¦Score: {v} (previously {w})¦
I would rate this {v} rather than {w}.¦Rating: {v}, not {w}.¦Rating: {v} (instead of {w})¦Rating: {v} > {w}""")
JSON = forms("""
{"rating": {v}}¦{"score": "{v}"}¦{'score': {v}}¦```json⏎{"score": {v}}⏎```¦{"score": {v}, "max_score": {t}}¦
{"max_score": {t}, "score": {v}}¦{"reason": "2 of 7 facts", "score": {v}}¦{"fluency": {v}}¦{score: {v}}¦
{"scale": [{b}, {t}], "rating": {v}}¦{"rating": {v}, "confidence": {w}}¦{"confidence": {w}, "rating": {v}}¦
{"criteria": [{"score": {w}}], "overall": {v}}¦{"thought": "3 slips, so not {w}",⏎ "score": {v}}""")
NOTHING = forms("""
Rating: ?/{t}¦Rating: _/{t}¦Score: /{t}¦Rating: X out of {t}¦Rating: N/A ({v} sentences)¦Rating: good ({v} slips)¦
Rating: none. It has {v} errors.¦Please rate from {b} to {t}.¦I would rate this on a scale of {b} to {t}.¦
Rating: [your rating, {b}-{t}]¦Rating ({b}-{t}):¦Rating: {b}-{t}¦The rating depends on {v} things.¦~~{v}~~¦{v}⏎{w}¦
{v}⏎⏎{w}¦Rating: {v}⏎Rating: {w}¦Fluency: {v}⏎Coherence: {w}¦Rater 1: {v}⏎Rater 2: {w}¦Score A: {v}, Score B: {w}¦
Summary 1: {v}⏎Summary 2: {w}¦| Fluency | {v} |⏎| Coherence | {w} |¦<confidence>{v}</confidence>¦
<score></score><errors>{v}</errors>¦<think>Rating: {v}¦<think>It is {v}.</think>¦
I cannot rate this. {v} facts are missing.¦Rating: tbd (see {v})¦Possible ratings: {v}, {w}¦
Rating: {v}? Rating: {w}?¦Some would say {v}, others {w}.¦I am torn between {v} and {w}.¦Score: -¦
Rating: unclear; {v} or worse¦{b} = bad, {t} = good¦Score: {v}⏎⏎Score: {w}¦Rating: the top {v}%""")
EMPTY_JSON = forms("""
{"score": {v}, "rating": {w}}¦{"scores": [{v}, {w}]}¦{"score": null, "errors": {v}}¦{"confidence": {v}}¦
{"max_score": {v}}¦{"errors": {v}}¦{"score": "{v}-{w}"}¦{"score": [{v}, {w}]}""")
BEFORE = forms("""
¦¦¦It has slips.⏎¦In 2019 Hull won 222-0.⏎⏎¦It covers 2 of 7 facts.⏎¦Arsenal beat Chelsea 3-2.⏎⏎¦
1. It is short.⏎2. It is clear.⏎⏎¦Reasoning: 30% of it is wrong.⏎¦Section 2.1 is wrong.⏎⏎¦
Step 1: I read it.⏎Step 2: I compared it.⏎⏎¦The final score was 3 to 2, it says.⏎¦Facts: 2/7 correct.⏎⏎¦
The scale goes from {b} to {t}.⏎¦On a scale of {b} to {t}, how fluent is it?⏎⏎¦It was founded in 1984.⏎¦
The text says the film got 2 stars.⏎¦Of 5 sentences, 3 are fluent.⏎¦- Slips: 2⏎- Names: 3⏎⏎¦{b} = bad, {t} = good⏎⏎¦
At 4:30 pm, 2 men left on 3 May.⏎⏎¦It has 1 slip (line 2).⏎⏎---⏎""")
AFTER = forms("""
¦¦¦⏎⏎It is well done.¦⏎The 3 facts are right.¦⏎⏎Explanation: it has 2 slips.¦⏎In 2019 it won 4-1.¦
⏎⏎1. It is clear.⏎2. It is short.¦⏎Confidence: 5¦⏎- It omits 1 of 3 names.¦⏎⏎It covers 2 of 7 facts.¦
⏎⏎Explanation:⏎- Grammar: 2 slips⏎- Names: 1 is wrong¦⏎(Scale: {b} to {t})¦⏎⏎Note: 50% is off-topic.¦
⏎⏎The film won 3 of 5 prizes in 2020.¦⏎⏎Reason: the first 2 lines repeat.¦⏎Maximum score: {t}""")
NOISE = [*filter(None, BEFORE + AFTER)]
PLAIN = forms(r"""
{v}¦{v}.¦ {v}⏎¦**{v}**¦# {v}¦`{v}`¦"{v}"¦[{v}]¦[[{v}]]¦({v})¦{v}!¦Rating: {v}¦Score: {v}¦**Score:** {v}¦
**Rating: {v}**¦**Rating**: {v}¦- Rating: {v}¦* Score: {v}¦> Rating: {v}¦Final score: {v}¦Final Rating: **{v}**¦
Overall: {v}¦Overall score: {v}¦My rating is {v}.¦The score is {v}.¦The rating is: {v}¦Fluency: {v}¦Grade: {v}¦
Fluency score: {v}¦- Fluency: {v}¦Rating for fluency: {v}¦Score ({b} to {t}): {v}¦Rating ({b}-{t}): {v}¦
I would rate this {v}.¦I would rate this text a {v}.¦I'd give it a {v}.¦I would give this a score of {v}.¦
I rate the fluency of the text as {v}.¦{v} - good¦{v} (good)¦{v}. The text is fluent.¦{v}: good¦{v}, good¦
## Score⏎⏎{v}¦### Rating: {v}¦Score:⏎{v}¦Rating:⏎⏎**{v}**¦{v}⏎⏎It is well done.¦{v}⏎The text is fluent.¦
Rating: {v}⏎⏎The text is fluent.¦The text is fluent.⏎⏎Rating: {v}¦The text is fluent.⏎⏎{v}¦\boxed{{v}}¦$\boxed{{v}}$¦
The answer is $\boxed{{v}}$.¦<score>{v}</score>¦<rating>{v}</rating>¦Answer: {v}¦Rating: [[{v}]]¦Rating: {v} (good)¦
Rating: {v} - good¦Rating: {v} points¦Rating = {v}¦rating:{v}¦Explanation: fluent.⏎Score: {v}¦{"rating": {v}}¦
Rating: {v}. It has 3 slips.¦<think>It is fluent.</think>⏎{v}¦| Rating | {v} |¦Rating: "{v}"¦
On a scale of {b} to {t}, I would rate this {v}.¦{v} on a scale of {b} to {t}¦**Final Score: {v}**""")
PLAIN_TOP = forms("""
{v}/{t}¦{v} / {t}¦{v} out of {t}¦{v} out of {t}.¦{v} of {t}¦**{v}/{t}**¦**{v}**/{t}¦Score: {v}/{t}¦
Rating: {v} out of {t}¦**Rating:** {v}/{t}¦I would rate this {v} out of {t}.¦I'd give it {v}/{t}.¦
The fluency score is {v}/{t}.¦Score (out of {t}): {v}¦Rating: {v}/{t} - good¦{v}/{t}⏎⏎It is well done.¦
My rating is {v} out of {t}.¦Overall score: {v}/{t}¦{v} (out of {t})¦<score>{v}/{t}</score>""")
STATEMENTS = forms("single¦single¦single¦off¦percent¦several¦several¦worked¦corrected¦stars")
REPLIES = forms("stated¦stated¦stated¦stated¦other¦both¦whole¦json¦nothing¦wrong scale")


def spell(rng, scale, plain=False):
    """A number in one of its spellings, and the number."""
    rating = rng.choice(RATINGS[scale].split())
    number = float(rating.replace(",", "."))
    whole = rating.isdigit() and int(rating) <= 10
    draw = rng.random()
    if plain or draw < 0.55:
        return rating, number
    if draw < 0.63:
        return rng.choice([*LARGE.items()])
    if draw < 0.72 and whole:
        part = rng.choice([*PARTS])
        return rng.choice([rating, WORDS[int(rating)]]) + part, number + PARTS[part]
    if rating[0] == "-":
        size = rating[1:]
        ways = [f"−{size}", f"–{size}", f"- {size}", f"− {size}", f"-**{size}**", f"minus {size}"]
        ways += [f"negative {size}", f"－{size}", f"**-**{size}", f"﹣{size}", f"-&nbsp;{size}"]
        if size.isdigit() and int(size) <= 10:
            word = WORDS[int(size)]
            ways += [f"minus {word}", f"-{word}", f"Negative {word}"]
        return rng.choice(ways), number
    script = rng.choice(SCRIPTS)
    ways = ["".join(script[int(sign)] if sign.isdigit() else sign for sign in rating)]
    if whole:
        word = WORDS[int(rating)]
        ways += [word, word.title(), word.upper()]
        ways += [f"{rating}\ufe0f\u20e3"] if number < 10 else []
        ways += [chr(0x245F + int(rating))] if number else []
    if re.fullmatch(r"\d\.\d", rating):
        first, last = WORDS[int(rating[0])], WORDS[int(rating[2])]
        ways += [f"{first} point {last}", rating.replace(".", "\\."), rating.replace(".", "．")]
        ways += [
            rating.replace(".", "·"),
            ways[0].replace(".", "٫"),
            "**{}**.{}".format(*rating[::2]),
        ]
    return rng.choice(ways), number


def value(number, scale):
    """The rating that a number states; None off the scale, or for a share on a scale to 100."""
    share = scale[1] == 100 and 0 < number < 1
    return number if scale[0] <= number <= scale[1] and not share else None


def stars(rng, scale):
    """Stars, with empty ones up to a top or without; without, they count only up to three or five."""
    top = rng.choice([3, 5, 10])
    full = rng.randint(1, min(5, top - 1))
    sign, empty = rng.choice(["★☆", "⭐☆", "★✩"])
    if scale[1] in (3, 5) and rng.random() < 0.5:
        return sign * full, value(full, scale)
    return sign * full + empty * (top - full), full if top == scale[1] else None


def statement(rng, scale, parts):
    """What stands in the place of a rating, and its right value."""
    v, number = parts["v"], parts["number"]
    right = value(number, scale)
    kind = rng.choice(STATEMENTS)
    if kind == "single":
        tops = SCALED + TOPS if scale[0] >= 0 else SCALED
        text = v + rng.choice([rng.choice(tops), ""])
        text = fill(rng.choice(MARKS), v=text) if rng.random() < 0.4 else text
        hedge = rng.choice(HEDGES) if rng.random() < 0.1 else ""
        return hedge + text + rng.choice(REMARKS), right
    if kind == "off":
        plain, _ = spell(rng, scale, plain=True)
        other_tops = OTHER_TOPS if scale != (0, 1) else []  # there 4/5 may be the fraction 0.8
        after = rng.choice(other_tops + NOT_UNITS)
        return rng.choice([rng.choice(BOUNDS) + plain, plain + after]), None
    if kind == "percent":
        share = {100: number, 1: number / 100}.get(scale[1], math.nan)
        return v + rng.choice(PERCENT), share if scale[0] <= share <= scale[1] else None
    if kind == "several":
        return rng.choice(SEVERAL), None
    if kind == "stars":
        return stars(rng, scale)
    if kind == "corrected":
        return rng.choice(CORRECTED), right
    sums = {"a": number - 1.5, "c": 1.5, "p": number - 1, "q": number + 1, "d": 2 * number}
    sums = {name: f"{size:g}" for name, size in (sums | {"v": number}).items()}
    return fill(rng.choice(WORKED), **sums), right


def generated(rng):
    """A reply, its scale and its right value."""
    scale = rng.choice([*RATINGS])
    kind = rng.choice(REPLIES)
    (v, number), (w, another) = (spell(rng, scale, kind == "json") for _ in "vw")
    if number == another:
        return generated(rng)
    other_top = rng.choice([top for top in (4, 7, 10, 20, 50, 1000) if top != scale[1]])
    parts = {"v": v, "w": w, "b": scale[0], "t": scale[1], "o": other_top, "number": number}
    right = value(number, scale)
    if kind == "stated":
        parts["v"], right = statement(rng, scale, parts)
        parts["v"] = fill(parts["v"], **parts | {"v": v})
        dashed = DASHED if scale[0] >= 0 and parts["v"][0].isalnum() else []
        text = fill(rng.choice(rng.choice([BARE, FRAMES, FRAMES]) + dashed), **parts)
    elif kind == "other":
        text, right = fill(rng.choice(OTHERS), **parts), None
    elif kind == "both":
        lines = [fill(rng.choice(OTHERS), **parts | {"v": w}), fill(rng.choice(FRAMES), **parts)]
        text = rng.choice(["\n", "\n\n"]).join(lines if rng.random() < 0.7 else lines[::-1])
    elif kind == "whole":
        text = fill(rng.choice(WHOLE), **parts)
    elif kind == "json":
        both = [(form, right) for form in JSON] + [(form, None) for form in EMPTY_JSON]
        form, right = rng.choice(both)
        text = fill(form, **parts)
    elif kind == "nothing":
        text, right = fill(rng.choice(NOTHING + NOISE), **parts), None
    else:
        text, right = fill(rng.choice(WRONG_SCALE), **parts), None
    if parts["v"][0] in "-–>" and re.search(r"^[>*#= -]*" + re.escape(parts["v"]), text, re.M):
        return generated(rng)  # a list item or a sign, a quotation or a bound
    before, after = (fill(rng.choice(noise), **parts) for noise in (BEFORE, AFTER))
    return before + text + after, scale, right


def test_a_written_rating_is_read_as_itself_or_not_at_all():
    rng = random.Random(SEED)
    replies = {}
    while len(replies) < CASES:
        text, scale, right = generated(rng)
        replies.setdefault((text, rng.choice(["form", "stars", "number"]), scale), right)
    wrong = []
    for (text, form, scale), right in replies.items():
        found = Reading(form, scale).read(text).score
        if not math.isnan(found) and (right is None or not math.isclose(found, right)):
            wrong.append((text, form, scale, found, right))
    assert not wrong, f"{len(wrong)} wrong, e.g. " + "\n".join(map(repr, wrong[:20]))


def test_plain_forms_are_read():
    tried = [("★" * n + "☆" * (5 - n), "stars", (1, 5), n) for n in range(1, 6)]
    for scale, ratings in RATINGS.items():
        for rating in re.findall(r"(?<!\S)-?\d+(?:\.\d+)?(?!\S)", ratings):
            right = value(float(rating), scale)
            for template in PLAIN + (PLAIN_TOP if scale[0] >= 0 else []):
                text = fill(template, v=rating, b=scale[0], t=scale[1])
                tried += [(text, "form", scale, right)] if right is not None else []
    found = [Reading(form, scale).read(text).score for text, form, scale, _ in tried]
    missed = [(*case, score) for case, score in zip(tried, found) if score != case[3]]
    assert not [case for case in missed if not math.isnan(case[4])]
    assert len(missed) <= 0.01 * len(tried), f"{len(missed)} of {len(tried)} unread: {missed}"


# Choices between two labelled texts: {v} is the verdict, {w} the other label.
PAIRS = [("A", "B"), ("Output (a)", "Output (b)"), ("Response 1", "Response 2"), ("1", "2")]
CHOSEN = forms("""
{v}¦{v}.¦**{v}**¦({v})¦[[{v}]]¦Answer: {v}¦The answer is {v}.¦Verdict: {v}¦**Winner:** {v}¦It drags on.⏎Better: {v}¦
The better one is {v}.¦My choice: {v}¦Final decision: {v}¦{v}⏎⏎It reads well.¦{v}, because it reads well.¦
{w}: It drags on.⏎{v}: It is lively.⏎⏎Better: {v}¦Which is better, {w} or {v}?⏎Answer: {v}¦
{w} is bland.⏎⏎Answer: {v}""")
UNDECIDED = forms("""
{v} or {w}¦{v}/{w}¦Both {v} and {w}¦{v}: It drags on.⏎{w}: It is lively.¦{v} - weak, two slips.⏎{w} - strong.¦
{v}. It repeats the question. {w}. It answers it.¦{v}⏎⏎{w} is livelier.¦Answer: {v}⏎⏎Wait, on reflection {w}.¦
Answer: {v}. Actually, {w}.¦{v}.⏎Hmm, I misread it: {w}, in fact.¦{v} is better: {w} - weak.¦Answer: {v}⏎Answer: {w}¦
If {v} were shorter.¦Neither {v} nor {w}.¦Not {v}.¦{v} is worse.¦Unlike {v}, it is short.""")


def test_a_choice_is_read_as_itself_or_not_at_all():
    """The labels are bound to the texts behind them, so exchanged texts exchange what a reply means."""
    read = 0
    for first, second in PAIRS:
        text = f"{first}: {{{{hypothesis}}}}\n{second}: {{{{other}}}}\nWhich is better?"
        exchanged = f"{first}: {{{{other}}}}\n{second}: {{{{hypothesis}}}}\nWhich is better?"
        for prompt, scores in ((text, (1, 0)), (exchanged, (0, 1))):
            reading = as_prompt(prompt, aspect="style").reading
            for (v, w), score in zip([(first, second), (second, first)], scores):
                found = [reading.read(fill(form, v=v, w=w)).score for form in CHOSEN]
                assert {*found} <= {score, *filter(math.isnan, found)}, dict(zip(CHOSEN, found))
                read += sum(one == score for one in found)
                found = {form: reading.read(fill(form, v=v, w=w)) for form in UNDECIDED}
                assert all(math.isnan(score) and reason for score, reason in found.values()), found
    assert read > 0.9 * len(CHOSEN) * len(PAIRS) * 4
