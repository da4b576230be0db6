from .sets import SETS as SETS
from .sets import own_answers as own_answers
