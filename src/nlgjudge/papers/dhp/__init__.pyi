from .discernment_score import discernment as discernment
from .perturbing import perturb as perturb
from .source_texts import originals as originals
