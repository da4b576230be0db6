from .aspects import Aspect as Aspect
from .aspects import dataset_aspects as dataset_aspects
from .chain import coascore as coascore
from .chain import llmscore as llmscore
from .chain import plan_coascore as plan_coascore
from .chained import Chained as Chained
from .chained import expected_chain as expected_chain
from .protocols import PROTOCOLS as PROTOCOLS
