"""The section of one study and of several."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.builders.sections import cells, sections_of
from tests.builders.studies import make_study
from tfaudit.analysis.across_studies import named_studies
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.cli import app
from tfaudit.extensions.factors.regression import Factors
from tfaudit.extensions.factors.study_factors import joint_factors, joint_table, withdrawn
from tfaudit.study.variants import Pruned


def test_terms_without_evidence_by_class_are_named():
    rows = [  # estimate, interval by HAC errors, and by class, with its error
        ("Intercept", 0.9, 0.8, 1.0, 0.7, 1.1, 0.1),
        ("class_entropy", -0.02, -0.03, -0.01, -0.05, 0.01, 0.01),
        ("sparsity", 0.6, 0.4, 0.8, 0.3, 0.9, 0.1),
        ("imbalance", 0.1, -0.1, 0.3, -0.2, 0.4, 0.1),
    ]
    names = ["term", "estimate", "low", "high", "cluster_low", "cluster_high", "cluster_se"]
    fit = Factors("ols", "", pd.DataFrame(rows, columns=names), pd.DataFrame(), {}, ())
    note = "Errors that allow for correlation within a class leave no evidence for: entropy of the images."
    assert withdrawn(fit) == (note,)
    few = fit.coefficients.assign(cluster_low=np.nan, cluster_high=np.nan)  # no tests by class
    assert withdrawn(dataclasses.replace(fit, coefficients=few)) == (
        "Errors that allow for correlation within a class leave no evidence for: intercept, "
        "entropy of the images, sparsity.",
    )
    single = few.assign(cluster_se=np.nan)  # one class: no errors by class
    assert withdrawn(dataclasses.replace(fit, coefficients=single)) == ()


@pytest.mark.slow
def test_three_sparsities_make_factors(tmp_path):
    store = make_study(tmp_path, variants=tuple(Pruned(s) for s in (0.3, 0.5, 0.7, 0.9)))
    table = pd.DataFrame(
        {"class": store.examples().attrs["class_names"], "train_examples": [5, 6, 7, 8, 9]}
    )
    store.save_table("classes", table.assign(entropy_bits=[1.0, 3.0, 2.0, 2.5, 0.5]))
    found = sections_of(store)["factors"]
    terms = cells(found.tables[0])["term"]
    words = {
        "sparsity",
        "exp(sparsity)",
        "accuracy before",
        "share of the training set",
        "entropy of the images",
    }
    assert words <= set(terms)
    assert "quartile of accuracy before" not in terms  # five classes are too few to estimate it
    assert not any("_" in term or "[" in term for term in terms)
    (formula,) = (
        note for note in found.notes if note.startswith("Formula ([P] eq. 2): accuracy ~ ")
    )
    assert "np.exp(sparsity)" in formula
    assert any(note.startswith("R² ") for note in found.notes)


def test_factors_explain_the_class_accuracies_of_all_studies(tmp_path):
    places = [
        ("digits", "lenet_r", 4),
        ("digits", "lenet_p", 5),
        ("mnist", "lenet_r", 5),
        ("mnist", "lenet_p", 6),
    ]
    levels = tuple(Pruned(level) for level in (0.5, 0.7, 0.9))
    several = []
    for dataset, model, members in places:
        name = f"{model}_on_{dataset}"
        settings = {"dataset": dataset, "model": model, "members": members, "variants": levels}
        several.append(
            StudyAudit.read(make_study(tmp_path / name, name=name, **settings), permutations=0)
        )
    two = {"name": "two", "variants": levels[:2]}  # sparsities, too few for [P]
    few = StudyAudit.read(make_study(tmp_path / "two", **two), permutations=0)
    result = named_studies([*several, few])
    rows = joint_table(result)
    assert len(rows) == sum(3 * members for *_, members in places) * len(
        several[0].data.baseline.class_names
    )
    for study_audit, (dataset, model, _) in zip(several, places, strict=True):
        pruned = study_audit.data.populations["magnitude-0.7"]
        here = rows[
            (rows["dataset"] == dataset)
            & (rows["model"] == model)
            & (rows["variant"] == "magnitude-0.7")
        ]
        np.testing.assert_array_equal(here["accuracy"], pruned.recall().ravel())
    found = joint_factors(result)
    least_squares, binomial = found.least_squares, found.binomial
    terms = set(least_squares.frame()["term"])
    assert {"dataset[T.digits]", "model[T.lenet_r]", "np.exp(sparsity):dataset[T.digits]"} <= terms
    assert least_squares.summary()["rows"] == binomial.summary()["rows"] == len(rows)
    other = StudyAudit.read(make_study(tmp_path / "3", **two | {"name": "3"}), permutations=0)
    assert joint_factors(named_studies([few, other])) is None


def test_three_sparsities_explain_class_accuracy(tmp_path):
    levels = tuple(Pruned(level) for level in (0.5, 0.7, 0.9))
    for name, model in (("one", "lenet_r"), ("two", "lenet_p")):
        make_study(tmp_path / name, name=name, model=model, variants=levels)
    out = tmp_path / "both.html"
    arguments = ["report", str(tmp_path / "one"), str(tmp_path / "two"), "--out", str(out)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    page = out.read_text()
    assert '<section id="factors">' in page
    assert "model lenet_r" in page
    assert page.count("<svg") == 2  # the coefficients, and the fit with its residuals
    assert "M. Paganini. Prune Responsibly" in page
