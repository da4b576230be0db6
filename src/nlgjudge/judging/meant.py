"""Tell whether a sentence means its number as a rating: neither denied, nor imagined, defined, or a count."""

import re

from nlgjudge.judging.cleaning import bounds
from nlgjudge.judging.numbers import has_stars, holds, reading_of, value_of

# "I would not give it a 5": up to six words between, none of which begins a new thought.
_DENIED = re.compile(
    r"""
    (?: n't | \b (?: not | never | cannot | nor | hardly | nothing | nobody | no [ ] one | nowhere
         | (?<! no [ ] ) doubt
                   | far [ ] from ) )
    (?:
        [ ]
        (?! (?: but | so | and | therefore | thus | hence | yet | resulting | earning | which
              | because | making
              | with | in | i ) \b )
        [\w']{1,20}
    ){0,6}
    [ ]? \Z
    """,
    re.VERBOSE,
)
# "It would have been a 5", "had it been shorter"
_IMAGINED = re.compile(
    r"""
    \b (?: would | could | might | should ) [ ] have \b (?! [ ] to\b )
  | \b had [ ] (?: it | this | the | they ) \b
  | \b were [ ] (?: it | the ) \b
  | \b unless \b
    """,
    re.VERBOSE,
)
# "It would have been a 5, but as it stands it's a 3": what is imagined ends here
_BUT = re.compile(r"\b(?:but(?! for\b)|as it (?:stands|is))\b")
# "If it named the year, I would give it a 5"; not "it asks if the man would come"
_CONDITION = re.compile(
    r"""
    (?<! even [ ] ) (?<! as [ ] ) (?<! sure [ ] ) (?<! see [ ] ) (?<! know [ ] ) (?<! unclear [ ] )
    (?<! ask [ ] ) (?<! asks [ ] ) (?<! asking [ ] ) (?<! wonder [ ] ) (?<! wonders [ ] )
    \b if [ ] (?: it | this | that | they | only | you | i [ ] could [ ] (?: give | rate | score | award )
                | the [ ] \w{1,20} ) \b
    """,
    re.VERBOSE,
)
_MODAL = re.compile(r"\b(?:would|could|might)\b|'d\b")
# "To get a 5 it would need …"
_AIMED = re.compile(
    r"(?<!me )(?<!us )(?<!have )(?<!ought )\bto (?:get|earn|receive|deserve|achieve|reach|merit|be|score)"
    r"(?: \w{1,20}){0,4} ?\Z"
)
# "I consider it to be a 4"
_HELD_TO_BE = re.compile(
    r"\b(?:consider|find|deem|judge|believe|take|feel) (?:it|this|that|(?:the|this) [a-z]{1,20}) to be"
    r"(?: \w{1,20}){0,3} ?\Z"
)
# "He would give it a 4", "the film gets 4 stars", "the player's rating is 4"
_THEIRS = re.compile(
    r"""
    (?: \b (?: he | she | they | others | some | people | critics? | reviewers? | annotators? | readers?
         | viewers? | users | customers | guests | fans | raters | evaluators | judges
         | (?: the | an? ) [ ] (?: author | writer | critic | student | pupil | player | team | film
         | movie | hotel
             | restaurant | school | teacher | judge | show | book | album | game ) )
    (?: [ ] (?: would | might | could | may | will | also | has | have ) | 'd ){0,2}
    [ ] (?: gives? | gave | gets? | got | has | have | had | earn(?:s|ed)? | rate[sd]? | wants? | score[sd]?
          | receive[sd]? | say | says | said | award(?:s|ed)? | deserve[sd]? | was | were | is ) \b
  | \b (?: his | her | their ) [ ] (?: [a-z]{1,20} [ ] )? (?: score | rating | grade | mark )s?\b
  | \b (?! (?: summary | story | text | response | dialogue | translation | reply | output | answer | it
  | that | this
             | what | here | piece | one | passage | there | let ) 's )
    [a-z]{2,20} 's [ ] (?: [a-z]{1,20} [ ] )? (?: score | rating | grade | mark )s?\b )
    (?: [ ] [\w'-]{1,20} ){0,5} [ ]? \Z
    """,
    re.VERBOSE,
)
# "4 seems too generous", "a 5 can't be justified"
_TOO_MUCH = re.compile(
    r"(?: [a-z']{1,12}){1,4} too (?:high|low|generous|harsh|much|strict|lenient|kind|little|severe)\b"
    r"| is (?:out of reach|unattainable|a stretch|beyond|not)\b"
    r"| (?:can't|cannot|couldn't|could not|isn't|is not|won't|will not|doesn't|does not|wouldn't|would not)\b"
)
# "with a better ending it would be a 4", "fix the ending and it's a 4"; "it would be a 5 but for the ending"
_SUPPOSED = re.compile(
    r"(?:⋯ |• |\W){0,4}"
    r"(?:with (?:one |some |a few |a bit |a little |an? )?(?:better|more|fewer|another|clearer|less)\b"
    r"|on a (?:good|better|bad) day\b|if i were (?!to\b)|if i felt\b"
    r"|(?:fix|add|remove|delete|change|cut) .{0,80} and \b"
    r"|without (?:the|this|that|it|these|those)\b|otherwise\b|next time\b)"
)
_BUT_FOR = re.compile(
    r"[^.,;:]{0,40}\b"
    r"(?:without (?:the|this|that|it|these|those)|but for|with (?:an? )?(?:better|more|fewer|another|clearer|"
    r"some|less)|otherwise|in which case|next time|if (?!i\b|you\b|any|pressed|asked|forced))\b"
)
# "I was tempted to give it a 4"
_TEMPTED = re.compile(
    r"\b(?:tempted|want|wish|hesitant|hesitate|reluctant|wanted|was going|was about|planned|unfair|wrong|absurd|"
    r"unwilling|refuse|loath|hard|difficult|impossible|too [a-z]{2,12}) to(?: [\w']{1,20}){0,6} ?\Z"
    r"|\b(?:considered|contemplated|debated|thought about|thinking about|thinking of|toyed with) "
    r"(?:giving|rating|awarding|assigning|scoring)(?: [\w']{1,20}){0,6} ?\Z"
    # "keeps it from getting a perfect score of 5", "short of a 5"
    r"|\b(?:from (?:getting|earning|receiving|being|scoring|reaching|achieving|deserving|obtaining|an?)|"
    r"short of|shy of|away from|fall below)(?: (?:an?|the|full|perfect|higher|top|score|rating|mark|of)){0,5} ?\Z"
)
# "more than a 3", "closer to 4"
COMPARED = re.compile(
    r"\b(?:more|less|fewer|lower|higher|greater|above|below|under|least|most|between|almost|nearly|instead|"
    r"rather|than|closer?|beyond|short|except|neither|either)\b|n't\b"
)
# "1 = bad", "a score of 1 means …"
_DEFINED = re.compile(
    r"""
    [ ]?
    (?: = | means?\b | would [ ] (?: mean | imply | suggest | signify | denote )\b
      | indicates?\b | represents?\b | denotes?\b | stands?\b | being\b
      | corresponds?\b | requires?\b | are\b | would [ ] (?: indicate | require | need )\b
      | would [ ] be\b (?! [ ] (?: an? [ ] )? (?: my | what | fair | right | appropriate | reasonable
      | about | just ) )
      | is [ ] (?: for | given | the (?! (?: [ ] [a-z]{3,20} ){0,2} [ ] (?: score | rating | grade
      | number | mark ) \b ) | reserved | awarded | very | poor | bad | good | excellent | lowest
                 | highest | worst | best )\b )
    """,
    re.VERBOSE,
)
# "3 errors", "2 of the facts"
_COUNTED = re.compile(
    r"""
    [ ]
    (?: of [ ] (?: the | its | these | those | them | which | my | your )
      | by
      | (?: (?! (?: because | since | as | for | when | where | if | and | but | so | in | on
      | at ) [ ] ) \w{1,20} [ ] )?
        (?: errors? | mistakes? | typos? | facts? | sentences? | words? | issues? | problems? | times
          | paragraphs?
          | deducted | lost | off | years? | goals? | people | items? | days? | hours? | minutes? | questions?
          | reasons? | examples? | steps? | criteria | aspects? )
    ) \b
    """,
    re.VERBOSE,
)


