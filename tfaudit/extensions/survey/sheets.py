"""The sheets of a human study: images under opaque names, what raters fill in, and the key."""

from collections.abc import Sequence

import pandas as pd

from tfaudit.analysis.stored_images import picture_format, previews_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError
from tfaudit.extensions.survey.questions import QUESTIONS
from tfaudit.extensions.survey.sample import survey_sample
from tfaudit.outlets.csv_files import csv_bytes
from tfaudit.outlets.registry import Outlet

IMAGES = "images"
"""Folder of the pictures beside the sheets."""

RATED = 100
"""Most images that people are asked to rate."""

SHEETS = Outlet("a blind sheet for people who rate images, and its key", f"{__name__}:survey_files")


def survey_files(study_audit: StudyAudit, variants: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the files of a human study of one variant, [F] 3.2: images under opaque names, two sheets and the key.

    `sheet.csv` has a row per image, shuffled, with its true class and an empty column per question. `labels.csv` asks
    what needs the labels before and after compression, which differ for PIEs only: raters get it last. `questions.csv`
    has the questions in words. `key.csv`, which raters must not see, says which images are PIEs.

    Raises:
        InputError: several variants, one without PIEs or other images, damaged files, or a study without images.
    """
    keys = variants or study_audit.data.compressed_keys
    if len(keys) != 1:
        raise InputError(
            "--variant", ", ".join(keys) or "none", "one variant, whose PIEs are rated"
        )
    exemplars = study_audit.exemplars(*keys)
    most = 2 * min(len(exemplars.index), len(exemplars.labels) - len(exemplars.index))
    sample = survey_sample(exemplars, min(most, RATED), seed=study_audit.data.study.seed)
    positions = sample.sheet["example"]
    previews = previews_of(study_audit.data.store, study_audit.data.split, positions)
    if not any(previews.values()):
        got = f"{study_audit.data.store.directory}, which stores no images"
        raise InputError("--format survey", got, "a study with its images")
    width = len(str(len(positions)))
    names = [
        f"{number:0{width}}.{picture_format(previews[position]) or 'txt'}"
        for number, position in enumerate(positions, start=1)
    ]
    sheet = sample.sheet.drop(columns="example").assign(**{"image": names, "rater": ""})
    blind, late = (
        sheet[["image", *(f"label_{number + 1}" for number in range(labels)), "rater"]].assign(
            **{question.key: "" for question in QUESTIONS if question.labels == labels}
        )
        for labels in (1, 3)
    )
    questions = pd.DataFrame(
        [(each.key, each.text) for each in QUESTIONS], columns=["column", "question"]
    )
    return {
        "key.csv": csv_bytes(sample.key.astype(int).assign(image=names)),
        "questions.csv": csv_bytes(questions),
        "labels.csv": csv_bytes(late),
        "sheet.csv": csv_bytes(blind),
        **{f"{IMAGES}/{name}": previews[at] for name, at in zip(names, positions, strict=True)},
    }
