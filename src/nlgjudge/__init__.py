"""Check, cell by cell, what four papers printed about language models as evaluators.

Names are imported on first use, so that a notebook depends only on the modules it needs.
"""

from importlib import import_module

_EXPORTS = {
    "data.benchmarks": "load load_together",
    "data.registry": "entries",
    "metrics.lexical": "rouge rouge_sets over_references rouge_variants lexical_baselines",
    "metrics.rouge155": "rouge155",
    "metrics.bleu": "bleu bleu_variants",
    "metrics.meteor": "meteor meteor_missing meteor_variants",
    "metrics.neural": "bertscore bartscore unieval",
    "data.recordings": "recording available",
    "data.perturbable": "originals text_statistics",
    "papers.dhp.perturb": "perturbations perturb",
    "judging.prompts": "prompt as_prompt Prompt",
    "judging.run": "judge_items evaluation_steps get_judge",
    "papers.dhp.rewriting": "rewrite",
    "papers.coascore.aspects": "Aspect dataset_aspects",
    "papers.coascore.chain": "llmscore coascore plan_coascore",
    "papers.coascore.chained": "Chained expected_chain",
    "judging.simulated": "Simulated",
    "judging.scoring": "responses item_scores expected_score wide",
    "stats.agreement": "alpha alternative_annotator_test agreement_strata ceiling",
    "stats.pairwise": "pairwise_accuracy soft_pairwise_accuracy",
    "stats.testing": "holm williams_test permutation_test",
    "papers.dhp.discernment": "signed_rank log_p harmonic_mean_p discernment overall_discernment "
                            "discernment_interval",
    "studies.which_choices_flip": "multiverse flips curve",
    "studies.statistics_validity": "planted",
    "stats.power": "power smallest_detectable",
    "stats.bootstrap": "interval difference interval_table mean_interval column_mean",
    "stats.correlation": "correlation correlation_table",
    "ledger.published": "published all_published",
    "ledger.ledger": "averages compare entered is_rule ledger_note write side_by_side with_interval",
    "ledger.variants": "search best summary left_out",
    "ledger.averages": "printed_averages versions shared_baselines captions",
    "ledger.claims": "claims",
    "ledger.figures": "comparison deviations curves intervals specification_curve save_figure",
    "ledger.settings": "settings",
    "papers.dhp.survey": "highlight dhp_settings survey expert_weights",
    "studies.ablation": "ablate",
    "data.own_data": "own_data check_own_data",
    "data.choices": "first",
    "studies.your_own_data": "evaluate evaluation_plan verdicts evaluation_page",
    "ledger.signature": "signature",
}
_HOMES = {name: home for home, names in _EXPORTS.items() for name in names.split()}
_ALIASES = {"save_figure": "save", "evaluation_plan": "plan", "evaluation_page": "page"}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'nlgjudge' has no attribute {name!r}")
    return getattr(import_module(f"nlgjudge.{_HOMES[name]}"), _ALIASES.get(name, name))


def __dir__():
    return sorted([*globals(), *__all__])
