"""Files of a finished search: the table of candidates, the report, the verdict, and the file that may ship."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.checks import PASS
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.fingerprint import CONTENTS, contents
from tfaudit.extensions.search.candidate_store import BASELINE, CandidateStore, flatbuffer_path
from tfaudit.extensions.search.search_inputs import SourceModel
from tfaudit.extensions.search.search_settings import SearchSettings
from tfaudit.extensions.search.smallest_file import SmallestFile
from tfaudit.outlets.csv_files import csv_bytes
from tfaudit.outlets.html import write_report
from tfaudit.population.stored_examples import preview_bytes
from tfaudit.predictions import Predictions
from tfaudit.store.external import import_predictions
from tfaudit.store.files import write_whole
from tfaudit.store.judging import Judging


def write_search(
    candidates: CandidateStore,
    found: SmallestFile,
    judged: Mapping[str, Predictions],
    sequence: Sequence[str],
    source: SourceModel,
    part: Dataset,
    settings: SearchSettings,
) -> None:
    """Write what a search found into its directory; `model.tflite` is there only if it passes.

    Args:
        candidates: store of the candidates.
        found: result of the search.
        judged: predictions of the model and of every judged candidate, by key, on the examples that judged the chosen
            one.
        sequence: keys of the candidates that these examples judge, in the order of judging.
        source: the model.
        part: these examples.
        settings: settings of the search.
    """
    directory = candidates.directory
    candidates.finish()
    table = found.frame()
    write_whole(directory / "candidates.csv", csv_bytes(table))
    rows = {"example": part.example_ids, CONTENTS: contents(part.held, part.labels)}
    write_whole(directory / "judged.csv", csv_bytes(pd.DataFrame(rows)))
    chosen = table.loc[table["chosen"]].iloc[0]
    if found.outcome == PASS:
        write_whole(directory / "model.tflite", found.content)
    before, compressed = judged[BASELINE], {key: judged[key] for key in found.judged}
    titles = table.set_index("candidate")["title"]
    files = {titles[key]: flatbuffer_path(directory, key) for key in compressed}
    if found.outcome == PASS:
        files[found.title] = directory / "model.tflite"
    sizes = {name: float(path.stat().st_size) for name, path in files.items()}
    store = import_predictions(
        directory,
        before,
        {titles[key]: predictions for key, predictions in compressed.items()},
        name=source.name,
        model=source.name,
        dataset=f"{part.name}, {found.judged_on}",
        paired=[*files],
        images=preview_bytes(part),
        groups=part.groups,
        facts=pd.DataFrame(
            {"bytes": {"baseline": round(chosen["bytes"] / chosen["size_ratio"]), **sizes}}
        ),
        files={"baseline": source.path, **files} if source.is_kept else files,
        judging=Judging(
            found.verdict.alpha,
            found.limits,
            tuple(titles[key] for key in sequence),
            found.title,
        ),
    )
    store.save_table("candidates", table.astype({"bytes": float}))
    write_report(StudyAudit.read(store))
    write_whole(directory / "verdict.json", found.to_json(settings.seed, settings.held_out))
