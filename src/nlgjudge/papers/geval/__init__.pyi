from .auto_cot import evaluation_steps as evaluation_steps
