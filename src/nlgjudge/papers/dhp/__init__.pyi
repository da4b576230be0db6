from .discernment_score import discernment as discernment
from .discernment_score import discernment_interval as discernment_interval
from .discernment_score import overall_discernment as overall_discernment
from .perturbing import DATASETS as DATASETS
from .perturbing import perturb as perturb
from .perturbing import perturbations as perturbations
from .rewriting import rewrite as rewrite
from .source_texts import originals as originals
