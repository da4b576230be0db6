from .protocols import PROTOCOLS as PROTOCOLS
from .protocols import SCOPES as SCOPES
from .protocols import VERSIONS as VERSIONS
