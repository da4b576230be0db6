from . import chatgpt as chatgpt
from . import closer_look as closer_look
from . import coascore as coascore
from . import dhp as dhp
from . import geval as geval
