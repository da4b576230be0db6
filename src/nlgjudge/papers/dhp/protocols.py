"""DHP's protocol (Wang et al. 2024, appendix D): twelve judges, five scores each, temperature 0.

Figures 2 and 4 print no numbers; their bars are rows here. The versions are those of Table 3.
"""

from nlgjudge.papers.protocol import Protocol

VERSIONS = {"dhp": "DHP"}
SCOPES = ()  # Figures 2 and 4 print no correlations
SAMPLES = 5
SAMPLING = {"temperature": 0}  # top_p stays at its default
# Name in the figures, version in Table 3.
MODELS = {
    "GPT3.5-Turbo": "gpt-3.5-turbo-0125",
    "GPT4-Turbo": "gpt-4-1106-preview",
    "Llama3-8B": "Meta-Llama-3-8B-Instruct",
    "Llama3-70B": "Meta-Llama-3-70B-Instruct",
    "Vicuna1.5-7B": "vicuna-7b-v1.5-16k",
    "Vicuna1.5-13B": "vicuna-13b-v1.5-16k",
    "Mistral-7B": "Mistral-7B-Instruct-v0.2",
    "Qwen1.5-4B": "Qwen1.5-4B-Chat",
    "Qwen1.5-7B": "Qwen1.5-7B-Chat",
    "Qwen1.5-14B": "Qwen1.5-14B-Chat",
    "Qwen1.5-32B": "Qwen1.5-32B-Chat",
    "Qwen1.5-72B": "Qwen1.5-72B-Chat",
}

PROTOCOLS = tuple(
    Protocol(
        artefacts=("figure2", "figure4"),
        row=row,
        model=version,
        prompt="dhp/{task}/{aspect}",
        samples=SAMPLES,
        sampling=SAMPLING,
        scoring="mean",
        source="appendix D",
        note="five scores at temperature 0 differ only as far as the server is not deterministic",
    )
    for row, version in MODELS.items()
)
