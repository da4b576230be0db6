from . import estimators as estimators
from .prompts import as_prompt as as_prompt
from .reading import Reading as Reading
from .reading import distributions as distributions
from .scoring import responses as responses
from .simulated import Simulated as Simulated
