"""Find the rating that no label and no set phrase gives away: the one number of a reply that can be it.

Every number of the reply is a candidate. Struck out are those that are something else (the scale, a count, a
date, the number of a sentence, a quotation), those that are denied, imagined or compared with, and those that
do not stand where a rating can stand. Of the rest only those count whose own clause speaks of rating; where
the clause is nothing but the number, its sentence has to, and where the sentence is nothing but the number,
it counts. Different ratings that are left are no rating.
"""

import re

from nlgjudge.judging.cleaning import LEFT_OUT, MONTHS, bounds
from nlgjudge.judging.meant import is_meant
from nlgjudge.judging.numbers import (
    NUMBER,
    OPTIONS,
    RATING,
    has_highest,
    has_stars,
    holds,
    reading_of,
    verbose,
)

_MOST = 500  # a reply with more numbers is no reply
_CANDIDATE = verbose(r"(?<! [\w/.,:^-] ) (?<! [0-9] [ ] [-+x*] [ ] )", RATING)

# ---- Numbers that are something else --------------------------------------------------------------------

_RANGE = rf"{NUMBER} [ ]? (?: - | to | and | through ) [ ]? {NUMBER}"
_SOMETHING_ELSE = [
    # "the 1-5 coherence scale", "a 100-point scale"
    rf"""
    \b (?: {_RANGE} | {NUMBER} )
    (?: [ -] (?! (?: on | of | in | for | out | to ) \b ) [a-z]{{2,20}} ){{0,2}} [ ] (?: scale | range )\b
    """,
    # "on a scale from 0 to 100", "a scale of 10"
    rf"""
    \b (?: scale | range )s? (?: [ ]? [:(] | [ ] (?: of | (?: goes [ ] | ranges [ ] )? from | is | between ) )
    [ ]? (?: {_RANGE} | {NUMBER} )
    """,
    # "from 1 to 5", "between 3 and 4", "(1-5)"
    rf"\b (?: from | between ) [ ] (?: an? [ ] )? {NUMBER} [ ] (?: to | and | or ) [ ] (?: an? [ ] )?"
    rf" {NUMBER}",
    rf"\( [ ]? {_RANGE} [^()\n]{{0,20}} \)",
    # "the maximum of 5", "the highest score is 5"
    rf"\b (?: max(?:imum)? | min(?:imum)? | highest | lowest | top | possible | perfect )"
    rf" (?: [ ] (?: possible | score | rating | mark | value | being | of | is | = ) ){{1,3}} [ ]"
    rf" (?: an? [ ] )? {NUMBER}",
    # "sentence 3", "steps 1, 2 and 4", "page 7", "aged 12"
    rf"""
    \b (?: sentences? | steps? | lines? | paragraphs? | pages? | chapters? | items? | parts? | persons?
         | speakers?
         | figures? | tables? | sections? | versions? | numbers? | numbered | no\. | rounds? | games? | acts?
         | scenes? | days? | weeks? | years? | months? | turns? | questions? | facts? | aged? | articles?
         | seasons? | groups? | stages? | phases? | criteri(?:on|a) | bullets? | rules? | reasons? | examples?
         | utterances? | bus | route | highway | flight | channel | apollo | formula | type | class
         | room | gate
         | size | grade | model | episode | volume | world [ ] war
         | annotators? | raters? | judges? | candidates? | systems? )
    [ ] \#? {NUMBER}
    (?: (?: , [ ] (?: and [ ] )? | [ ] (?: and | or | to | through ) [ ] | [ ]? - [ ]? ) {NUMBER} ){{0,9}}
    """,
    # "summary 2 is better"; not "it earns the summary 4 stars"
    r"\b (?: summary | response | text | story | article ) [ ] [0-9]{1,2} \b"
    r" (?! [ ] (?: stars | points | out ) | / )",
    # "april 12", "12 april"
    rf"\b (?: {MONTHS} ) \.? [ ] {NUMBER}",
    rf"(?<! [0-9] ) {NUMBER} [ ] (?: {MONTHS} ) \b",
    # "subtracting one", "minus 2", "two points off"
    rf"""
    \b (?: subtract | deduct | minus | dock | los[et] | losing | tak(?:e|ing) [ ] off | took [ ] off | knock
         | remov | add | plus | reduc | drop ) [a-z]{{0,4}}
    [ ] (?: only [ ] | just [ ] | off [ ] | by [ ] )? (?: an? [ ] )? {NUMBER}
    """,
    # "(1) It names … (2) it leaves …", "1) it names …; 2) it leaves …"
    r"\( [0-9]{1,2} \) (?= [ ] [a-z\"'] ) (?= [^\n]{0,300} \( [0-9]{1,2} \) [ ] [a-z\"'] )",
    r"(?: ^ | (?<= [.!?:;,] [ ] ) ) [0-9]{1,2} [.)] (?= [ ] [a-z\"'] )"
    r" (?= [^\n]{0,300} [.!?:;,] [ ] [0-9]{1,2} [.)] [ ] [a-z\"'] )",
    # "one star stands for … and five for …"
    rf"(?: stands [ ] for | means ) [^.\n]{{1,80}} (?: and | , ) [ ] (?: an? [ ] )? {NUMBER} [ ]"
    r" (?: for | means ) \b",
    # "won 3 to 1", "a 3 - 1 win"
    rf"(?<! [0-9] ) {NUMBER} [ ]? (?: - | to ) [ ]? {NUMBER} [ ]"
    r" (?: win | defeat | loss | victory | draw | lead ) \b",
]
_SOMETHING_ELSE = re.compile("|".join(f"(?:{part})" for part in _SOMETHING_ELSE), re.VERBOSE)

