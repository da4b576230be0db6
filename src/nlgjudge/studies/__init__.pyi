from . import your_own_data as your_own_data
from .dhp_table2_perturbations import dhp_settings as dhp_settings
from .dhp_table2_perturbations import highlight as highlight
from .your_own_data import evaluate as evaluate
