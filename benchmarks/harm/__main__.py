"""Run the benchmark of compression harm, add entries to it, write its page.

python -m benchmarks.harm run runs/harm
python -m benchmarks.harm submit results.json --model NAME --data-name NAME --command WORDS --study DIR
python -m benchmarks.harm page benchmarks/harm/results.json
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfaudit.__main__ import main
from tfaudit.cli.console import Commands, app, out
from tfaudit.cli.flags import renamed
from tfaudit.cli.options import IMAGES, Group, ImageOptions, PredictionOptions, option
from tfaudit.cli.outputs import file_to_write, folder_to_write, output_file
from tfaudit.cli.sides import MultiwordCommand
from tfaudit.errors import InputError, plural, require_one_of

if TYPE_CHECKING:
    from benchmarks.harm.entries import HarmBenchmark
    from tfaudit.cli.gate_sources import GatedModel

benchmark = Commands(
    help="Run the benchmark of compression harm, add entries to it, show it.", no_args_is_help=True
)


@benchmark.command()
@renamed(name="dataset")
def run(
    directory: Annotated[
        Path,
        typer.Argument(help="Directory of the studies and results.", callback=folder_to_write),
    ],
    *,
    network: Annotated[
        list[str] | None, option("Network to run, repeatable; all by default.")
    ] = None,
    workers: Annotated[int | None, option("Most members that run at once.")] = None,
) -> None:
    """Run the studies of the benchmark one by one; write results.json and benchmark.html after each."""
    from tfaudit.cli.gate_sources import from_study
    from tfaudit.population.engine_options import EngineOptions
    from tfaudit.population.progress import progress_for
    from tfaudit.population.run import run_study
    from tfaudit.runtime.captured_output import start_tensorflow

    start_tensorflow()
    from benchmarks.harm.studies import studies

    for name in network or ():
        require_one_of("network", name, studies)
    results = directory / "results.json"
    for name in network or studies:
        study = studies[name]
        out.print(f"{name}: {plural(len(study.variants), 'compressor')}")
        options = EngineOptions(workers=workers)
        run_study(study, directory / name, options, progress=progress_for(out))
        pairs = from_study(directory / name, None, "test", corrupted=bool(study.corruptions))
        command = f"python -m benchmarks.harm run {directory.name} --network {name}"
        data = str(study.dataset).removesuffix(":load").rpartition(".")[2]
        names = name, data, _titles(directory / name)
        _write_page(_saved(results, pairs, names, command), results.with_name("benchmark.html"))


@benchmark.command(cls=MultiwordCommand)
def submit(
    results: Annotated[
        Path,
        typer.Argument(help="JSON file of entries; a new one is made.", callback=file_to_write),
    ],
    *,
    model: Annotated[str, option("Name of the uncompressed model.")],
    data_name: Annotated[str, option("Name of the data, such as 'CIFAR-10, test'.")],
    command: Annotated[str, option("What makes the entry again, or where it is from.")],
    study: Annotated[Path | None, option("Directory of a study whose variants to add.")] = None,
    baseline: Annotated[
        list[str] | None, option("File of the uncompressed model, or files of its predictions.")
    ] = None,
    compressed: Annotated[
        list[str] | None,
        option("Files of the compressed models, or COMPRESSOR=FILES of predictions."),
    ] = None,
    size: Annotated[
        list[str] | None,
        option("COMPRESSOR=SHARE of the gzipped bytes of the model, for predictions; repeatable."),
    ] = None,
    data: Annotated[
        str | None,
        option(
            "Data set, folder of images per class, .npz, or function module:name.", panel=IMAGES
        ),
    ] = None,
    images: Annotated[ImageOptions, Group.of_fields(ImageOptions)],
    predictions: Annotated[PredictionOptions, Group.of_fields(PredictionOptions)],
) -> None:
    """Add what compressors cost a model: from a study, from model files, or from predictions of any framework.

    An entry replaces an earlier one of the same model, data and compressor.
    """
    from tfaudit.cli.gate_sources import from_files, from_models, from_study

    titles: Mapping[str, str] = {}
    if study is not None:
        with renamed(directory="study"):
            pairs = from_study(study, None, images.split, corrupted=True)
            titles = _titles(study)
    elif not baseline or not compressed or (data is None) == (predictions.labels is None):
        expected = "--study, or --baseline and --compressed with either --data or --labels"
        raise InputError("source", "none, or several", expected)
    elif predictions.labels is not None:
        source = predictions.source(predictions.labels, images.classes, images.scores_are)
        pairs = from_files(
            source,
            baseline,
            compressed,
            paired=predictions.paired,
            verbose=predictions.verbose,
        )
    else:
        pairs = from_models(baseline, compressed, str(data), images)
    names = model, data_name, titles
    _saved(results, pairs, names, command, _shares(size or (), pairs))


@benchmark.command()
def page(
    results: Annotated[Path, typer.Argument(help="JSON file of entries.")],
    *,
    out_file: Annotated[
        Path | None,
        output_file(
            "HTML file to write; by default benchmark.html in the folder of the entries.", "--out"
        ),
    ] = None,
) -> None:
    """Write the entries as a page that sorts and filters."""
    from benchmarks.harm.entries import HarmBenchmark

    if not results.is_file():
        raise InputError("results", f"{results}, which does not exist", "a JSON file of entries")
    found = HarmBenchmark.read(results)
    _write_page(found, out_file or results.with_name("benchmark.html"))


def _titles(study: Path) -> dict[str, str]:
    """Return the names of compressors by key of the variant."""
    from tfaudit.store.store import open_store
    from tfaudit.study.variants import Pruned

    return {
        variant.key: variant.title_with("granularity", "treatment", "remedy")
        if isinstance(variant, Pruned)
        else variant.title
        for variant in open_store(study).study.variants
    }


def _shares(words: Sequence[str], pairs: Mapping[str, GatedModel]) -> dict[str, float]:
    """Return the sizes that the command line gives, by compressor."""
    shares = {}
    for word in words:
        name, _, share = word.rpartition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            raise InputError("size", word, "COMPRESSOR=SHARE, such as int8=0.27") from None
        require_one_of("size", name, pairs)
    return shares


def _saved(
    results: Path,
    pairs: Mapping[str, GatedModel],
    names: tuple[str, str, Mapping[str, str]],
    command: str,
    shares: Mapping[str, float] = MappingProxyType({}),
) -> HarmBenchmark:
    """Add entries to a file and return all; `names` are the model, the data, and the compressors' titles by key."""
    from benchmarks.harm.entries import HarmBenchmark, entry
    from tfaudit.store.requested_files import write_requested

    model, data, titles = names
    known = HarmBenchmark.read(results)
    entries = [
        entry(
            pair.baseline,
            pair.compressed,
            (model, data, titles.get(key, key)),
            command=command,
            paired=pair.paired or None,
            corrupted=pair.corrupted,
            **_size(pair, shares.get(key)),
        )
        for key, pair in pairs.items()
    ]
    found = known.with_entries(entries)
    write_requested("results", results, found.json())
    out.tell(f"{len(found.table)} entries: {results}")
    return found


def _size(pair: GatedModel, share: float | None) -> dict[str, Any]:
    """Return the size of the compressed file as columns of an entry: gzipped where that is known."""
    from tfaudit.audits.verdict.study_verdict import GZIPPED, ON_DISK

    if share is not None:
        return {"size_share": share}
    sizes = pair.gzipped or pair.sizes
    if sizes is None:
        return {}
    return {"size_share": sizes[1] / sizes[0], "size_is": GZIPPED if pair.gzipped else ON_DISK}


def _write_page(found: HarmBenchmark, path: Path) -> None:
    from benchmarks.harm.page import write_harm_page

    out.tell(f"page: {write_harm_page(found, path)}")


if __name__ == "__main__":
    app.add_typer(benchmark, name="harm")
    sys.argv.insert(1, "harm")
    main()