# "1. It names …" at the beginning of lines
_LISTED = verbose(r"^ (?: • [ ] )? \(? (?P<mark> [0-9]{1,2} ) [.)] (?= [ ] [a-z\"'⋯] )")

# ---- Where a rating can stand ---------------------------------------------------------------------------

# Before it: nothing, an article with up to three words, a preposition, a copula, a name or verb of rating.
_OPENED = re.compile(
    r"""
    (?: ^
      | \b an? (?: [ ] (?! half\b ) [a-z][a-z'-]{1,20} ){0,3}
      | (?: \b | ' ) (?: near | go | at | as | is | be | s | to | with | (?: go | going | goes | opt | opting
      | settl(?:e[ds]?|ing) | land(?:s|ed|ing)? | decid(?:e[ds]?|ing) ) [ ] (?: on | for ) | it | this
      | that | them | so | hence
             | thus | therefore | about | around | roughly | approximately | exactly | precisely | only | just
             | merely | probably | likely | maybe | perhaps | say | solid | full | strong | then | definitely
             | certainly | clearly | towards? | gut [ ] says | closest | option | category | its | level
             | total | here | overall | (?<! \b all [ ] ) but | reading | equals | hits | namely
             | scor(?:e[ds]?|ing) | rat(?:e[ds]?|ing) | grad(?:e[ds]?|ing) | marks? | points? | stars?
             | verdict
             | giv(?:e[sn]?|ing) | gave | deserv(?:es?|ing) | earn(?:s|ing)? | merits? | warrants? | gets?
             | receives? | assign(?:ed|ing)? | award(?:ed|ing)? | pick | choose | chose | select(?:ed)?
             | think
             | call | summary | text | story | response | dialogue | translation | reply | output | answer
             | leaves | makes | reaches | my | vote | worth | believe | feel | guess | reckon | suggest
             | propose )
      | (?: scores? | rating | marks? | grade | verdict | total | result | level | [a-z]{2,20} (?: ness
      | ity | ence | ance | ency | acy ) )
        [ ] of (?: [ ] (?: about | around | roughly | only | just | at [ ] most ) )?
      | [a-z]{2,20} (?: ness | ility | ity | ence | ance | ency | acy )
      | \b (?: quality | grammar | style | clarity | coherent | natural | engaging )
      | [^a-z ] )
    [ ]? \Z
    """,
    re.VERBOSE,
)
# Behind it: the end of a thought, or a word that does not name what is counted.
_ENDED = re.compile(
    r"""
    (?= [ ]? (?: $ | [.,;:!?)\]}"'⋯(>] | - [ ] | -> | = )
      | [ ] (?: for | on | in | at | as | because | since | given | due | based | considering | overall | with
              | indicating | meaning | reflecting | but | so | which | while | although | though | and
              | here | i | we
              | i'd | it | it's | this | the | from [ ] (?: me | my | us | most | any ) | or [ ] (?: so
              | thereabouts ) | therefore | then
              | feels | seems | sounds | looks | is | would | reflects | sums | captures | fits | suits | does
              | describes | to [ ] (?: me | it | this | the | that | its ) | out | thanks | again
              | rather | not
              | owing | after | when | where | without | despite | by [ ] my | strikes | appears | will [ ] do
              | works | best | accurately | remains | if [ ] (?: i | you ) | myself | strictly
              | category ) (?! [\w'] )
    )
    """,
    re.VERBOSE | re.MULTILINE,
)

