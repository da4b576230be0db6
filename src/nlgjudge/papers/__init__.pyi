from . import alttest as alttest
from . import coascore as coascore
from . import dhp as dhp
from . import geval as geval
from . import llmbar as llmbar
from .folders import titles as titles
