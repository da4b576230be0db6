from .aspects import Aspect as Aspect
from .aspects import dataset_aspects as dataset_aspects
from .chain import coascore as coascore
from .chain import llmscore as llmscore
from .chained import Chained as Chained