# ---- Clauses that speak of rating -----------------------------------------------------------------------

_ASPECTS = (
    r"coheren | consisten | fluen | relevan | natural | engag | ground | informati | quality\b | clarity\b"
    r" | grammar | grammatical | factual | faithful | interesting | understandab | depth\b | diversity\b"
    r" | complete | concise | helpful | accura | correctness"
    r" | specific | readab | creativ | origina | likab | structur"
    r" | organi[sz] | adequa | overall\b | surpris | empath | complexity\b | cohesi | flow\b | logic"
)
_SPEAKS = re.compile(
    rf"""
    \b (?: {_ASPECTS}
         | (?: scores? | scoring | rat(?:e|es|ing|ings) | grad(?:e|es|ing) | marks? | points | stars?
         | verdict | assessment
         | evaluations? | evaluate | assess | judge?ments? | gut | (?: answer | ans | choice | output
         | result | number [ ] of [ ] stars ) (?= [ ]? : ) | (?: settled | landed | decided | opted
         | settling ) [ ] (?: on | for )
         | (?: fair | right | my | final | appropriate | suitable ) [ ] number | midpoint | category
         | altogether
         | on [ ] balance | hesitate | on [ ] reflection | all [ ] told | bottom [ ] line | tl | middle | scale
         | range | tally | opinion | view
         | appraisal | estimate | conclusion | deserves? | deserving | earns? | earning | merits?
         | meriting | warrants?
         | warranting | worth | worthy | assign(?:s|ed|ing)? | award(?:s|ed|ing)? | given | giving
         | (?: is | be ) [ ] (?: rated | scored | graded )
         | (?: it's | it [ ] is | this [ ] is | that's | that [ ] is
         | this [ ] one's? (?: [ ] is )? ) [ ] (?: clearly [ ] | definitely [ ]
            | probably [ ] | solidly [ ] | about [ ] | just [ ] | only [ ] )? an?
         | making [ ] (?: it | this ) | makes [ ] (?: it | this )
         | (?: which | that | this | it ) [ ] (?: leaves | makes | brings | means | gives [ ] (?: it | us
         | me | an? ) )
         | (?: min | max ) imum | (?: lowest | highest ) [ ] (?: possible [ ] )? (?: score | mark | rating )
         | (?: it | this | one | summary | text | story | response ) [ ] (?: only [ ] | just [ ]
         | thus [ ] | therefore [ ] )?
           (?: (?: should | would | must | will | ought [ ] to ) [ ] (?: get | receive | have | score )
                | gets | scores | receives | earns | rates )
         | (?: leaving | putting | bringing | placing | landing ) [ ] (?: it | this | us | the ) \b
         | out [ ] of (?: [ ] an? [ ] possible )? [ ] {NUMBER}
         | final(?:ly)? | ultimately | in [ ] (?: sum | short | total | conclusion | summary )
         | (?: feels? | seems? | sounds? | looks? | is | be | appears? | strikes [ ] me [ ] as )
           (?: [ ] (?: about | just | only | quite | entirely | perfectly | most | more | more [ ] than | the
                | an? | to [ ] me ) ){{0,2}}
           [ ] (?: right | fair (?: er )? | justified | appropriate | apt | reasonable | warranted | my | what
                | suitable | deserved
                 | correct | accurate | fitting | honest | adequate | balanced | sensible )
         | (?<= \A [ ] ) (?: leaves | brings | gives | makes | means )
         | best [ ] fit | (?: puts? | keeps? | brings? | pulls? | drags? | lifts? | raises? | lowers?
         | pushes | places? ) [ ] (?: it | this
            | the [ ] (?: summary | text | story | response | dialogue | reply | score | rating ) ) \b
         | (?: it | this | summary | text | story | response ) [ ] (?: sits | falls | lands | stands
         | ends [ ] up | comes [ ] (?: in | out ) )
         | sums [ ] it [ ] up | captures | fits | suits | reflects | will [ ] do | describes
         | (?: from | for | to ) [ ] me | in [ ] my | my | mine | me | myself
         | (?: i | i'd | i'll | i'm | i've | we | we'd | we'll | let [ ] me | let's )
           (?: [ ] (?! (?: found | find | count(?:ed)? | see | saw | note[ds]? | noticed? | have | had
                | read | spot(?:ted)?
                         | identified | identify | know | like | want | need | was
                         | were ) \b ) [\w'-]{{1,20}} ) ) \b )
    """,
    re.VERBOSE,
)
# A sentence that is nothing but its number: "4.", "a solid 4", "so a 2!", "only three"
_NOTHING_BUT = re.compile(
    r"""
    (?: (?: so | hence | thus | therefore | overall | an? | just | only | about | around | maybe
         | probably | perhaps
          | level | category | number | somewhere | easy | mostly | largely | make [ ] it | call [ ] it
          | lean | clear | solid | full | strong | firm | weak | easy | definite | generous | decent | respectable
          | perfect | definitely | straight | definitive | roughly | verdict | then | it's | that's | low
          | high
          | clean | flat | mere | bare | very | good | fair | rather | quite ) [,:]? [ ] ){0,4} \Z
    """,
    re.VERBOSE,
)
# "above the midpoint, at 6.5"
_LED_IN = re.compile(r" ?(?:at|with|namely|say|and)? ?(?:an?|about|around)? ?")
# "Fair (3)"
_GRADED = re.compile(
    r"(?:(?:somewhat|very|quite|fairly|highly|fully|not|mostly|below|above) ?){0,2}"
    r"(?:good|fair|poor|bad|excellent|average|adequate|acceptable|moderate|ok|okay|great|decent|"
    r"outstanding|mediocre|perfect|weak|strong|terrible)? ?\Z"
)
# "Good but not great: 3."
_JUDGES = re.compile(
    r"[^0-9]*\b(?:good|great|bad|poor|poorly|dull|perfect|excellent|fair|fairly|weak|strong|decent|average|"
    r"mediocre|fine|solid|confusing|messy|boring|terrible|superb|flawless|well-written|"
    r"incoherent|coherent|all in all|weighing)\b[^0-9]*"
)
_END = re.compile(r" ?[.!]?\s{0,2}⋯?\s{0,2}\Z")
# "so 2", "hence **2** for coherence"; "65/100 therefore", "75 it is"
_CONCLUDES = re.compile(r" ?(?:and )?(?:so|hence|thus|therefore|ergo|accordingly|consequently)\b")
_CONCLUDED = re.compile(r" ?(?:(?:therefore|then|thus|overall)\b|it is ?\Z)")
_STOP = re.compile(r"(?: or (?:so|thereabouts)| here| overall)? ?(?:[^a-z0-9 ]|\Z)")
# The clause that a number stands in begins behind one of these …
_CLAUSE_BEGINS = re.compile(
    r"[,;:()\"⋯•]|(?<= )-(?= )|"
    r"\b(?:that|because|since|when|where|while|although|though|which|who|whether|but)(?= )"
)
_CLAUSE_ENDS = re.compile(
    r"[.,;:()\"⋯\n]|(?<= )-(?= )|\b(?:because|since|when|while|although|though|which|who|but)\b"
)
# "almost a 4", "short of a 5"; "my first instinct was a 4", "critics gave it a 4"
_DOUBTED = re.compile(
    r"""
    \b (?: more | less | fewer | lower | higher | greater | above | below | under | least | most
         | between | almost
         | nearly | than | closer? | beyond | short | except ) (?: [ ] [\w']{1,20} ){0,3} [ ]? \Z
  | \b (?: (?: i | we | i've ) [ ] considered | neither | either | not | tempted | torn | first | thought
  | began | previous(?:ly)? | last
         | instinct | initial(?:ly)? | at [ ] first | originally | earlier | could | might | may | if
         | needs? | needed
         | requires? | require | instead | before | until | otherwise | reference | original | critics?
         | reviewers? | users?
         | annotators? [ ] gave | readers? | others? | another | average | typical | every | each | per
         | up [ ] from
         | down [ ] from | were | was | had | been | threshold | passing | example | compared | versus
         | vs\.? | wonder | doubt | differs? | separates? | (?: i | i'd
         | we ) [ ] (?: would [ ] )? (?: like | want | prefer | love | need ) | figure | toll | age
         | price | amount | count | sum | number [ ] (?: of | as ) | in [ ] the [ ] (?: text | article )
         | reaching | reach | hoped | expected | aim | he | she | they | his | her | their | won | lost
         | beat ) \b
  | (?<! \b i [ ] ) (?<! we [ ] ) (?<! 've [ ] ) (?<! have [ ] ) (?<! is [ ] ) (?<! be [ ] )
    \b (?: gave | got | received | scored | handed ) \b
    """,
    re.VERBOSE,
)
# "He scores 4": what is scored by anybody but the text; "a 4" behind an article is a rating.
_SCORES = re.compile(
    r"\b(?:scores|gets|receives|earns|hits|reaches)(?: only| just| about| around)? ?\Z"
)
_TEXT = re.compile(
    rf"""
    \b (?: it | this | that | one | summary | text | story | response | reply | dialogue | answer
         | translation | output
         | piece | passage | performance | {_ASPECTS} )
    """,
    re.VERBOSE,
)
_ARTICLE = re.compile(r"\ban?(?: (?:[a-z]{3,12}|middle-of-the-road))? ?\Z")
# "a 5 is rare", "a 1 is unfair"
_IS_SOMETHING = re.compile(
    r" (?:is|are|was|were) "
    r"(?!(?:just |only |about |quite |more |the |an? |my |also |therefore |thus |probably |most |perfectly |"
    r"entirely ){0,3}"
    r"(?:right|fair|fairer|justified|appropriate|apt|reasonable|warranted|what|suitable|deserved|correct|"
    r"accurate|fitting|honest|adequate|best|most|score|rating|mark|grade|verdict|number|choice|one|where|"
    r"how|my|final|enough)\b)"
)
# "The summary was given a 4"
_WAS_RATED = re.compile(
    r"\b(it|this|summary|story|text|response|dialogue) (?:was|has been) "
    r"(given|rated|scored|graded|awarded|assigned)\b"
)
# "This falls under a 3" is a 3, "At 2, this is one of the weaker ones" as well; "That makes three" is a count.
_FALLS = re.compile(r"\bfall(?:s|ing)? (?:under|into|within|in)\b")
_AT = re.compile(r"at (?:an? |just |only )?\Z")
_THIS_RANKS = re.compile(
    r", (?:this|it|the (?:summary|text|story|response|dialogue|reply)) (?:is|ranks|sits|falls|lands|reads|feels)\b"
)
_LETTERED = re.compile(r"\A\W*a: ?\Z")
_OTHER_LETTER = re.compile(r"^b: ?[0-9]", re.MULTILINE)
_MAKES = re.compile(
    r" ?(?:(?:that|this|which|it) )?(?:makes|leaves|gives|brings) (?:us |me )?(?:with )?"
)
# "For a 5, the summary would have to …"
_FOR_A = re.compile(r"(?:for|unlike|as opposed to|to be|to get|instead of) an? (?:[a-z]{1,20} )?\Z")


