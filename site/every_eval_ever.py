"""Recomputed results in the schema of Every Eval Ever (evalevalai.com, version 0.3): figures and sources, no texts.

`python site/every_eval_ever.py build/every_eval_ever` writes a file for each judge.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from nlgjudge.data.benchmarks import benchmark_files
from nlgjudge.ledger.known_judges import judges
from nlgjudge.ledger.verdicts import titled
from nlgjudge.papers.folders import averages, papers
from nlgjudge.stats.correlations import PAIR

SCHEMA = "0.3.0"
# Makers of models, by how a model's name begins.
MAKERS = {
    "chatgpt": "openai",
    "gpt": "openai",
    "text-davinci": "openai",
    "text-bison": "google",
    "gemini": "google",
    "llama": "meta-llama",
    "falcon": "tiiuae",
    "mistral": "mistralai",
    "qwen": "Qwen",
    "deepseek": "deepseek-ai",
}
_OURS = ["the paper's own", "recorded by others", "kept rerun"]


def export(folder: str | Path) -> list[Path]:
    """Write a file for each judge whose values are computed here, as ``data/nlgjudge/MAKER/MODEL/ID.json``.

    Values that are only published, or computed by others, are left out.
    """
    found = judges()
    found = found[found["kind"].isin(_OURS)].dropna(subset="value")
    now = f"{time.time():.0f}"
    paths = []
    for judge, rows in found.groupby("judge", sort=False):
        record = _record(judge, rows, now)
        digest = hashlib.sha256(judge.encode()).digest()[:16]
        name = f"{uuid.UUID(bytes=digest, version=4)}.json"
        path = Path(folder, "data", "nlgjudge", *record["model_info"]["id"].split("/"), name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
        paths.append(path)
    return paths


def _record(judge, rows, now):
    """What is known of one judge."""
    maker = next(
        (who for start, who in MAKERS.items() if judge.lower().startswith(start)), "unknown"
    )
    model = f"{maker}/{judge.replace(' ', '-').replace(',', '')}"
    source = {
        "source_name": "nlgjudge: agreement of judges with people, recomputed from released replies",
        "source_type": "documentation",
        "source_organization_name": "The nlgjudge authors",
        "evaluator_relationship": "third_party",
    }
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"nlgjudge/{model}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": source,
        "eval_library": {"name": "nlgjudge", "version": version("nlgjudge")},
        "model_info": {"name": judge, "id": model, "additional_details": details},
        "evaluation_results": [_result(row) for row in rows.to_dict("records")],
    }


def _result(row) -> dict[str, Any]:
    """One coefficient on one benchmark, with its interval and where it comes from."""
    what = [row[name] for name in ("benchmark", "aspect", "level", "coefficient")]
    is_share = row["level"] == PAIR
    metric = {
        "evaluation_description": "agreement of a judge's scores with people's ratings, "
        f"{row['level']} level, {'in both orders' if is_share else row['coefficient']}",
        "metric_id": row["coefficient"],
        "metric_name": titled(row["coefficient"]),
        "metric_unit": "proportion" if is_share else "correlation",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0 if is_share else -1.0,
        "max_score": 1.0,
        "additional_details": {"level": row["level"], "aspect": row["aspect"]},
    }
    score: dict[str, Any] = {"score": row["value"]}
    if pd.notna(row["ci_low"]):
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": row["ci_low"],
                "upper": row["ci_high"],
                "confidence_level": 0.95,
                "method": "jackknife over documents",
            }
        }
    known = {name: row[name] for name in ("prompt", "kind", "source", "date", "note", "address")}
    known["replies"] = f"{row['replies']:g}" if pd.notna(row["replies"]) else ""
    return {
        "evaluation_result_id": "/".join([*what, row["prompt"] or "unregistered", row["kind"]]),
        "evaluation_name": ", ".join(map(titled, what)),
        "source_data": {
            "dataset_name": titled(row["benchmark"]),
            "source_type": "url",
            "url": _urls(row["benchmark"]),
        },
        "metric_config": metric,
        "score_details": score,
        "generation_config": {"additional_details": {k: v for k, v in known.items() if v}},
    }


def _urls(dataset):
    """Repositories with the dataset's files."""
    wanted = averages().get(dataset, (dataset,))
    scopes = [scope for paper in papers().values() for scope in paper.scopes]
    names = dict.fromkeys(scope.benchmark for scope in scopes if scope.dataset in wanted)
    files = [entry for name in names for entry in benchmark_files(name)]
    return list(dict.fromkeys(f"https://github.com/{entry.repository}" for entry in files))


if __name__ == "__main__":
    print(f"{len(export(sys.argv[1]))} files below {sys.argv[1]}")
