"""Clusters of examples on their way: from labels, functions and data sets to a study, its audits and a search."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.populations import population
from tests.builders.refusals import assert_refused
from tfaudit import Examples, open_store, read_predictions
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.datasets.examples import read_examples
from tfaudit.datasets.labelled_images import labelled_images
from tfaudit.datasets.validation import split_validation
from tfaudit.stats.copies import notes_on_copies
from tfaudit.store.external import import_predictions


@pytest.fixture
def before():
    """Two members whose examples are 20 films of a few frames each."""
    single = population(0, members=2)
    return single.clustered(np.arange(single.num_examples) % 20)


def test_a_study_has_the_clusters_of_imported_predictions(tmp_path, before):
    groups = pd.DataFrame({"side": np.arange(before.num_examples) % 2})
    store = import_predictions(tmp_path, before, {"x": before}, name="mine", groups=groups)
    assert store.examples().attrs["groups"] == ["side", "cluster"]
    assert_array_equal(store.predictions("dense").clusters, before.clusters)
    audit = StudyAudit.read(open_store(tmp_path))
    assert_array_equal(audit.data.baseline.clusters, before.clusters)
    other = pd.DataFrame({"cluster": np.arange(before.num_examples)})
    unclustered = import_predictions(
        tmp_path / "other", before.clustered(None), {"x": before}, name="other"
    )
    assert unclustered.predictions("dense").clusters is None
    added = StudyAudit.read(unclustered, groups=other)
    assert_array_equal(added.data.baseline.clusters, other["cluster"])


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
@pytest.mark.parametrize("name", ["cluster", "film"])
def test_a_column_of_the_labels_names_the_clusters(tmp_path, suffix, name):
    path, films = tmp_path / f"labels{suffix}", ["b", "a", "b", "a"]
    if suffix == ".csv":
        pd.DataFrame({"label": [0, 1, 0, 1], name: films}).to_csv(path, index=False)
    else:
        np.savez(path, labels=[0, 1, 0, 1], **{name: films})
    np.save(tmp_path / "p.npy", [0, 1, 1, 1])
    files = (path, [tmp_path / "p.npy"])
    assert read_predictions(*files, cluster=name).clusters.tolist() == [1, 0, 1, 0]
    by_default = (
        read_predictions(*files).clusters if suffix == ".csv" or name == "cluster" else None
    )
    assert (by_default is None) == (name != "cluster")
    assert_refused("expected one that is called 'take'", read_predictions, *files, cluster="take")


def test_an_example_whose_cell_is_empty_is_a_cluster_of_its_own(tmp_path):
    (tmp_path / "y.csv").write_text("label,cluster\n0,NA\n1,\n0,NA\n1,\n")
    np.save(tmp_path / "p.npy", [0, 1, 1, 1])
    predictions = read_predictions(tmp_path / "y.csv", [tmp_path / "p.npy"])
    assert predictions.clusters.tolist() == [0, 1, 0, 2]


def test_examples_of_a_function_have_clusters(tmp_path):
    x, y = np.arange(16.0).reshape(8, 2), np.arange(8) % 2
    films = np.array(list("aabbccdd"))
    given = read_examples(Examples(x, y, cluster=films), "own")
    assert given.groups["cluster"].tolist() == films.tolist()
    data = given.dataset("own", "test", ("no", "yes"))
    assert data.clusters.tolist() == films.tolist()
    assert data.take(3).clusters.tolist() == list("aab")
    both = Examples(x, y, {"cluster": films}, cluster=films)
    assert_refused("dataset: got two clusters per example from own", read_examples, both, "own")
    (tmp_path / "own.py").write_text(
        "import numpy as np\nimport tfaudit\n\n\ndef load(split):\n"
        "    films = np.arange(8) // 2\n"
        "    return tfaudit.Examples(np.arange(8.0), np.arange(8) % 2, cluster=films)\n"
    )
    images = labelled_images(f"{tmp_path}/own.py:load", limit=4)
    assert images.clusters.tolist() == [0, 1, 2, 3]
    assert images.only(["2", "6"], "list.csv").clusters.tolist() == [1, 3]


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.75])
def test_held_out_examples_are_whole_clusters(fraction, rng):
    count = 1200
    films = np.arange(count) // 6
    examples = Examples(np.arange(count), rng.integers(0, 3, count), cluster=films)
    data = examples.checked("own").dataset("own", "train", ("a", "b", "c"))
    first, held_out = split_validation(data, fraction, seed=0)
    assert not set(first.clusters) & set(held_out.clusters)
    assert held_out.num_examples == pytest.approx(fraction * count, rel=0.05)
    shares = [np.bincount(part.labels) / part.num_examples for part in (first, held_out)]
    assert_allclose(*shares, atol=0.06)
    again = split_validation(data, fraction, seed=0)[1]
    assert_array_equal(again.example_ids, held_out.example_ids)


def test_copies_are_counted():
    contents = [b"a", b"b", b"a", b"a", b"", b""]
    [note] = notes_on_copies(contents)
    assert note.startswith("2 of the 6 examples are exact copies of others, ")
    [once] = notes_on_copies(contents, np.array([0, 1, 0, 0, 2, 3]))
    assert once == "2 of the 6 examples are exact copies of others: copies count once."
    assert notes_on_copies(contents, np.array([0, 1, 0, 0, 2, 2])) == ()
    assert notes_on_copies(contents, np.array([0, 1, 0, 2, 3, 4]))[0].startswith("1 of the 6 ")
    assert notes_on_copies([b"a", b"b"]) == notes_on_copies([b"", b""]) == ()