def find(text, scale):
    """The rating that is left when every other number of a reply is struck out.

    Parameters
    ----------
    text : str
        An excerpt (`nlgjudge.judging.cleaning.excerpt`).
    scale : (float, float)

    Returns
    -------
    list of float or str
        Different readings, as `nlgjudge.judging.statements.find` returns them.

    Examples
    --------
    >>> find("i'd place it at 84 on the 0-100 scale.", (0, 100)), find("it names 3 of the 5 facts.", (1, 5))
    ([84.0], [])
    """
    struck = bytearray(len(text))
    for match in _SOMETHING_ELSE.finditer(text):
        _strike(struck, match.start(), match.end())
    marks = list(_LISTED.finditer(text))
    if len(marks) > 1 or [mark["mark"] for mark in marks] == ["1"]:
        for mark in marks:
            _strike(struck, mark.start(), mark.end())
    found = []
    match = _CANDIDATE.search(text)
    for _ in range(_MOST):
        if not match:
            break
        start = match.start("value")
        options = not struck[start] and text[start].isdigit() and OPTIONS.match(text, match.end())
        if options and not options[0].lstrip(" pointsar").startswith("."):
            _strike(struck, match.start(), options.end())
        reading = None
        if not struck[start] and _may_rate(match):
            reading = reading_of(match, scale)
            if reading is not None:
                found.append(reading)
        # "Out of 100, 64": the second number is looked at by itself where the first is none.
        listed = (
            reading is None
            and match["upto"]
            and "," in text[match.end("value") : match.start("upto")]
        )
        match = _CANDIDATE.search(text, match.end("value") if listed else match.end())
    if match:
        return []
    inside = [
        reading for reading in found if isinstance(reading, str) or scale[0] <= reading <= scale[1]
    ]
    return inside or found


