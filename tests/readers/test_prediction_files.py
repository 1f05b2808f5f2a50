"""Files of any framework: what is equal in all forms is read as equal, and what does not fit is one line."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.builders.refusals import assert_refused
from tfaudit import InputError, Predictions
from tfaudit.readers.prediction_files import (
    PredictionFiles,
    read_columns,
    read_groups,
    read_populations,
    read_predictions,
)
from tfaudit.readers.sources import read_labels

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
    np.testing.assert_array_equal(actual.labels, expected.labels)
    np.testing.assert_array_equal(actual.ranked[..., : expected.ranked.shape[2]], expected.ranked)
    if probabilities:
        np.testing.assert_allclose(actual.probabilities, expected.probabilities, rtol=1e-5)


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
    np.testing.assert_allclose(without.accuracy(), predictions.accuracy())


def test_many_members_in_one_table(write, labels, scores):
    rows = pd.concat(
        [table(member).assign(member=10 + i) for i, member in enumerate(scores)]
    ).sample(frac=1, random_state=0)
    (truth,) = write(y_parquet=pd.DataFrame({"label": labels, "id": ids()}))
    predictions = read_predictions(truth, write(all_csv=rows), k=4)
    order = [predictions.members.index(10 + i) for i in range(MEMBERS)]
    np.testing.assert_array_equal(
        predictions.ranked[order], Predictions.from_scores(labels, scores).ranked
    )


def test_ids_are_text_with_their_zeros_and_any_column(write, labels):
    rows = pd.DataFrame({"file": [f"{i:03d}" for i in range(EXAMPLES)], "prediction": labels})
    truth, file = write(y_csv=rows.rename(columns={"prediction": "label"}), p_csv=rows[::-1])
    predictions = read_predictions(truth, [file], id_name="file")
    assert predictions.accuracy() == [1]
    assert predictions.example_ids[3] == "003"
    assert_refused(
        r"p.csv: got columns file, prediction, expected a column 'name'",
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


def test_text_that_looks_missing_is_a_class_and_quotes_hold_commas(write):
    truth, file = write(
        y_csv='label\nNA\nNone\n"a, b"\n', p_csv='\ufeffprediction \nNone\nnan\n"a, b"\n'
    )
    assert_refused(
        r"p.csv: got unknown classes 'nan', expected classes such as 'NA'; 'None'; 'a, b'",
        read_predictions,
        truth,
        [file],
    )
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
        r"g.csv: got no rows for 1 examples: c, expected those of y.csv",
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


def test_columns_beside_examples_that_are_known_are_joined_by_id(write):
    (groups,) = write(g_csv="example,writer\nt-1,w1\nt-0,w0\nt-9,w9\n")
    frame = read_columns(groups, np.array(["t-0", "t-1"]), 2, "runs/x")
    assert frame.to_dict("list") == {"writer": ["w0", "w1"]}
    assert_refused(
        r"g.csv: got no rows for 1 examples: t-7, expected those of runs/x",
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
CASES = {
    "lengths": (dict(y_npy=Y, p_npy=Y[:2]), "p.npy: got 2 examples, expected 3, as in y.npy"),
    "lengths of scores": (
        dict(y_npy=Y, p_npy=np.full((4, 2), 0.5)),
        "p.npy: got 4 examples, expected 3, as in y.npy",
    ),
    "a class beyond the scores": (
        dict(y_npy=Y + 4, p_npy=np.ones((3, 2))),
        "y.npy: got class 5, expected classes 0 to 1",
    ),
    "a negative class": (
        dict(y_npy=Y - 1, p_npy=Y),
        "y.npy: got class -1, expected classes from 0",
    ),
    "NaN": (
        dict(y_npy=Y, p_npy=np.full((3, 2), np.nan)),
        "p.npy: got nan in row 0, class 0, expected finite numbers",
    ),
    "rounded probabilities": (
        dict(y_npy=Y, p_csv="0,1\n.33,.66\n1,0\n1,0"),
        "p.csv: got scores in [0, 1] with row sums of 0.99 to 1, expected sums of 1, or scores_are (--scores-are) set",
    ),
    "logits that are called probabilities": (
        dict(y_npy=Y, p_npz={"probabilities": np.full((3, 2), -2.0)}),
        "p.npz: got -2 to -2, expected probabilities in [0, 1]",
    ),
    "NaN of a member": (
        dict(y_npy=Y, p_npy=np.full((2, 3, 2), np.inf)),
        "p.npy, member 0: got inf in row 0, class 0, expected finite numbers",
    ),
    "an empty cell": (dict(y_npy=Y, p_csv="x,z\n1,2\n1,\n1,2"), "p.csv: got nan in row 1, class 1"),
    "text among scores": (
        dict(y_npy=Y, p_csv="x,z\n1,2\n1,oh\n1,2"),
        "p.csv: got a CSV conversion error to double: invalid value 'oh'",
    ),
    "an id twice": (
        dict(y_csv=YID, p_csv="id,class\na,0\na,0\nc,0"),
        "p.csv: got 1 repeated ids: a, expected distinct",
    ),
    "a label's id twice": (
        dict(y_csv=YID + "a,1", p_csv="id,class\na,0"),
        "y.csv: got 1 repeated ids: a, expected distinct",
    ),
    "a missing id": (
        dict(y_csv=YID, p_csv="id,class\na,0\nx,0"),
        "p.csv: got no rows for 2 examples: b, c, expected those of y.csv",
    ),
    "a strange id": (
        dict(y_csv=YID, p_csv="id,class\na,0\nb,0\nc,1\nx,0"),
        "p.csv: got 1 unknown examples: x, expected examples of y.csv",
    ),
    "an empty id": (
        dict(y_csv=YID, p_csv="id,class\na,0\n,0\n"),
        "p.csv: got 1 empty cells in column 'id', first in row 1",
    ),
    "ids of labels alone": (
        dict(y_csv=YID, p_npy=Y),
        "p.npy: got no example ids, expected ids, as in y.csv",
    ),
    "ids of answers alone": (
        dict(y_npy=Y, p_csv="id,class\na,0"),
        "y.npy: got no example ids, expected ids, as in p.csv",
    ),
    "ids of strange type": (
        dict(y_npy=Y, p_npz={"top1": Y, "ids": Y * 1.0}),
        "p.npz: got ids float64 (3,), expected ids (examples,), integers or text",
    ),
    "an unknown class": (
        dict(y_csv=YNAMES, p_csv="id,class\na,cow\nb,dog\nc,cat"),
        "p.csv: got unknown classes 'cow', expected classes such as 'cat', 'dog'",
    ),
    "columns that are no class": (
        dict(y_csv=YNAMES, p_csv="id,cat,cow,sow\na,0,1,0\nb,0,1,0\nc,0,1,0"),
        "y.csv: got unknown classes 'dog', expected classes such as 'cat', 'cow', 'sow'",
    ),
    "different columns": (
        dict(y_npy=Y, p_csv="cat,dog\n1,0\n1,0\n1,0\n", q_csv="dog,cow\n1,0\n1,0\n1,0\n"),
        "q.csv: got columns 'cow', expected columns of classes such as 'cat', 'dog'",
    ),
    "columns in different orders": (
        dict(y_npy=Y, p_csv="cat,dog\n1,0\n1,0\n1,0\n", q_csv="dog,cat\n1,0\n1,0\n1,0\n"),
        "y.npy: got class numbers, expected class names, as files order their columns differently",
    ),
    "a lacking column": (
        dict(
            y_csv=YNAMES,
            p_csv="id,cat,dog,owl\na,1,0,0\nb,1,0,0\nc,1,0,0",
            q_csv="id,cat,dog\na,1,0\nb,1,0\nc,1,0",
        ),
        "q.csv: got no scores of 'owl', expected scores of every class",
    ),
    "columns without names": (
        dict(y_csv="label\ncat\ndog\ncat\n", p_npy=np.ones((3, 2))),
        "p.npy: got columns without names, expected class names, as in y.csv",
    ),
    "columns of another count": (
        dict(y_npy=Y, p_npy=np.full((3, 2), 0.5), q_npy=np.ones((3, 3))),
        "q.npy: got scores of 3 classes, expected scores of 2",
    ),
    "columns from 1": (
        dict(y_npy=Y, p_csv="1,2\n1,0\n1,0\n1,0"),
        "p.csv: got classes '1', '2', expected names, or the numbers from 0 to 1",
    ),
    "names without a list": (
        dict(y_npy=Y, p_csv="class\ncat\ndog\ncat"),
        "p.csv: got class names 'cat', 'dog', expected class numbers, or a class list",
    ),
    "both kinds": (
        dict(y_npy=Y, p_npy=Y, q_npy=np.ones((3, 2))),
        "q.npy: got scores, expected top-1 classes, as in p.npy",
    ),
    "a member in two tables": (
        dict(y_npy=Y, p_csv="member,class\n1,0\n1,0\n1,0", q_csv="member,class\n1,0\n1,0\n1,0"),
        "q.csv: got member 1, as in another file, expected each member in one file",
    ),
    "an uneven member": (
        dict(y_npy=Y, p_csv="member,class\n1,0\n1,0\n2,0"),
        "p.csv, member 1: got 2 examples, expected 3, as in y.npy",
    ),
    "a pickle in NPY": (dict(y_npy=Y, p_npy=np.array([{}] * 3)), "p.npy: got Python objects"),
    "a pickle in NPZ": (
        dict(y_npy=Y, p_npz={"top1": np.array([None] * 3)}),
        "p.npz: got Python objects",
    ),
    "a pickle": (
        dict(y_npy=Y, p_npy=b"\x80\x04\x95"),
        "p.npy: got a file without NumPy arrays, expected NumPy arrays; pickles",
    ),
    "an unknown kind": (
        dict(y_npy=Y, p_pkl=b"\x80"),
        "p.pkl: got a file of unknown type, expected a file .csv, .parquet, .npy, .npz",
    ),
    "an empty file": (dict(y_npy=Y, p_csv=""), "p.csv: got an empty file"),
    "an empty array": (dict(y_npy=Y, p_npy=np.ones((0, 2))), "p.npy: got an empty array (0, 2)"),
    "no labels": (dict(y_npy=Y[:0], p_npy=Y), "y.npy: got no labels"),
    "a header alone": (dict(y_npy=Y, p_csv="class\n"), "p.csv: got no rows"),
    "scores' header alone": (dict(y_npy=Y, p_csv="x,z\n"), "p.csv: got no rows"),
    "not Parquet": (
        dict(y_npy=Y, p_parquet="class\n0\n"),
        "p.parquet: got a damaged or truncated file, expected Parquet",
    ),
    "not UTF-8": (
        dict(y_npy=Y, p_csv=b"class\n\xff\xfe\n"),
        "p.csv: got a damaged or truncated file, expected CSV in UTF-8",
    ),
    "a cut archive": (
        dict(y_npy=Y, p_npz=b"PK\x03\x04abc"),
        "p.npz: got a damaged or truncated file",
    ),
    "a cut array": (
        dict(y_npy=Y, p_npy=b"\x93NUMPY\x01\x00v"),
        "p.npy: got a damaged or truncated file",
    ),
    "a long row": (
        dict(y_npy=Y, p_csv="class,x\n0,1\n0,1,9\n0,1"),
        "p.csv: got a CSV parse error: Row #3: Expected 2 columns, got 3",
    ),
    "long rows": (
        dict(y_npy=Y, p_csv="class,x\n0,1,9\n0,1,9\n0,1,9"),
        "p.csv: got a CSV parse error: Row #2: Expected 2 columns, got 3",
    ),
    "one name for two columns": (dict(y_npy=Y, p_csv="x,x\n0,1"), "p.csv: got two columns 'x'"),
    "a pandas index": (
        dict(y_npy=Y, p_csv=",x,z\n0,1,0\n1,1,0"),
        "p.csv: got column 0 without a name",
    ),
    "nothing of use": (
        dict(y_npy=Y, p_csv="x\n0"),
        "p.csv: got columns x, expected a column `prediction`, or scores in a column per",
    ),
    "text among Parquet's scores": (
        dict(y_npy=Y, p_parquet=pd.DataFrame({"x": [1.0] * 3, "z": ["a"] * 3})),
        "p.parquet: got text values in column 'z', expected numbers",
    ),
    "two columns of answers": (
        dict(y_npy=Y, p_csv="class,Prediction\n0,1\n"),
        "p.csv: got columns 'class', 'Prediction', expected only one of them",
    ),
    "labels of nothing": (
        dict(y_csv="x\n0", p_npy=Y),
        "y.csv: got columns x, expected a column `label`",
    ),
    "labels of many": (
        dict(y_npz={"a": Y, "b": Y}, p_npy=Y),
        "y.npz: got arrays a, b, expected an array `labels`",
    ),
    "answers of many": (
        dict(y_npy=Y, p_npz={"a": Y, "b": Y}),
        "p.npz: got arrays a, b, expected predictions in an array `scores` or `top1`",
    ),
    "fractions as labels": (
        dict(y_npy=Y + 0.5, p_npy=Y),
        "y.npy: got classes of dtype float64, expected whole numbers",
    ),
    "four dimensions": (
        dict(y_npy=Y, p_npy=np.ones((1, 1, 3, 2))),
        "p.npy: got float64 (1, 1, 3, 2), expected top-1 classes",
    ),
    "truths": (
        dict(y_npy=Y, p_npy=np.ones((3, 2), bool)),
        "p.npy: got scores of dtype bool, expected floats",
    ),
    "fractions in text": (
        dict(y_csv="label\n0\n1.5\n0", p_csv="class\n0\n0\n1"),
        "y.csv: got class 1.5, expected whole numbers",
    ),
    "fractions in answers": (
        dict(y_npy=Y, p_csv="class\n0\n1.5\n0"),
        "p.csv: got class 1.5, expected whole numbers",
    ),
    "numbers for names": (
        dict(y_csv="label\ncat\ndog\ncat", p_npy=Y),
        "p.npy: got class numbers, expected class names, as in y.csv",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_is_one_line_that_names_the_file(write, case):
    files, message = CASES[case]
    if case.startswith("a pickle in"):
        (path,), content = write(y_npy=Y), files.popitem()[1]
        save = np.savez if isinstance(content, dict) else np.save
        name = "p.npz" if isinstance(content, dict) else "p.npy"
        save(name, **content) if isinstance(content, dict) else save(name, content)
        truth, paths = path, [path.with_name(name)]
    else:
        truth, *paths = write(**files)
    with pytest.raises(InputError) as caught:
        read_predictions(truth, paths)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


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
            "c.txt: got classes '2', '1', expected names, or the numbers from 0 to 1",
        ),
        (dict(c_txt="cat"), "y.npy: got class 1, expected classes 0 to 0"),
        (dict(c_txt="a\nb\nc"), "p.npy: got scores of 2 classes, expected scores of 3"),
    ],
)
def test_an_unfit_list_of_classes(write, classes, message):
    truth, file, path = write(y_npy=Y, p_npy=np.ones((3, 2)), **classes)
    with pytest.raises(InputError) as caught:
        read_predictions(truth, [file], classes=path)
    assert str(caught.value).startswith(message)


def test_files_that_are_not_there(write, tmp_path):
    truth, file = write(y_npy=Y, p_npy=Y)
    for missing in (tmp_path / "no.npy", tmp_path / "no.csv"):
        assert_refused(
            r"no\....: got an unreadable file \(No such file", read_predictions, truth, [missing]
        )
    assert_refused("files: got none", read_predictions, truth, [])
    assert_refused(
        r"no.txt: got an unreadable file",
        read_predictions,
        truth,
        [file],
        classes=tmp_path / "no.txt",
    )


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
        r"got 4,194,305 rows in [\d,]+ bytes, expected rows that differ", read_labels, path
    )


def test_one_long_cell_among_many_is_refused(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("label\n" + "1\n" * 600_000 + "x" * 900 + "\n")
    assert_refused("600,001 cells of up to 900 characters in column 'label'", read_labels, path)


def test_columns_of_any_name_one_hot_labels_and_binary_scores(tmp_path):
    table = "image,gold,guess\na,cat,cat\nb,dog,cat\nc,dog,dog\n"
    (tmp_path / "all.csv").write_text(table)
    names = {"id_name": "image", "label_column": "gold", "prediction_column": "guess"}
    found = read_predictions(tmp_path / "all.csv", [tmp_path / "all.csv"], **names)
    assert found.class_names == ("cat", "dog")
    assert found.top1.tolist() == [[0, 0, 1]]
    for wrong in (
        {"label_column": "truth"},
        {"label_column": "gold", "prediction_column": "answered"},
    ):
        assert_refused(
            r"all.csv: got columns image, gold, guess, expected one that is called",
            read_predictions,
            tmp_path / "all.csv",
            [tmp_path / "all.csv"],
            **wrong,
        )
    assert_refused(
        "expected a column `label`, or its name",
        read_predictions,
        tmp_path / "all.csv",
        [tmp_path / "all.csv"],
    )
    labels = np.array([0, 1, 1, 0])
    np.save(tmp_path / "one_hot.npy", np.eye(2)[labels])
    np.save(tmp_path / "several.npy", np.ones((4, 2)))
    probabilities = np.array([0.25, 0.75, 0.5, 0.125])
    logits = np.log(probabilities / (1 - probabilities))
    for name, scores in (("probabilities", probabilities), ("logits", logits)):
        np.save(tmp_path / f"{name}.npy", scores)
        found = read_predictions(tmp_path / "one_hot.npy", [tmp_path / f"{name}.npy"])
        assert found.labels.tolist() == labels.tolist()
        assert found.top1.tolist() == [[0, 1, 0, 0]]
        np.testing.assert_allclose(found.probabilities[0, :, 0], [0.75, 0.75, 0.5, 0.875])
    assert_refused(
        r"several.npy: got labels \(4, 2\) of several classes, expected one class",
        read_predictions,
        tmp_path / "several.npy",
        [tmp_path / "logits.npy"],
    )


@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_one_score_per_example_is_that_of_class_1_in_every_file(tmp_path, kind):
    labels, share = np.array([0, 1, 1, 0]), np.array([0.25, 0.75, 0.5, 0.125])
    scores = share if kind == "probabilities" else np.log(share / (1 - share))
    np.save(tmp_path / "y.npy", np.eye(2)[labels])
    pd.DataFrame({"id": range(4), "label": labels, "p": scores}).to_csv(
        tmp_path / "own.csv", index=False
    )
    pd.DataFrame({"score": scores}).to_parquet(tmp_path / "score.parquet")
    np.save(tmp_path / "column.npy", scores[:, None])
    np.save(tmp_path / "members.npy", np.stack([scores, scores])[..., None])
    np.savez(tmp_path / "named.npz", logits=scores) if kind == "logits" else None
    for name in ("score.parquet", "column.npy", "members.npy", *["named.npz"] * (kind == "logits")):
        found = read_predictions(tmp_path / "y.npy", [tmp_path / name])
        for member in found.probabilities:
            np.testing.assert_allclose(member.max(1), np.maximum(share, 1 - share), rtol=1e-6)
        assert found.top1.tolist() == [[0, 1, 0, 0]] * (1 + (name == "members.npy"))
    names = {"label_column": "label", "prediction_column": "p", "id_name": "id"}
    found = read_predictions(tmp_path / "own.csv", [tmp_path / "own.csv"], **names)
    assert found.top1.tolist() == [[0, 1, 0, 0]]
    np.testing.assert_allclose(
        found.probabilities[0].max(1), np.maximum(share, 1 - share), rtol=1e-6
    )


def test_logits_within_0_and_1_are_logits_where_that_is_said(tmp_path):
    np.save(tmp_path / "y.npy", [0, 1])
    np.save(tmp_path / "p.npy", np.array([0.25, 0.5]))
    found = read_predictions(tmp_path / "y.npy", [tmp_path / "p.npy"], scores_are="logits")
    assert found.top1.tolist() == [[1, 1]]
    np.testing.assert_allclose(
        found.probabilities[0, :, 0], 1 / (1 + np.exp([-0.25, -0.5])), rtol=1e-6
    )
