from .auto_cot import evaluation_steps as evaluation_steps
from .protocols import PROTOCOLS as PROTOCOLS
from .protocols import SCOPES as SCOPES
from .protocols import VERSIONS as VERSIONS
