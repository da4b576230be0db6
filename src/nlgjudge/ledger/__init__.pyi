from .comparison import with_interval as with_interval
from .known_judges import judges as judges
from .ledger import cell_counts as cell_counts
from .ledger import committed as committed
from .ledger import measures as measures
from .prose_claims import claims as claims
from .verdicts import titled as titled
