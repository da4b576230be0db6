from . import your_own_data as your_own_data
from .your_own_data import evaluate as evaluate
