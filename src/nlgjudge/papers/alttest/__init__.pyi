from .sets import SETS as SETS
