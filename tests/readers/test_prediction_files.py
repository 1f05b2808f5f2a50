"""Files of any framework: what is equal in all forms is read as equal, and what does not fit is one line."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit import Predictions, compare
from tfaudit.readers.prediction_files import (
    PredictionFiles,
    read_columns,
    read_groups,
    read_populations,
    read_predictions,
)
from tfaudit.readers.tables import TableFile

NAMES = ["cat", "dog", "élan", "owl, big"]
MEMBERS, EXAMPLES = 3, 12


@pytest.fixture
def scores(rng):
    return rng.dirichlet(np.ones(4), (MEMBERS, EXAMPLES)).astype(np.float32)


@pytest.fixture
def labels():
    return np.arange(EXAMPLES) % 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder):
    """Writes files by name and content, and returns their paths."""

    def written(**files):
        paths = []
        for name, content in files.items():
            path = folder / name.replace("_", ".")
            if isinstance(content, pd.DataFrame):
                (content.to_csv if path.suffix == ".csv" else content.to_parquet)(path, index=False)
            elif isinstance(content, dict):
                np.savez(path, **content)
            elif isinstance(content, str | bytes):
                path.write_bytes(content.encode() if isinstance(content, str) else content)
            else:
                np.save(path, content)
            paths.append(path.relative_to(folder))
        return paths

    return written


def ids():
    return np.array([f"e{i:02d}" for i in range(EXAMPLES)])


def table(scores, columns=NAMES):
    return pd.DataFrame(scores, columns=list(columns)).assign(id=ids())


def require_same(actual, expected, *, probabilities=True):
    assert_array_equal(actual.labels, expected.labels)
    assert_array_equal(actual.ranked[..., : expected.ranked.shape[2]], expected.ranked)
    if probabilities:
        assert_allclose(actual.probabilities, expected.probabilities, rtol=1e-5)


def test_arrays_in_every_form_are_the_same_predictions(write, labels, scores):
    expected = Predictions.from_scores(labels, scores)
    forms = [
        write(all_npy=scores),
        write(a_npy=scores[0], b_npy=scores[1], c_npy=scores[2]),
        write(all_npz={"Logits": scores, "history": np.zeros(3)}),
        write(double_npy=scores.astype(np.float64)),
        write(p_npz={"predictions": scores}),
        write(
            a_npz={"x": scores[0]}, b_npz={"probabilities": scores[1]}, c_npz={"softmax": scores[2]}
        ),
    ]
    for truth in write(
        y_npy=labels,
        y_npz={"labels": labels},
        floats_npy=labels.astype(float),
        y_csv=f"label\n{_lines(labels)}",
    ):
        for files in forms:
            require_same(read_predictions(truth, files), expected)
    assert read_predictions(truth, forms[0]).class_names == ("0", "1", "2", "3")
    assert read_predictions(truth, forms[0], k=2).ranked.shape == (MEMBERS, EXAMPLES, 2)


def test_logits_are_put_through_softmax(write, labels, scores):
    truth, files = write(y_npy=labels), write(z_npy=np.log(scores) + 7)
    require_same(read_predictions(truth[0], files), Predictions.from_scores(labels, scores))


def test_the_reader_or_the_name_of_an_array_says_what_rounded_scores_are(write):
    rounded, labels = np.array([[0.33, 0.33, 0.33], [0.0, 0.12, 0.87]]), np.array([0, 2])
    truth, plain, named = write(y_npy=labels, p_npy=rounded, p_npz={"probabilities": rounded})
    expected = Predictions.from_scores(labels, rounded, scores_are="probabilities")
    require_same(read_predictions(truth, [plain], scores_are="probabilities"), expected)
    require_same(read_predictions(truth, [named]), expected)
    require_same(
        read_predictions(truth, [plain], scores_are="logits"),
        Predictions.from_scores(labels, rounded, scores_are="logits"),
    )
    assert_refused(
        r"scores: got scores in \[0, 1\] with row sums of 0.99 to 0.99",
        Predictions.from_scores,
        labels,
        rounded,
    )


def test_top1_in_every_form_is_the_same_predictions(write, labels, scores):
    top1 = scores.argmax(-1)
    expected = Predictions.from_top1(labels, top1)
    (truth,) = write(y_npy=labels)
    for files in (
        write(t_npy=top1),
        write(t_npy=top1.astype(np.uint8)),
        write(a_npy=top1[0].astype(float), b_npy=top1[1], c_npy=top1[2]),
        write(t_npz={"top1": top1, "other": labels}),
        write(t_npz={"top1": top1.astype(float)}),
        write(
            a_csv=f"prediction\n{_lines(top1[0])}",
            b_csv=f"class\n{_lines(top1[1] * 1.0)}",
            c_npy=top1[2],
        ),
    ):
        predictions = read_predictions(truth, files)
        require_same(predictions, expected, probabilities=False)
        assert predictions.probabilities is None
        assert predictions.members == (0, 1, 2)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_are_joined_by_id_and_columns_by_name(write, labels, scores, rng, suffix):
    truth = pd.DataFrame({"id": ids(), "label": np.array(NAMES)[labels]})
    members = []
    for member in range(MEMBERS):
        shuffled = table(scores[member]).sample(frac=1, random_state=member)
        members.append(shuffled[[*rng.permutation(NAMES), "id"]])
    files = write(**{f"m{i}_{suffix}": member for i, member in enumerate(members)})
    (classes,) = write(names_txt="\n".join(NAMES) + "\n")
    (truth_file,) = write(**{f"y_{suffix}": truth})
    predictions = read_predictions(truth_file, files, classes=classes)
    require_same(predictions, Predictions.from_scores(labels, scores))
    assert predictions.class_names == tuple(NAMES)
    assert predictions.example_ids.tolist() == ids().tolist()
    without = read_predictions(truth_file, files)  # the first file's columns give the order
    assert set(without.class_names) == set(NAMES)
    assert_allclose(without.accuracy(), predictions.accuracy())


def test_many_members_in_one_table(write, labels, scores):
    rows = pd.concat(
        [table(member).assign(member=10 + i) for i, member in enumerate(scores)]
    ).sample(frac=1, random_state=0)
    (truth,) = write(y_parquet=pd.DataFrame({"label": labels, "id": ids()}))
    predictions = read_predictions(truth, write(all_csv=rows), k=4)
    order = [predictions.members.index(10 + i) for i in range(MEMBERS)]
    assert_array_equal(predictions.ranked[order], Predictions.from_scores(labels, scores).ranked)


def test_ids_are_text_with_their_zeros_and_any_column(write, labels):
    rows = pd.DataFrame({"file": [f"{i:03d}" for i in range(EXAMPLES)], "prediction": labels})
    truth, file = write(y_csv=rows.rename(columns={"prediction": "label"}), p_csv=rows[::-1])
    predictions = read_predictions(truth, [file], id_name="file")
    assert predictions.accuracy() == [1]
    assert predictions.example_ids[3] == "003"
    assert_refused(
        r"p.csv: got columns file, prediction, expected one that is called 'name'",
        read_predictions,
        *write(y_csv=rows.assign(name=rows["file"], label=0)),
        [file],
        id_name="name",
    )


def test_ids_of_arrays(write, labels, scores):
    order = np.arange(EXAMPLES)[::-1]
    truth, file = write(
        y_npz={"labels": labels, "ids": np.arange(EXAMPLES)},
        p_npz={"scores": scores[:, order], "ids": order},
    )
    require_same(read_predictions(truth, [file]), Predictions.from_scores(labels, scores))


def test_missing_classes_are_refused_unless_the_class_list_has_them(write):
    truth, file = write(
        y_csv='label\nNA\nNone\n"a, b"\n', p_csv='\ufeffprediction \nNone\nnan\n"a, b"\n'
    )
    missing = r"^{}: got '{}', a missing value, in 1 row of column '{}', first in row {}, expected a class in every row"
    refused = missing.format("y.csv", "NA", "label", 0)
    assert_refused(refused, read_predictions, truth, [file])
    (classes,) = write(c_json=json.dumps(["NA", "None", "a, b"]))
    refused = missing.format("p.csv", "nan", "prediction", 1)
    assert_refused(refused, read_predictions, truth, [file], classes=classes)
    (classes,) = write(c_json=json.dumps(["nan", "NA", "None", "a, b"]))
    predictions = read_predictions(truth, [file], classes=classes)
    assert (predictions.labels.tolist(), predictions.top1.tolist()) == ([1, 2, 3], [[2, 0, 3]])


def test_all_populations_have_the_same_classes(write):
    truth, a, b = write(y_npy=np.array([0, 1]), a_npy=np.array([0, 7]), b_npy=np.array([0, 1]))
    populations = read_populations(PredictionFiles(labels=truth), {"a": [a], "b": [b]})
    assert populations["a"].num_classes == populations["b"].num_classes == 8


def test_groups_are_joined_and_may_know_more_examples(write):
    truth, groups = write(
        y_csv="id,label\nb,0\na,1\n", g_csv="id,writer,age\nx,w9,1\na,w1,30\nb,w2,41.5\n"
    )
    frame = read_groups(groups, PredictionFiles(labels=truth))
    assert frame.to_dict("list") == {"writer": ["w2", "w1"], "age": [41.5, 30]}
    (labels,) = write(y_csv="id,label\nc,0\na,1\n")
    assert_refused(
        r"g.csv: got no rows for 1 examples: c, expected a row for every example of y.csv",
        read_groups,
        groups,
        PredictionFiles(labels=labels),
    )
    assert_refused(
        r"y.csv: got no example ids, expected ids, as in g.csv",
        read_groups,
        groups,
        PredictionFiles(labels=write(y_csv="label\n0\n0\n")[0]),
    )
    assert_refused(
        r"a file of unknown type, expected a file .csv, .parquet",
        read_groups,
        write(g_npy=np.zeros(2))[0],
        PredictionFiles(labels=truth),
    )


def test_groups_are_the_texts_that_the_file_has(write):
    """pandas takes None, NA and null for missing, and 01 for 1; R writes NA for a missing number."""
    written = {
        "disability": ["None", "visual", "", "None"],
        "country": ["NA", "ZA", "NA", "null"],
        "site": ["01", "1", "1", "2"],
        "age": ["41.5", "NA", "", "7"],
    }
    truth, groups = write(y_csv="label\n0\n1\n1\n0\n", g_csv=pd.DataFrame(written))
    frame = read_groups(groups, PredictionFiles(labels=truth))
    read = {name: column.where(column.notna(), None).tolist() for name, column in frame.items()}
    assert read["disability"] == ["None", "visual", None, "None"]
    assert (read["country"], read["site"]) == (written["country"], written["site"])
    assert frame["age"].dtype == float
    assert frame["age"].isna().tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("labels", "groups", "message"),
    [
        (
            "label\n0\n1\n1\n",
            "label,site\n1,a\n0,b\n1,c\n",
            "labels in column 'label' that differ from those of",
        ),
        (
            "file,label\na,0\nb,1\n",
            "file,site\nb,a\na,b\n",
            "the values of column 'file' in another order than in",
        ),
    ],
)
def test_groups_of_other_rows_are_refused(write, labels, groups, message):
    truth, file = write(y_csv=labels, g_csv=groups)
    assert_refused(f"g.csv: got {message}", read_groups, file, PredictionFiles(labels=truth))


@pytest.mark.parametrize(
    ("labels", "predictions", "refused"),
    [
        ("label\n0\n1\n0\n\n \n\n", "prediction\r\n0\r\n1\r\n0\r\n\r\n", None),
        (
            "label\n0\n\n1\n",
            "prediction\n0\n1\n0\n",
            "y.csv: got 1 empty cell in column 'label', first in row 1",
        ),
        (
            "label\n0\n1\n0\n",
            "prediction\n0\n\n1\n",
            "p.csv: got 1 empty cell in column 'prediction', first in row 1",
        ),
        ("label\n0\n1\n0\n", "0,1\n.5,.5\n\n0,1\n", "p.csv: got nan in row 1, class 0"),
    ],
)
def test_empty_lines_are_empty_cells_except_at_the_end(write, labels, predictions, refused):
    truth, file = write(y_csv=labels, p_csv=predictions)
    if refused is None:
        assert read_predictions(truth, [file]).accuracy() == [1]
    else:
        assert_refused(refused, read_predictions, truth, [file])


@pytest.mark.parametrize(("classes", "dtype"), [(256, "uint8"), (128, "int8"), (256, "uint64")])
def test_as_many_classes_as_an_integer_can_number(write, classes, dtype):
    labels = np.arange(2 * classes) % classes
    wrong = np.where(np.arange(len(labels)) % 5 == 0, (labels + 1) % classes, labels)
    truth, right, file = (
        write(**{f"{name}_npy": values.astype(dtype)})[0]
        for name, values in {"y": labels, "a": labels, "b": wrong}.items()
    )
    before, after = (read_predictions(truth, [path]) for path in (right, file))
    expected = compare(Predictions.from_top1(labels, labels), Predictions.from_top1(labels, wrong))
    pd.testing.assert_frame_equal(compare(before, after).frame(), expected.frame())


def test_columns_beside_examples_that_are_known_are_joined_by_id(write):
    (groups,) = write(g_csv="example,writer\nt-1,w1\nt-0,w0\nt-9,w9\n")
    frame = read_columns(groups, np.array(["t-0", "t-1"]), 2, "runs/x")
    assert frame.to_dict("list") == {"writer": ["w0", "w1"]}
    assert_refused(
        r"g.csv: got no rows for 1 examples: t-7, expected a row for every example of runs/x",
        read_columns,
        groups,
        np.array(["t-7"]),
        1,
        "runs/x",
    )


def test_a_name_in_an_extension_of_any_case(write, labels):
    truth, file = write(y_NPY=labels, p_Npy=labels)
    truth.with_name("y.NPY.npy").rename(truth)
    file.with_name("p.Npy.npy").rename(file)
    assert read_predictions(truth, [file]).accuracy() == [1]


Y = np.array([0, 1, 0])
YID = "id,label\na,0\nb,1\nc,0\n"
YNAMES = "id,label\na,cat\nb,dog\nc,cat\n"
CASES = [
    ("p.npy: got 2 examples, expected 3, as in y.npy", dict(p_npy=Y[:2])),
    ("y.npy: got class 5, expected classes 0 to 1", dict(y_npy=Y + 4, p_npy=np.ones((3, 2)))),
    ("y.npy: got class -1, expected classes from 0", dict(y_npy=Y - 1, p_npy=Y)),
    (
        "p.npy: got nan in row 0, class 0, expected finite numbers",
        dict(p_npy=np.full((3, 2), np.nan)),
    ),
    (
        "p.csv: got scores in [0, 1] with row sums of 0.99 to 1, expected sums of 1, or scores_are (--scores-are) set",
        dict(p_csv="0,1\n.33,.66\n1,0\n1,0"),
    ),
    (
        "p.npz: got -2 to -2, expected probabilities in [0, 1]",
        dict(p_npz={"probabilities": np.full((3, 2), -2.0)}),
    ),
    (
        "p.npy, member 0: got inf in row 0, class 0, expected finite numbers",
        dict(p_npy=np.full((2, 3, 2), np.inf)),
    ),
    (
        "p.csv: got 'oh' in row 1 of column 'z', expected numbers in a column of numbers",
        dict(p_csv="x,z\n1,2\n1,oh\n1,2"),
    ),
    (
        "p.csv: got a CSV conversion error to double: invalid value 'oh'",
        dict(y_csv="label\nx\nz\nx", p_csv="x,z\n1,2\n1,oh\n1,2"),
    ),
    (
        "p.csv: got 1 repeated ids: a, expected distinct",
        dict(y_csv=YID, p_csv="id,class\na,0\na,0\nc,0"),
    ),
    (
        "y.csv: got 1 repeated ids: a, expected distinct",
        dict(y_csv=YID + "a,1", p_csv="id,class\na,0"),
    ),
    (
        "p.csv: got no rows for 2 examples: b, c, expected a row for every example of y.csv",
        dict(y_csv=YID, p_csv="id,class\na,0\nx,0"),
    ),
    (
        "p.csv: got 1 unknown examples: x, expected examples of y.csv",
        dict(y_csv=YID, p_csv="id,class\na,0\nb,0\nc,1\nx,0"),
    ),
    (
        "p.csv: got 1 empty cell in column 'id', first in row 1",
        dict(y_csv=YID, p_csv="id,class\na,0\n,0\n"),
    ),
    ("p.npy: got no example ids, expected ids, as in y.csv", dict(y_csv=YID, p_npy=Y)),
    ("y.npy: got no example ids, expected ids, as in p.csv", dict(p_csv="id,class\na,0")),
    (
        "p.npz: got ids float64 (3,), expected ids (examples,), integers or text",
        dict(p_npz={"top1": Y, "ids": Y * 1.0}),
    ),
    (
        "p.csv: got unknown classes 'cow', expected classes such as 'cat', 'dog'",
        dict(y_csv=YNAMES, p_csv="id,class\na,cow\nb,dog\nc,cat"),
    ),
    (
        "y.csv: got unknown classes 'dog', expected classes such as 'cat', 'cow', 'sow'",
        dict(y_csv=YNAMES, p_csv="id,cat,cow,sow\na,0,1,0\nb,0,1,0\nc,0,1,0"),
    ),
    (
        "q.csv: got columns 'cow', expected columns of classes such as 'cat', 'dog'",
        dict(p_csv="cat,dog\n1,0\n1,0\n1,0\n", q_csv="dog,cow\n1,0\n1,0\n1,0\n"),
    ),
    (
        "y.npy: got class numbers, expected class names, as files order their columns differently",
        dict(p_csv="cat,dog\n1,0\n1,0\n1,0\n", q_csv="dog,cat\n1,0\n1,0\n1,0\n"),
    ),
    (
        "q.csv: got no scores of 'owl', expected scores of every class",
        dict(
            y_csv=YNAMES,
            p_csv="id,cat,dog,owl\na,1,0,0\nb,1,0,0\nc,1,0,0",
            q_csv="id,cat,dog\na,1,0\nb,1,0\nc,1,0",
        ),
    ),
    (
        "p.npy: got columns without names, expected class names, as in y.csv",
        dict(y_csv="label\ncat\ndog\ncat\n", p_npy=np.ones((3, 2))),
    ),
    (
        "q.npy: got scores of 3 classes, expected scores of 2",
        dict(p_npy=np.full((3, 2), 0.5), q_npy=np.ones((3, 3))),
    ),
    (
        "p.csv: got columns '*' numbered 1 to 2 for labels 0 to 1, expected all numbers from 0, or --classes FILE",
        dict(p_csv="1,2\n1,0\n1,0\n1,0"),
    ),
    (
        "p.csv: got class names 'cat', 'dog', expected class numbers, or a class list",
        dict(p_csv="class\ncat\ndog\ncat"),
    ),
    (
        "q.npy: got scores, expected top-1 classes, as in p.npy",
        dict(p_npy=Y, q_npy=np.ones((3, 2))),
    ),
    (
        "q.csv: got member 1, as in another file, expected each member in one file",
        dict(p_csv="member,class\n1,0\n1,0\n1,0", q_csv="member,class\n1,0\n1,0\n1,0"),
    ),
    (
        "p.csv, member 1: got 2 examples, expected 3, as in y.npy",
        dict(p_csv="member,class\n1,0\n1,0\n2,0"),
    ),
    ("p.npy: got Python objects", dict(p_npy=np.array([{}] * 3))),
    (
        "p.npy: got a file without NumPy arrays, expected NumPy arrays; pickles",
        dict(p_npy=b"\x80\x04\x95"),
    ),
    (
        "p.pkl: got a file of unknown type, expected a file .csv, .parquet, .npy, .npz",
        dict(p_pkl=b"\x80"),
    ),
    ("p.csv: got an empty file", dict(p_csv="")),
    ("p.npy: got an empty array (0, 2)", dict(p_npy=np.ones((0, 2)))),
    ("y.npy: got no labels", dict(y_npy=Y[:0], p_npy=Y)),
    ("p.parquet: got a damaged or truncated file, expected Parquet", dict(p_parquet="class\n0\n")),
    (
        "p.csv: got a damaged or truncated file, expected CSV in UTF-8",
        dict(p_csv=b"class\n\xff\xfe\n"),
    ),
    (
        "p.csv: got a CSV parse error: Row #3: Expected 2 columns, got 3",
        dict(p_csv="class,x\n0,1\n0,1,9\n0,1"),
    ),
    ("p.csv: got two columns 'x'", dict(p_csv="x,x\n0,1")),
    (
        "p.csv: got one column of numbers, 'x', for labels 0 to 1, expected a column `prediction`, or scores in a",
        dict(p_csv="x\n0"),
    ),
    (
        "p.csv: got columns 'pred', 'Prediction', expected only one of them, stated with --prediction-column",
        dict(p_csv="pred,Prediction\n0,1\n"),
    ),
    ("y.csv: got columns x, expected a column `label`", dict(y_csv="x\n0", p_npy=Y)),
    ("y.npz: got arrays a, b, expected an array `labels`", dict(y_npz={"a": Y, "b": Y}, p_npy=Y)),
    (
        "p.npz: got arrays a, b, expected predictions in an array `scores` or `top1`",
        dict(p_npz={"a": Y, "b": Y}),
    ),
    ("y.npy: got classes of dtype float64, expected whole numbers", dict(y_npy=Y + 0.5, p_npy=Y)),
    ("p.npy: got float64 (1, 1, 3, 2), expected top-1 classes", dict(p_npy=np.ones((1, 1, 3, 2)))),
    ("p.npy: got scores of dtype bool, expected floats", dict(p_npy=np.ones((3, 2), bool))),
    (
        "p.npy: got int8 (3, 2), expected classes from 0 of shape (members, 3), or floats",
        dict(p_npy=np.full((3, 2), -5, "int8")),
    ),
    ("p.npy: got percentages: each row sums to 100", dict(p_npy=np.full((3, 2), 50.0))),
    ("p.csv: got class 1.5, expected whole numbers", dict(p_csv="pred,file\n0,a\n1.5,b\n0,c")),
    (
        "y.csv: got class 1.5, expected whole numbers",
        dict(y_csv="label\n0\n1.5\n0", p_csv="class\n0\n0\n1"),
    ),
    (
        "p.npy: got class numbers, expected class names, as in y.csv",
        dict(y_csv="label\ncat\ndog\ncat", p_npy=Y),
    ),
]
"""Errors, and the files that cause them, beside the labels `Y` where there are no others."""


@pytest.mark.parametrize(("message", "files"), CASES)
def test_what_does_not_fit_is_one_line_that_names_the_file(write, message, files):
    labels = [] if next(iter(files)).startswith("y") else write(y_npy=Y)
    truth, *paths = [*labels, *write(**files)]
    assert_refused("^" + re.escape(message), read_predictions, truth, paths)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (dict(c_txt="cat\ncat"), "c.txt: got class 'cat' twice"),
        (dict(c_txt=""), "c.txt: got no list of class names"),
        (dict(c_txt="cat\n\ndog"), "c.txt: got no list of class names"),
        (dict(c_json="{}"), "c.json: got no list of class names"),
        (dict(c_json="[1]"), "c.json: got no list of class names"),
        (dict(c_json="["), "c.json: got neither text nor JSON"),
        (dict(c_txt=b"\xff"), "c.txt: got neither"),
        (
            dict(c_txt="2\n1"),
            "c.txt: got classes '2', '1', expected names, or the numbers from 0 to",
        ),
        (dict(c_txt="cat"), "y.npy: got class 1, expected classes 0 to 0"),
        (dict(c_txt="a\nb\nc"), "p.npy: got scores of 2 classes, expected scores of 3"),
    ],
)
def test_an_unfit_list_of_classes(write, classes, message):
    truth, file, path = write(y_npy=Y, p_npy=np.ones((3, 2)), **classes)
    assert_refused("^" + message, read_predictions, truth, [file], classes=path)


def test_files_that_are_not_there(write):
    truth, file = write(y_npy=Y, p_npy=Y)
    for name in ("no.npy", "no.csv"):
        unreadable = rf"{name}: got an unreadable file \(No such file"
        assert_refused(unreadable, read_predictions, truth, [Path(name)])
    assert_refused("files: got none", read_predictions, truth, [])
    unreadable = "no.txt: got an unreadable file"
    assert_refused(unreadable, read_predictions, truth, [file], classes=Path("no.txt"))


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet"])
def test_a_file_cut_anywhere_is_one_line(write, labels, scores, suffix):
    contents = {
        "npy": scores,
        "npz": {"scores": scores},
        "parquet": table(scores[0]).drop(columns="id"),
    }
    truth, file = write(y_npy=labels, **{f"p_{suffix}": contents[suffix]})
    whole = file.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:length])
        assert_refused(
            rf"^p.{suffix}: got an? (empty file|damaged or truncated file|file without NumPy arrays)",
            read_predictions,
            truth,
            [file],
        )


def _lines(values):
    return "\n".join(map(str, values)) + "\n"


@pytest.mark.slow
def test_a_small_file_of_very_many_rows_is_refused(tmp_path):
    """Equal rows take no room in Parquet, and all of the memory once they are read."""
    path = tmp_path / "bomb.parquet"
    rows = pa.array(["x"]).take(pa.array(np.zeros(2**22 + 1, np.int32)))
    pq.write_table(pa.table({"prediction": rows}), path, compression="zstd")
    assert_refused(
        r"got 4,194,305 rows in [\d,]+ bytes, expected rows that differ", TableFile, path
    )


def test_one_long_cell_among_many_is_refused(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("label\n" + "1\n" * 600_000 + "x" * 900 + "\n")
    refused = "600,001 cells of up to 900 characters in column 'label'"
    assert_refused(refused, TableFile(path).text, "label")


def test_columns_of_any_name(write):
    (file,) = write(all_csv="image,gilt,guest\na,cat,cat\nb,dog,cat\nc,dog,dog\n")
    names = {"id_name": "image", "label_column": "gilt", "prediction_column": "guest"}
    found = read_predictions(file, [file], **names)
    assert (found.class_names, found.top1.tolist()) == (("cat", "dog"), [[0, 0, 1]])
    unknown = "all.csv: got columns image, gilt, guest, expected one that is called"
    for wrong in ({"label_column": "truth"}, {**names, "prediction_column": "answered"}):
        assert_refused(unknown, read_predictions, file, [file], **wrong)
    assert_refused("expected a column `label`, or a column named", read_predictions, file, [file])


SHARES = np.array([0.25, 0.75, 0.5, 0.125])
LOGITS = np.log(SHARES / (1 - SHARES))


@pytest.mark.parametrize(
    ("scores", "scores_are", "shares"),
    [
        (SHARES, "auto", SHARES),
        (LOGITS, "auto", SHARES),
        (SHARES, "logits", 1 / (1 + np.exp(-SHARES))),
    ],
)
def test_one_score_per_example_is_that_of_class_1_in_every_file(write, scores, scores_are, shares):
    labels = np.array([0, 1, 1, 0])
    table = pd.DataFrame({"id": range(4), "label": labels, "p": scores})
    *files, truth, own, several = write(
        score_parquet=pd.DataFrame({"score": scores}),
        flat_npy=scores,
        column_npy=scores[:, None],
        members_npy=np.stack([scores, scores])[..., None],
        named_npz={"scores": scores},
        y_npy=np.eye(2)[labels],
        own_csv=table,
        several_npy=np.ones((4, 2)),
    )
    names = {"label_column": "label", "prediction_column": "p", "id_name": "id"}
    found = [read_predictions(truth, [file], scores_are=scores_are) for file in files]
    found.append(read_predictions(own, [own], scores_are=scores_are, **names))
    for predictions in found:
        assert predictions.labels.tolist() == labels.tolist()
        for top1, probabilities in zip(predictions.top1, predictions.probabilities, strict=True):
            assert top1.tolist() == (shares > 0.5).astype(int).tolist()
            assert_allclose(probabilities[:, 0], np.maximum(shares, 1 - shares), rtol=1e-6)
    assert found[3].num_members == 2
    unfit = r"several.npy: got labels \(4, 2\) of several classes, expected one class"
    assert_refused(unfit, read_predictions, several, files)
