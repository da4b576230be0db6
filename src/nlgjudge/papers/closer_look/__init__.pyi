from .protocols import COPIED as COPIED
from .protocols import PROTOCOLS as PROTOCOLS
from .protocols import RECORDED as RECORDED
from .protocols import SCOPES as SCOPES
from .protocols import UNREAD as UNREAD
from .protocols import VERSIONS as VERSIONS
