from .benchmarks import load as load
from .benchmarks import load_together as load_together
from .checks import first as first
from .own_files import own_data as own_data
from .published_runs import other_runs as other_runs
from .recordings import available as available
from .recordings import recording as recording
from .registry import entries as entries
