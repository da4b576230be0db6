from .benchmarks import load_together as load_together
from .fetch import read as read
from .own_files import own_data as own_data
from .paths import root as root
from .preferences import pairs as pairs
from .published_runs import other_runs as other_runs
from .recordings import available as available
