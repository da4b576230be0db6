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
    "rouge155": "data.rouge155",
    "bleu": "data.bleu",
    "bleu_variants": "data.bleu",
    "lexical_baselines": "data.lexical",
    "meteor": "data.meteor",
    "meteor_missing": "data.meteor",
    "meteor_variants": "data.meteor",
    "bertscore": "data.neural",
    "bartscore": "data.neural",
    "unieval": "data.neural",
    "recording": "data.recordings",
    "available": "data.recordings",
    "originals": "data.perturbable",
    "perturbations": "data.perturb",
    "perturb": "data.perturb",
    "text_statistics": "data.perturbable",
    "prompt": "judging.prompts",
    "judge_items": "judging.run",
    "evaluation_steps": "judging.run",
    "get_judge": "judging.run",
    "rewrite": "judging.rewriting",
    "Aspect": "judging.aspects",
    "dataset_aspects": "judging.aspects",
    "llmscore": "judging.chain",
    "coascore": "judging.chain",
    "plan_coascore": "judging.chain",
    "Chained": "judging.chained",
    "Simulated": "judging.simulated",
    "expected_chain": "judging.chained",
    "responses": "judging.scoring",
    "item_scores": "judging.scoring",
    "expected_score": "judging.scoring",
    "wide": "judging.scoring",
    "alpha": "metaeval.agreement",
    "alternative_annotator_test": "metaeval.agreement",
    "agreement_strata": "metaeval.agreement",
    "ceiling": "metaeval.agreement",
    "pairwise_accuracy": "metaeval.pairwise",
    "soft_pairwise_accuracy": "metaeval.pairwise",
    "holm": "metaeval.testing",
    "williams_test": "metaeval.testing",
    "permutation_test": "metaeval.testing",
    "signed_rank": "metaeval.discernment",
    "log_p": "metaeval.discernment",
    "harmonic_mean_p": "metaeval.discernment",
    "discernment": "metaeval.discernment",
    "overall_discernment": "metaeval.discernment",
    "discernment_interval": "metaeval.discernment",
    "multiverse": "metaeval.multiverse",
    "flips": "metaeval.multiverse",
    "curve": "metaeval.multiverse",
    "planted": "metaeval.planted",
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
    "claims": "report.claims",
    "comparison": "report.figures",
    "deviations": "report.figures",
    "curves": "report.figures",
    "intervals": "report.figures",
    "specification_curve": "report.figures",
    "save_figure": "report.figures",
    "highlight": "report.dhp",
    "settings": "report.dhp",
    "survey": "report.dhp",
    "expert_weights": "report.dhp",
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