def is_meant(match):
    """Whether the sentence means its number as a rating: neither denied, nor imagined, nor defined."""
    text = match.string
    left, right = bounds(text, match.start(), match.end())
    before = text[left : match.start("value")]
    after = text[match.end() : right]
    # Looking for a word is faster than looking for a pattern, and most sentences hold none of these.
    if holds(before, "not", "n't", "never", "no", "hardly", "far", "doubt") and _DENIED.search(
        before
    ):
        return False
    if _THEIRS.search(before):
        return False
    if "to " in before and _AIMED.search(before) and not _HELD_TO_BE.search(before):
        return False
    if _TEMPTED.search(before):
        return False
    for part in (_BUT.split(before)[-1], _BUT.split(after)[0]):
        if holds(part, "have", "had ", "were ", "unless") and _IMAGINED.search(part):
            return False
        if "if " in part and _CONDITION.search(part) and _MODAL.search(text, left, right):
            return False
    if _TOO_MUCH.match(after) or _SUPPOSED.match(before):
        return False
    if _MODAL.search(before) and _BUT_FOR.match(after):
        return False
    return not _DEFINED.match(text, match.end()) and not counts(match)


def counts(match):
    """Whether the number counts what follows it; behind a closing bracket something else begins."""
    if has_stars(match):
        return False
    return not match[0].endswith((")", "]", '"')) and bool(
        _COUNTED.match(match.string, match.end())
    )


def sentence_reading(match, scale):
    """As `reading_of`, for a number inside a sentence, which may be about anything."""
    if not is_meant(match):
        return None
    if match["upto"]:
        first = value_of(match["value"])
        last = value_of(match["upto"])
        if not scale[0] <= first < last <= scale[1]:
            return None  # "a score of 3-1" is a match's
    return reading_of(match, scale)
