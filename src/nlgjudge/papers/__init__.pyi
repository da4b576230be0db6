from . import chatgpt as chatgpt
from . import closer_look as closer_look
from . import coascore as coascore
from . import dhp as dhp
from . import geval as geval
from .protocol import Protocol as Protocol
from .protocol import rows as rows
