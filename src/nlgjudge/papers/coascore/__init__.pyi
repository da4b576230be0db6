from .aspects import Aspect as Aspect
from .aspects import dataset_aspects as dataset_aspects
from .aspects import parse_scores as parse_scores
from .aspects import stage_prompt as stage_prompt
from .chain import coascore as coascore
from .chained_judge import Chained as Chained
