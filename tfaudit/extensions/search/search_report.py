"""Files of a finished search: the table of candidates, the report, the verdict, and the file that may ship."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.checks import PASS
from tfaudit.datasets.fingerprint import CONTENTS, contents
from tfaudit.extensions.search.candidate_store import BASELINE, CandidateStore, flatbuffer_path
from tfaudit.extensions.search.search_inputs import SearchInputs
from tfaudit.extensions.search.smallest_file import SmallestFile
from tfaudit.extensions.search.trials import Judge
from tfaudit.outlets.csv_files import csv_bytes
from tfaudit.outlets.html import write_report
from tfaudit.population.stored_examples import preview_bytes
from tfaudit.store.external import import_predictions
from tfaudit.store.files import write_whole
from tfaudit.store.judging import Judging


def write_search(
    inputs: SearchInputs,
    candidates: CandidateStore,
    judge: Judge,
    found: SmallestFile,
    sequence: Sequence[str],
) -> None:
    """Write what a search found into its directory; `model.tflite` is there only if it passes.

    Args:
        inputs: model, data and settings of the search.
        candidates: store of the candidates.
        judge: judge of the candidates.
        found: result of the search.
        sequence: keys of the candidates judged by the examples that judged the chosen one, in the order of judging.
    """
    source, directory, part = inputs.source, candidates.directory, judge.part(found.chosen)
    candidates.finish()
    table = found.frame()
    write_whole(directory / "candidates.csv", csv_bytes(table))
    rows = {"example": part.example_ids, CONTENTS: contents(part.held, part.labels)}
    write_whole(directory / "judged.csv", csv_bytes(pd.DataFrame(rows)))
    chosen = table.loc[table["chosen"]].iloc[0]
    if found.outcome == PASS:
        write_whole(directory / "model.tflite", found.content)
    titles = table.set_index("candidate")["title"]
    files = {titles[key]: flatbuffer_path(directory, key) for key in found.judged}
    if found.outcome == PASS:
        files[found.title] = directory / "model.tflite"
    sizes = {name: float(path.stat().st_size) for name, path in files.items()}
    store = import_predictions(
        directory,
        judge.predicted(part, BASELINE),
        {titles[key]: judge.predicted(part, key) for key in found.judged},
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
    write_whole(
        directory / "verdict.json", found.to_json(inputs.settings.seed, inputs.settings.held_out)
    )
