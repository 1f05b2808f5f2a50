"""Exemplars for other tools: a table with image files, and FiftyOne's data set in JSON."""

from __future__ import annotations

import functools
import io
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.analysis.stored_images import is_picture, picture_format, previews_of
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audits.flips.image_changes import NEWLY_CORRECT, NEWLY_WRONG, OTHER_WRONG
from tfaudit.errors import InputError
from tfaudit.outlets.csv_files import csv_bytes

IMAGES = "images"
"""Folder of the pictures beside a table."""

_RENAMED = {
    "baseline_mode": "before",
    "baseline_share": "before_share",
    "baseline_entropy": "before_entropy",
    "compressed_mode": "after",
    "compressed_share": "after_share",
    "compressed_entropy": "after_entropy",
}


def exemplar_table(study_audit: StudyAudit, variants: Sequence[str] = ()) -> pd.DataFrame:
    """Return one row per variant and exemplar.

    Columns: `variant` (key), `index` (position), `example` (id), `label`, `before` and `after` (majority predictions),
    `change` (newly wrong, newly correct, other wrong), `before_share`, `after_share` (of the votes), `before_entropy`,
    `after_entropy` (bits), `decisiveness`, and a column `group_NAME` for every column of groups.

    Args:
        study_audit: the study and its audits.
        variants: keys of variants; all compressed ones by default.

    Raises:
        InputError: an unknown variant, or damaged files.
    """
    known = study_audit.data.compressed_keys
    if unknown := [key for key in variants if key not in known]:
        raise InputError("variant", repr(unknown[0]), ", ".join(known))
    tables = []
    for key in variants or known:
        exemplars = study_audit.exemplars(key)
        table = exemplars.frame().rename(columns=_RENAMED)
        change = pd.Series(OTHER_WRONG, index=table.index, dtype=object)
        for mode, kind in (
            (exemplars.baseline_mode, NEWLY_WRONG),
            (exemplars.compressed_mode, NEWLY_CORRECT),
        ):
            change[mode.among_best(exemplars.labels)[exemplars.index] > 0] = kind
        table.insert(list(table).index("after") + 1, "change", change)
        table.insert(0, "variant", key)
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    groups = study_audit.data.groups
    for name in groups:
        table[f"group_{name}"] = groups[name].to_numpy()[table["index"]]
    return table


def table_files(
    study_audit: StudyAudit, variants: Sequence[str] = (), *, form: str
) -> dict[str, bytes]:
    """Return a table of exemplars and their pictures as the contents of files, by path.

    The table has a column `image`, the path of the picture, or `text` where examples are texts or rows.

    Args:
        study_audit: the study and its audits.
        variants: keys of variants, as in `exemplar_table`; all compressed ones by default.
        form: "csv" or "parquet".
    """
    table = exemplar_table(study_audit, variants)
    previews = previews_of(study_audit.data.store, study_audit.data.split, table["index"])
    pictures = {
        position: f"{IMAGES}/{position:06}.{suffix}"
        for position, content in previews.items()
        if (suffix := picture_format(content))
    }
    if pictures:
        table["image"] = table["index"].map(pictures)
    elif any(previews.values()):
        texts = {position: text.decode("utf-8", "replace") for position, text in previews.items()}
        table["text"] = table["index"].map(texts)
    files = {path: previews[position] for position, path in pictures.items()}
    return {f"exemplars.{form}": _WRITERS[form](table), **files}


csv_files = functools.partial(table_files, form="csv")
parquet_files = functools.partial(table_files, form="parquet")


def fiftyone_files(study_audit: StudyAudit, variants: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the exemplars as the files of a `FiftyOneDataset`, by path.

    A sample is an image that is an exemplar of any variant. It has the fields `ground_truth`, `example` and
    `group_NAME`, and the majority predictions of the baseline and of every variant as classifications whose
    confidence is their share of the votes; its tags are the variants that change its prediction.

    Raises:
        InputError: an unknown variant, damaged files, or a study that stores no images.
    """
    table = exemplar_table(study_audit, variants)
    data = study_audit.data
    baseline = data.baseline
    previews = previews_of(study_audit.data.store, study_audit.data.split, table["index"])
    if previews and not any(map(is_picture, previews.values())):
        got = f"{data.store.directory}, which stores no images"
        raise InputError("--format fiftyone", got, "a study of images")
    positions = list(previews)
    paths = [
        f"data/{position:06}.{picture_format(content) or 'png'}"
        for position, content in previews.items()
    ]
    fields: dict[str, Iterable[Any]] = {
        "filepath": paths,
        "tags": table.groupby("index")["variant"].agg(list),
        "example": map(str, baseline.example_ids[positions]),
        "ground_truth": [
            _classification(baseline.class_names[label]) for label in baseline.labels[positions]
        ],
    }
    for key, field in _field_names((BASELINE, *(variants or data.compressed_keys))).items():
        counts = study_audit.counts(key)
        modes = counts.modal_classes().names(counts.class_names)
        shares = counts.share()
        fields[field] = [
            _classification(modes[position], confidence=float(shares[position]))
            for position in positions
        ]
    groups = {f"group_{name}": data.groups[name] for name in data.groups}
    for name, field in _field_names(groups).items():
        fields[field] = map(_plain, groups[name].iloc[positions])
    samples = [
        dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)
    ]
    metadata = {
        "name": data.study.name,
        "media_type": "image",
        "default_classes": list(baseline.class_names),
        "info": {
            "tfaudit": "exemplars: images whose majority prediction changes",
            "split": data.split,
        },
    }
    return {
        "metadata.json": _json(metadata),
        "samples.json": _json({"samples": samples}),
        **dict(zip(paths, previews.values(), strict=True)),
    }


def _classification(label: str, **confidence: float) -> dict[str, Any]:
    return {"_cls": "Classification", "tags": [], "label": str(label), **confidence}


def _field_names(names: Iterable[str]) -> dict[str, str]:
    """Return a field name for each name, all different, of letters, digits and underscores only.

    Example:
        >>> _field_names(["int8", "magnitude-0.9", "magnitude-0_9"])
        {'int8': 'int8', 'magnitude-0.9': 'magnitude_0_9', 'magnitude-0_9': 'magnitude_0_9_2'}
    """
    fields: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name).lstrip("_") or "field"
        same = sum(plain in (field, field.rpartition("_")[0]) for field in fields.values())
        fields[name] = f"{plain}_{same + 1}" if same else plain
    return fields


def _plain(value: Any) -> object:
    """Return a number or truth value as JSON has it, None for an unknown one, and any other value as text."""
    if pd.isna(value):
        return None
    native = value.item() if hasattr(value, "item") else value
    return native if isinstance(native, (int, float)) else str(native)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def _parquet_bytes(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


_WRITERS: Mapping[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": csv_bytes,
    "parquet": _parquet_bytes,
}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, tables last.

    Raises:
        InputError: a folder that holds files already, or cannot be written; nothing that was written remains.
    """
    from tfaudit.store.files import write_whole

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--out", f"{folder}, which holds files", "an empty or a new folder")
    existed = folder.exists()
    try:
        for path, content in reversed(list(files.items())):
            write_whole(folder / path, content)
    except OSError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        if existed:
            folder.mkdir(exist_ok=True)
        got = f"{folder}, which cannot be written ({problem.strerror})"
        raise InputError("--out", got, "a writable folder") from None
