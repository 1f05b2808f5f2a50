"""Exemplars for other tools: a table with image files, and FiftyOne's data set in JSON."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tfaudit.analysis.stored_images import is_picture
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.audits.flips.image_changes import NEWLY_CORRECT, NEWLY_WRONG, OTHER_WRONG
from tfaudit.errors import InputError
from tfaudit.outlets.csv_files import csv_bytes

IMAGES = "images"
"""Folder of the pictures beside a table."""

_RENAMED = {"baseline_mode": "before", "compressed_mode": "after"}
_RENAMED |= {
    f"{side}_{of}": f"{_RENAMED[f'{side}_mode']}_{of}"
    for side in ("baseline", "compressed")
    for of in ("share", "entropy")
}


def exemplar_table(study_audit: StudyAudit, variants: Sequence[str] = ()) -> pd.DataFrame:
    """Return one row per variant and exemplar.

    Columns: `variant` (key), `index` (position), `example` (id), `label`, `before` and `after` (majority predictions),
    `change` (newly wrong, newly correct, other wrong), `before_share`, `after_share` (of the votes), `before_entropy`,
    `after_entropy` (bits), `decisiveness`, and a column `group_NAME` for every column of groups.

    Args:
        study_audit: of the study.
        variants: keys; all compressed ones by default.

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
    study_audit: StudyAudit, form: str, variants: Sequence[str] = ()
) -> dict[str, bytes]:
    """Return a table of exemplars as a file, and their pictures, by path.

    The table has a column `image`, the path of the picture, or `text` where examples are texts or rows.

    Args:
        study_audit: of the study.
        form: "csv" or "parquet".
        variants: as for `exemplar_table`.
    """
    table = exemplar_table(study_audit, variants)
    previews = _previews(study_audit, table["index"])
    pictures = {
        position: f"{IMAGES}/{position:06}.png"
        for position, content in previews.items()
        if is_picture(content)
    }
    if pictures:
        table["image"] = table["index"].map(pictures)
    elif any(previews.values()):
        table["text"] = [
            previews[position].decode("utf-8", "replace") for position in table["index"]
        ]
    files = {path: previews[position] for position, path in pictures.items()}
    return {f"exemplars.{form}": _WRITERS[form](table), **files}


def fiftyone_files(study_audit: StudyAudit, variants: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the exemplars as the files of a `FiftyOneDataset`, by path.

    A sample is an image that is an exemplar of any variant: `ground_truth`, the majority predictions of the baseline
    and of every variant as classifications whose confidence is their share of the votes, `example`, `group_NAME`, and
    as tags the variants that changed its prediction.

    Raises:
        InputError: as `exemplar_table`, and a study that stores no images.
    """
    table = exemplar_table(study_audit, variants)
    data = study_audit.data
    keys = tuple(variants) or data.compressed_keys
    positions = sorted(set(table["index"]))
    previews = _previews(study_audit, positions)
    if positions and not any(map(is_picture, previews.values())):
        raise InputError(
            "--fiftyone", f"{data.store.directory}, which stores no images", "a study of images"
        )
    names = data.baseline.class_names
    fields = dict(zip((BASELINE, *keys), _field_names((BASELINE, *keys)), strict=True))
    votes = {key: _votes(study_audit, key, positions) for key in fields}
    tags = table.groupby("index")["variant"].agg(list)
    groups = {f"group_{name}": data.groups[name] for name in data.groups}
    group_fields = dict(zip(groups, _field_names(groups), strict=True))
    samples = []
    files = {}
    for i, position in enumerate(positions):
        path = f"data/{position:06}.png"
        files[path] = previews[position]
        samples.append(
            {
                "filepath": path,
                "tags": tags[position],
                "example": str(data.baseline.example_ids[position]),
                "ground_truth": _classification(names[data.baseline.labels[position]]),
                **{fields[key]: _classification(*votes[key][i]) for key in fields},
                **{
                    field: _plain(groups[name].iloc[position])
                    for name, field in group_fields.items()
                },
            }
        )
    metadata: dict[str, Any] = {
        "name": data.study.name,
        "media_type": "image",
        "default_classes": list(names),
    }
    metadata["info"] = {
        "tfaudit": "exemplars: images whose majority prediction changes",
        "split": data.split,
    }
    return {"metadata.json": _json(metadata), "samples.json": _json({"samples": samples}), **files}


def _previews(study_audit: StudyAudit, positions: Iterable[int]) -> dict[int, bytes]:
    wanted = sorted(set(map(int, positions)))
    return dict(
        zip(wanted, study_audit.data.store.images(study_audit.data.split, wanted), strict=True)
    )


def _votes(study_audit: StudyAudit, key: str, positions: Sequence[int]) -> list[tuple[str, float]]:
    """Return the majority prediction and its share of the votes of every position."""
    counts = study_audit.counts(key)
    names = counts.modal_classes().names(counts.class_names)
    shares = counts.share()
    return [(names[position], float(shares[position])) for position in positions]


def _classification(label: str, confidence: float | None = None) -> dict[str, Any]:
    known = {} if confidence is None else {"confidence": confidence}
    return {"_cls": "Classification", "tags": [], "label": str(label), **known}


def _field_names(names: Iterable[str]) -> list[str]:
    """Return names of fields, which hold letters, digits and underscores only, all different.

    Example:
        >>> _field_names(["int8", "magnitude-0.9", "magnitude-0_9"])
        ['int8', 'magnitude_0_9', 'magnitude_0_9_2']
    """
    fields: list[str] = []
    for name in names:
        plain = re.sub(r"\W", "_", name).lstrip("_") or "field"
        same = sum(field == plain or field.rpartition("_")[0] == plain for field in fields)
        fields.append(f"{plain}_{same + 1}" if same else plain)
    return fields


def _plain(value: object) -> object:
    return None if pd.isna(value) else value.item() if hasattr(value, "item") else str(value)  # type: ignore[call-overload]


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
        InputError: a folder that cannot be written, or that holds files already.
    """
    from tfaudit.store.files import write_whole

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--out", f"{folder}, which holds files", "an empty or a new folder")
    try:
        for path, content in reversed(list(files.items())):
            write_whole(folder / path, content)
    except OSError as problem:
        got = f"{folder}, which cannot be written ({problem.strerror})"
        raise InputError("--out", got, "a folder that can be written") from None
