from . import chatgpt as chatgpt
from . import coascore as coascore
from . import dhp as dhp
from . import geval as geval
