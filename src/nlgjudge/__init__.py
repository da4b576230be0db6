"""Check, cell by cell, what four papers printed about language models as evaluators.

Names are imported on first use, so that a notebook depends only on the modules it needs.
"""

from importlib import import_module

_HOMES = {
    "load": "data.benchmarks",
    "entries": "data.registry",
    "rouge": "data.lexical",
    "over_references": "data.lexical",
    "rouge_variants": "data.lexical",
    "bleu": "data.bleu",
    "bleu_variants": "data.bleu",
    "recording": "data.recordings",
    "available": "data.recordings",
    "prompt": "judging.prompts",
    "judge_items": "judging.run",
    "get_judge": "judging.run",
    "responses": "judging.scoring",
    "item_scores": "judging.scoring",
    "wide": "judging.scoring",
    "alpha": "metaeval.agreement",
    "alternative_annotator_test": "metaeval.agreement",
    "ceiling": "metaeval.agreement",
    "pairwise_accuracy": "metaeval.pairwise",
    "soft_pairwise_accuracy": "metaeval.pairwise",
    "holm": "metaeval.testing",
    "permutation_test": "metaeval.testing",
    "multiverse": "metaeval.multiverse",
    "flips": "metaeval.multiverse",
    "curve": "metaeval.multiverse",
    "power": "metaeval.power",
    "smallest_detectable": "metaeval.power",
    "interval": "metaeval.bootstrap",
    "difference": "metaeval.bootstrap",
    "interval_table": "metaeval.bootstrap",
    "correlation": "metaeval.correlation",
    "correlation_table": "metaeval.correlation",
    "published": "report.published",
    "all_published": "report.published",
    "compare": "report.ledger",
    "write": "report.ledger",
    "side_by_side": "report.ledger",
    "search": "report.variants",
    "best": "report.variants",
    "summary": "report.variants",
    "printed_averages": "report.averages",
    "versions": "report.averages",
    "shared_baselines": "report.averages",
    "captions": "report.averages",
    "comparison": "report.figures",
    "deviations": "report.figures",
    "curves": "report.figures",
    "intervals": "report.figures",
    "specification_curve": "report.figures",
    "save_figure": "report.figures",
    "signature": "report.signature",
}
_ALIASES = {"save_figure": "save"}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'nlgjudge' has no attribute {name!r}")
    return getattr(import_module(f"nlgjudge.{_HOMES[name]}"), _ALIASES.get(name, name))


def __dir__():
    return sorted([*globals(), *__all__])