def _strike(struck, start, end):
    """Mark a stretch of the text as something else than a rating."""
    struck[start:end] = bytes([1]) * (end - start)


def _may_rate(match):
    """Whether a number stands where a rating can, and what is said about it speaks of rating."""
    text = match.string
    left, right = bounds(text, match.start(), match.end())
    if _LETTERED.search(text[left : match.start()]) and _OTHER_LETTER.search(text):
        return False  # "a: 4\nb: 3"
    before = text[left : match.start()].lstrip(f"{LEFT_OUT}•\"'( \n")
    after = text[match.end() : right]
    clause = _FALLS.sub("is", _WAS_RATED.sub(r"\1 is \2", _CLAUSE_BEGINS.split(before)[-1]))
    behind = _CLAUSE_ENDS.split(after, maxsplit=1)[0]
    in_brackets = match.start() < match.start("value")
    if not (in_brackets or _NOTHING_BUT.match(before) or _OPENED.search(before[-80:])):
        return False
    if not (_ENDED.match(text, match.end()) or (has_highest(match) and has_stars(match))):
        return False
    if match["value"] == "one" and not (match["unit"] or _NOTHING_BUT.match(before)):
        return False  # "this one"
    if _FOR_A.match(before) or _DOUBTED.search(clause) or _IS_SOMETHING.match(behind):
        return False
    if _SCORES.search(clause) and not _TEXT.search(clause):
        return False
    if not is_meant(match):
        return False
    if text[left : match.start()].strip() == "•" and not has_highest(match):
        return False  # "• 5 points - good"
    if match["percent"] and not _SPEAKS.search(clause):
        return False
    if text.startswith("..", match.end()):
        return False  # "0... no, 1"
    subtracts = holds(text, "subtract", "deduct", "minus", "start")
    if _MAKES.fullmatch(clause) and LEFT_OUT not in before and not subtracts:
        return False
    if _AT.match(before) and _THIS_RANKS.match(after):
        return True
    if before.endswith(("=>", "=> ", "->", "-> ")):
        return True
    if _CONCLUDES.match(clause) or _CONCLUDED.match(behind):
        return True
    labelled = before.endswith((":", ": "))
    if (
        _ARTICLE.search(clause)
        or _SPEAKS.search(clause)
        or (not labelled and _SPEAKS.search(behind))
    ):
        return True
    if in_brackets or _NOTHING_BUT.match(clause.lstrip()) or _LED_IN.fullmatch(clause):
        alone = _NOTHING_BUT.match(before) or (in_brackets and _GRADED.match(before))
        if alone and _STOP.match(after):
            return True
        if _END.match(after) and _JUDGES.fullmatch(before):
            return True
        closed = labelled or before.endswith((",", ", "))  # "Smith, 34, said"
        said = before if closed else f"{before} {after}"
        return bool(_SPEAKS.search(said) and not _DOUBTED.search(before))
    return False
