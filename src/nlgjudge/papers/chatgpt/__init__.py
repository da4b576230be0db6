""""Is ChatGPT a Good NLG Evaluator?" (Wang et al. 2023)."""
