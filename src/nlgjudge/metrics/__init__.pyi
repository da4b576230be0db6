from .lexical import over_references as over_references
from .lexical import rouge as rouge
from .lexical import rouge_variants as rouge_variants
from .meteor_versions import meteor as meteor
from .meteor_versions import meteor_variants as meteor_variants
from .rouge_perl import rouge155 as rouge155
from .sentence_bleu import bleu as bleu
from .sentence_bleu import bleu_variants as bleu_variants
