"""How classes are numbered plays no part: predictions in files, flatbuffers and studies."""

import keras
import numpy as np
import pandas as pd
import pytest
from keras import layers
from typer.testing import CliRunner

from tests.builders.int8_scores import NAMES, ORDERS, numbered, without_argmax, write_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import DEFAULT_LIMITS
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.cli import app
from tfaudit.compress.litert.inference import predict
from tfaudit.compress.litert.quantize import quantize
from tfaudit.predictions import Predictions
from tfaudit.readers.prediction_files import read_predictions


def same(frame, expected):
    """Compare tables row by row by the names of the classes, without the figures of argmax."""
    sides = [table.sort_values("class").reset_index(drop=True) for table in (frame, expected)]
    pd.testing.assert_frame_equal(*sides, check_exact=False, rtol=1e-6, atol=1e-9)


def test_scores_in_npy_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables, printed = [], []
    for i, order in enumerate([np.arange(6), *ORDERS]):
        labels, before, after = numbered(order, members=1)
        for name, array in {"y": labels, "before": before, "after": after}.items():
            np.save(f"{name}.npy", array)
        (tmp_path / "classes.txt").write_text("\n".join(NAMES[order]))
        named = {"classes": tmp_path / "classes.txt", "scores_are": "logits"}
        sides = (
            read_predictions(tmp_path / "y.npy", [tmp_path / f"{name}.npy"], **named)
            for name in ("before", "after")
        )
        tables.append(compare(*sides).frame())
        same(tables[-1], tables[0])
        if i < 2:
            command = "audit --labels y.npy --baseline before.npy --compressed after.npy --classes classes.txt"
            result = CliRunner().invoke(app, [*command.split(), "--scores-are", "logits"])
            assert result.exit_code == 0, result.output
            printed.append(without_argmax(" ".join(result.output.split())))
    assert printed[0] == printed[1]


@pytest.mark.slow
def test_flatbuffers():
    """The columns of the last layer change places; the quantized outputs do, too."""
    rng = np.random.default_rng(0)
    images = rng.random((600, 4, 4, 1), np.float32)
    centres = rng.normal(size=(6, 16)).astype(np.float32)
    labels = (images.reshape(600, 16) @ centres.T + 0.3 * rng.normal(size=(600, 6))).argmax(1)
    verdicts = []
    for order in [np.arange(6), *ORDERS]:
        model = keras.Sequential(
            [keras.Input((4, 4, 1)), layers.Flatten(), layers.Dense(6, name="logits")]
        )
        model.get_layer("logits").set_weights([40 * centres.T[:, order], np.zeros(6, np.float32)])
        flatbuffer = quantize(model, "int8", representative=images[:50])
        names = {"class_names": NAMES[order]}
        before, after = (
            Predictions(
                np.argsort(order)[labels], predict(kind, images, k=6, scores_are="logits"), **names
            )
            for kind in (model, flatbuffer)
        )
        verdicts.append((compare(before, after), gate(before, after, DEFAULT_LIMITS)))
        assert verdicts[-1][0].ties.tied_after > 5
        same(verdicts[-1][0].frame(), verdicts[0][0].frame())
        assert (
            verdicts[-1][1].frame()["sentence"].tolist()
            == verdicts[0][1].frame()["sentence"].tolist()
        )


@pytest.mark.parametrize("members", [1, 4])
def test_the_verdict_of_a_study(tmp_path, members):
    plain = None
    for i, order in enumerate([np.arange(6), *ORDERS]):
        verdict = StudyAudit.read(write_study(tmp_path / str(i), order, members)).verdict()
        table = verdict.frame().assign(**{"class": verdict.frame()["variant"]})
        plain = plain or (verdict, table)
        assert (verdict.headline, verdict.alerts) == (plain[0].headline, plain[0].alerts)
        same(table, plain[1])
