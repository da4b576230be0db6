from . import coascore as coascore
from . import dhp as dhp
from . import geval as geval
from .folders import titles as titles
