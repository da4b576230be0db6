"""Segments of the WMT-22 general test sets (Kocmi et al. 2022), whose human translations DHP perturbs."""

from nlgjudge.data.benchmarks import benchmark


@benchmark(
    "wmt22_de_en", "translations from German, not rated; DHP perturbs them", expect=(1984, 1984)
)
@benchmark(
    "wmt22_zh_en", "translations from Chinese, not rated; DHP perturbs them", expect=(1875, 1875)
)
def read(files):
    """Read the segments; the human reference is the hypothesis."""
    language = files.benchmark.split("_")[1]
    sources = _lines(files.read(f".src.{language}"))
    references = _lines(files.read(".ref.A.en"))
    items = [
        (None, f"{number:04d}", "reference", source, reference, [reference], "")
        for number, (source, reference) in enumerate(zip(sources, references, strict=True))
    ]
    return items, (), ()


def _lines(content):
    return content.decode("utf-8").removesuffix("\n").split("\n")
