"""`tfaudit gate` as CI meets it: three sources, limits from flags and a file, exit codes, files, refusals."""

import functools
import json
import shutil
import xml.etree.ElementTree as ET

import keras
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.builders.corrupted_studies import corrupted_study, evaluate
from tests.builders.refusals import refused_lines
from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.store.store import open_store

PREDICTIONS = ("--labels", "labels.npy", "--baseline", "dense.npy", "--compressed")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A study, and predictions: `hurt` loses 30 of the 100 examples of class 3, `same` loses none."""
    place = tmp_path_factory.mktemp("gate")
    make_study(place / "study")
    labels = np.arange(1000) % 10
    np.save(place / "labels.npy", labels)
    np.save(place / "dense.npy", labels)
    np.save(place / "same.npy", labels)
    np.save(place / "hurt.npy", np.where((labels == 3) & (np.arange(1000) < 300), 4, labels))
    np.save(place / "few.npy", labels[:50])
    halves = np.where(np.arange(1000) < 300, "low", "high")
    table = pd.DataFrame({"half": halves, "odd": labels % 2, "row": np.arange(1000)})
    table.to_csv(place / "all_groups.csv", index=False)
    table.drop(columns="row").to_csv(place / "groups.csv", index=False)
    raw = np.where(np.eye(10, dtype=bool)[np.load(place / "hurt.npy")], 90, -20).astype(np.int8)
    np.savez(place / "device.npz", scores=raw, scale=np.float32(0.1), zero_point=-20)
    np.save(place / "raw.npy", raw)
    (place / "names.txt").write_text("".join(f"class \x1b[31m{c}\n" for c in range(10)))
    (place / "gate.toml").write_text("[gate]\noverall_drop_pp = 50\nflips = 0.5\n")
    return place


@pytest.fixture
def run(place, tfaudit_in):
    """Runs `tfaudit gate` in the place; gives exit code, stdout, stderr."""
    return functools.partial(tfaudit_in(place, width=100), "gate")


@pytest.mark.parametrize(
    ("compressed", "limits", "code", "words"),
    [
        ("same.npy", ("--max-overall-drop", 5), 0, "compressed: pass"),
        ("hurt.npy", (), 1, "above the limit of 1."),
        ("hurt.npy", ("--max-overall-drop", 5), 0, "3.00 pp"),
        ("hurt.npy", ("--max-worst-class-drop", 5), 1, "recall of class 3 falls by 30.00 points"),
        ("same.npy", ("--max-worst-class-drop", 2), 2, "CANNOT JUDGE"),
        (
            "hurt.npy",
            ("--max-flips", "0.01"),
            1,
            "3.00 % of the predictions change (95 % interval 2.03 to 4.26 %), limit",
        ),
        ("device.npz", ("--max-overall-drop", 5), 0, "3.00 pp"),
        ("raw.npy", ("--max-overall-drop", 5, "--scale", 0.1, "--zero-point", -20), 0, "3.00 pp"),
        ("hurt.npy", ("--max-group-drop", 5, "--groups", "groups.csv"), 1, "accuracy in half: low"),
        (
            "hurt.npy",
            ("--max-group-drop", 9, "--groups", "groups.csv", "--group", "odd"),
            0,
            "pass",
        ),
        (
            "hurt.npy",
            ("--max-group-drop", 9, "--groups", "groups.csv", "--group", "half*odd"),
            1,
            "accuracy in half*odd: low, 1",
        ),
        (
            "same.npy",
            ("--max-group-drop", 9),
            2,
            "Groups are unknown: there is no table of groups.",
        ),
        ("hurt.npy", ("--max-flips", "0.029"), 2, "CANNOT JUDGE  flips"),
        ("hurt.npy", ("--config", "gate.toml"), 0, "pass  flips"),
        ("hurt.npy", ("--gate", "gate.toml"), 0, "pass  flips"),  # as other commands call it
        ("hurt.npy", ("--config", "gate.toml", "--max-flips", "0.01"), 1, "FAIL  flips"),
    ],
)
def test_exit_codes(run, place, compressed, limits, code, words):
    (place / "classes.txt").write_text("".join(f"class {c}\n" for c in range(10)))
    found, text, errors = run(*PREDICTIONS, compressed, "--classes", "classes.txt", *limits)
    assert (found, errors) == (code, "")
    assert words in text


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--max-overall-drop", 9), 0, "pass  overall drop"),
        (("--max-overall-drop", 2), 1, "The mean outcome falls by 5.00 points"),
        (
            ("--max-group-drop", 9, "--groups", "crossed.csv", "--group", "half*odd"),
            1,
            "mean outcome in half*odd: low, 0",
        ),
        (("--max-group-drop", 5, "--group", "topic"), 1, "mean outcome in topic: x (200 examples)"),
        (
            ("--max-group-drop", 5, "--min-group", 500, "--group", "topic"),
            2,
            "topic: 3 groups below 500 (x, y, z)",
        ),
        (("--max-flips", 0.1), 4, "--max-flips: got 0.1, expected a limit on outcomes"),
        (("--filter", "none"), 4, "--filter: got none, expected no filter for files other than"),
        (("--scores-are", "logits"), 4, "--scores-are: got logits, expected no such option"),
    ],
)
def test_outcomes_are_judged_without_classes(run, place, options, code, words):
    topics = np.repeat(["x", "y", "z"], 200)
    table = pd.DataFrame({"id": np.arange(600), "right": 1.0, "topic": topics})
    table["prompt"] = [f"question {i}" for i in range(600)]  # no groups, and no limit on them
    halves = np.where(np.arange(600) < 60, "low", "high")
    crossed = pd.DataFrame({"id": np.arange(600), "half": halves, "odd": np.arange(600) % 2})
    crossed.to_csv(place / "crossed.csv", index=False)
    table.to_csv(place / "right_before.csv", index=False)
    table["right"] = 1.0 - (np.arange(600) < 30)
    table.iloc[::-1].to_csv(place / "right_after.csv", index=False)
    files = ("--baseline", "right_before.csv", "--compressed", "right_after.csv")
    found, text, errors = run(*files, "--outcome", "right", *options, "--json", "outcomes.json")
    assert found == code, text + errors
    assert words in text + errors


@pytest.mark.filterwarnings("default::tfaudit.errors.Notice")
def test_the_worst_ten_classes_are_named_and_cannot_steer_the_terminal(run):
    names = ("--classes", "names.txt")
    code, text, errors = run(
        *PREDICTIONS, "hurt.npy", *names, "--max-worst-class-drop", 0.5, "--junit", "names.xml"
    )
    assert code == 1
    assert "\x1b" not in text + errors
    assert errors.count("\n") == 1
    assert errors.startswith(
        "tfaudit: names.txt: characters that are no text are replaced: 'class \\x1b[31m0' as class ␛"
    )
    rows = [line for line in text.splitlines() if line.startswith(("FAIL  class", "?  "))]
    assert len(rows) == 10
    assert rows[0].split()[1:3] == ["class", "␛[31m3"]
    assert "class ␛[31m3" in ET.parse("names.xml").find("testsuite/testcase/failure").get("message")


def test_a_study_by_variant_equals_the_library(run, place):
    limits = ("--max-worst-class-drop", 3, "--max-size-ratio", 0.4, "--max-flips", 0.5)
    code, _, errors = run("study", *limits, "--json", "gate.json", "--junit", "gate.xml")
    assert (code, errors) == (1, "")
    content = json.loads((place / "gate.json").read_text())
    assert content["format"] == 1
    store = open_store(place / "study")
    names = store.study.names
    assert list(content["verdicts"]) == ["magnitude 90 %", "fixed-point int8"]
    for key, sizes in (("magnitude-0.9", (10_000, 5000)), ("int8", (10_000, 3333))):
        expected = gate(
            store.predictions("dense"),
            store.predictions(key),
            Limits(worst_class_drop_pp=3, size_ratio=0.4, flips=0.5),
            sizes=sizes,
            paired=key == "int8",  # made from the dense members, not trained
        )
        assert content["verdicts"][names[key]] == json.loads(json.dumps(expected.summary()))
    suites = ET.parse(place / "gate.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["magnitude 90 %", "fixed-point int8"]
    assert suites[0].get("tests") == "3"
    texts = [run("study", *limits, "--variant", name)[1] for name in ("int8", names["int8"])]
    assert texts[0] == texts[1]
    assert "fixed-point int8: " in texts[0]
    assert "magnitude" not in texts[0]


def test_the_worst_corruption_of_a_study(run, place):
    store = corrupted_study(place / "corrupted", without={("int8", "fog 1")})
    limits = ("corrupted", "--max-corruption-drop", 50)
    code, text, _ = run(*limits, "--json", "corrupted.json")
    assert code == 2
    missing = [f"fixed-point int8, member {member} in fog 1 (missing)" for member in range(4)]
    assert f"4 results of the study are missing: {'; '.join(missing)}." in " ".join(text.split())
    verdicts = json.loads((place / "corrupted.json").read_text())["verdicts"]
    audited = StudyAudit.read(store).verdict(Limits(corruption_drop_pp=50))
    for key, title in (("magnitude-0.9", "magnitude 90 %"), ("int8", "fixed-point int8")):
        sentences = [check["sentence"] for check in verdicts[title]["checks"]]
        assert [*audited.verdicts[key].frame()["sentence"]] == sentences
    evaluate(store, store.study.conditions[0], "int8", range(4))
    assert run(*limits)[0] == 0
    for condition in store.study.conditions:
        shutil.rmtree(store.directory / f"predictions/split={condition.split}")
    code, text, _ = run(*limits, "--variant", "int8")
    assert code == 2
    assert "4 results of the study are missing: all members in fog 1, all" in " ".join(text.split())


@pytest.mark.slow
def test_the_state_of_the_optimizer_is_no_size(run, place):
    """With it, twice as much as the weights, the ratio would be a third."""
    images = np.random.default_rng(0).integers(0, 256, (60, 4, 4, 1)).astype(np.uint8)
    layers = [keras.layers.Flatten(), keras.layers.Dense(300, "relu"), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((4, 4, 1)), *layers])
    model.save(place / "plain.keras")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(images, np.arange(60) % 3, epochs=1, verbose=0)
    model.save(place / "trained.keras")
    labels = model(images.astype("float32")).numpy().argmax(1)
    np.savez(place / "data.npz", images=images, labels=labels)
    models = ("--baseline", "trained.keras", "--compressed", "trained.keras", "--data", "data.npz")
    code, text, errors = run(*models, "--max-size-bytes", 1, "--json", "sizes.json")
    assert (code, errors) == (1, "")
    assert "bytes of the optimizer's state do not count" in " ".join(text.split())
    (verdict,) = json.loads((place / "sizes.json").read_text())["verdicts"].values()
    plain = (place / "plain.keras").stat().st_size
    assert verdict["checks"][0]["value"] == pytest.approx(plain, rel=0.2)


def test_a_baseline_at_chance_is_a_broken_set_up(run, place):
    """The classes of the labels are in another order: both models are wrong alike, so nothing seems lost."""
    labels = np.load(place / "labels.npy")
    np.save(place / "shifted.npy", np.where(np.arange(1000) % 13 == 0, labels, (labels + 3) % 10))
    broken = ("--labels", "labels.npy", "--baseline", "shifted.npy", "--compressed", "shifted.npy")
    code, text, errors = run(*broken, "--max-overall-drop", 5, "--junit", "broken.xml")
    assert (code, errors) == (2, "")
    told = " ".join(text.split())
    assert told.startswith(
        "compressed: CANNOT JUDGE. The baseline is right on 7.7 % of the examples, and"
    )
    assert "on 92.3 % if its outputs were 7, 8, 9, 0, 1, 2, 3, 4, 5, 6. " in told
    assert 'name="class_order"' in (place / "broken.xml").read_text()
    code, text, _ = run(
        *PREDICTIONS, "same.npy", "--max-overall-drop", 5, "--min-baseline-accuracy", 1
    )
    assert code == 0
    code, text, _ = run(
        *("--labels", "labels.npy", "--baseline", "hurt.npy", "--compressed", "hurt.npy"),
        *("--max-overall-drop", 5, "--min-baseline-accuracy", 0.98),
    )
    assert code == 2
    assert "right on 97.00 % of the examples; 98 % or more are required" in " ".join(text.split())


@refused_lines("""
    --max-flips 1
        source: got none, expected one of a study's directory
    study --labels labels.npy --max-flips 1
        source: got DIRECTORY and --labels, expected one of
    study --baseline dense.npy --max-flips 1
        got files beside a study, expected --variant
    --labels labels.npy --max-flips 1
        --baseline, --compressed: got no files, expected both options
    --labels labels.npy --baseline dense.npy --compressed same.npy --max-flips 1 --examples ids.csv
        --examples: got ids.csv, expected no such option without --data
    --labels labels.npy --baseline dense.npy --compressed same.npy --max-flips 1 --variant int8
        --variant: got ['int8'], expected no such option without a study
    --labels labels.npy --baseline dense.npy --compressed same.npy --max-group-drop 1 --groups all_groups.csv
        all_groups.csv: got column 'row' of 1,000 groups, expected --group NAME
    --labels labels.npy --baseline dense.npy --compressed same.npy --max-group-drop 1 --groups groups.csv --group age
        --group: got 'age', expected columns among half, odd, or A*B
    --labels labels.npy --baseline dense.npy --compressed same.npy --max-flips 1 --groups groups.csv
        --groups: got groups.csv, expected no such option without --max-group-drop
    study --max-flips 1 --limit 100
        --limit: got 100, expected no such option without --data
    study --max-flips 1 --id file
        --id: got file, expected no such option without --labels
    study --max-flips 1 --split train
        split: got 'train', expected a split
    study --max-flips 1 --variant int4
        variant: got 'int4', expected a compressed
    study --min-baseline-accuracy 2
        tfaudit: --min-baseline-accuracy: got 2.0, expected a share
    study --max-intensification 1.2
        --max-intensification: got 1.2, expected --max-worst-class-drop or --max-share-beyond, as this limit was
    study --max-flips 1 --looks 3 --look 4
        look: got 4, expected 1 to 3, the number of looks
    --labels labels.npy --baseline dense.npy --compressed same.npy --max-size-ratio 1
        tfaudit: --max-size-ratio: got predictions, whose models' sizes are unknown, expected model files
    --labels labels.npy --baseline dense.npy --compressed few.npy --max-flips 1
        few.npy
    --data x --baseline a b --compressed c --max-flips 1
        baseline: got 2 files
""")
def test_bad_input_is_one_line(run, refused, words, message):
    refused(run(*words), message)


def test_several_looks_share_the_level_and_say_what_is_left(run):
    asked = ("study", "--variant", "int8", "--max-overall-drop", 50, "--json", "-")
    found = {}
    for looks in ((), ("--looks", 5), ("--looks", 5, "--look", 2)):
        text = run(*asked, *looks)[1]
        (found[len(looks)],) = json.loads(text)["verdicts"].values()
    assert [found[n]["alpha"] for n in (0, 2, 4)] == pytest.approx([0.05, 0.01, 0.0028])
    lows = [found[n]["checks"][0]["low"] for n in (0, 2, 4)]
    assert lows == sorted(lows, reverse=True)
    assert found[0]["notes"] == []
    assert "each is at level 0.01" in found[2]["notes"][-1]
    assert found[4]["notes"][-1] == (
        "Look 2 of 5 is at level 0.0028; of level 0.05, 0.047 is left for later looks."
    )


@pytest.mark.parametrize(
    ("content", "words"),
    {
        "[gate": "got bad.toml, which is not TOML",
        "[other]\nflips = 1": "got bad.toml with other, expected a table [gate]",
        "[gate]\naccuracy = 1": "bad.toml, limits: got 'accuracy', expected names among overall_drop_pp",
        "[gate]\nharmed_share = 0.1": "bad.toml, harmed_share: got 0.1, expected worst_class_drop_pp or share_beyond",
        "[gate]\nflips = '1'": "bad.toml, flips: got '1', expected a share",
        None: "got bad.toml, which cannot be read",
    }.items(),
)
def test_a_bad_config_is_one_line(run, place, refused, content, words):
    (place / "bad.toml").unlink(missing_ok=True)
    if content is not None:
        (place / "bad.toml").write_text(content)
    refused(run("study", "--config", "bad.toml", "--max-flips", 1), f"tfaudit: --gate: {words}")


def test_a_lost_member_is_no_way_to_pass(run, place, refused):
    """Truncate the records of members: without a word the gate would judge those that are left."""
    shutil.copytree(place / "study", place / "damaged")
    record = place / "damaged/members/int8/001/member.json"
    record.write_bytes(record.read_bytes()[:50])
    limit = ("--variant", "int8", "--max-overall-drop", 50)
    assert run("study", *limit)[0] == 0
    code, text, _ = run("damaged", *limit, "--json", "verdict.json", "--junit", "verdict.xml")
    assert code == 2
    assert "1 result of the study is missing: fixed-point int8, member 1 (damaged)" in " ".join(
        text.split()
    )
    assert "4 and 3 members" in text
    checks = json.loads((place / "verdict.json").read_text())["verdicts"]["fixed-point int8"][
        "checks"
    ]
    assert {check["check"]: check["outcome"] for check in checks}[
        "missing_members"
    ] == "cannot judge"
    assert 'name="missing_members"' in (place / "verdict.xml").read_text()
    code, text, _ = run("damaged", *limit, "--allow-missing", 1)
    assert code == 0
    assert "1 result of the study is missing" in text
    for member in (0, 1, 2, 3):
        (place / f"damaged/members/int8/{member:03d}/member.json").unlink()
    refused(run("damaged", "--max-overall-drop", 50), "no complete member of int8")


def test_markdown_is_written_and_added_to_the_page_of_a_github_job(
    run, place, tmp_path, monkeypatch
):
    summary = tmp_path / "summary.md"
    summary.write_text("# Build\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, _, errors = run(
        *PREDICTIONS, "hurt.npy", "--max-worst-class-drop", 5, "--markdown", tmp_path / "gate.md"
    )
    assert (code, errors) == (1, "")
    written = (tmp_path / "gate.md").read_text()
    assert written.startswith("## tfaudit gate\n\n### compressed: ❌ FAIL")
    assert summary.read_text() == f"# Build\n{written}\n"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere/summary.md"))
    assert run(*PREDICTIONS, "hurt.npy", "--max-worst-class-drop", 5)[0] == 1


@pytest.mark.slow
def test_images_that_are_left_out_stand_in_every_file(run, refused, tmp_path):
    layers = [keras.Input((2, 2, 3)), keras.layers.Flatten(), keras.layers.Dense(2)]
    keras.Sequential(layers).save(tmp_path / "net.keras")
    for label, name in enumerate(("10", "9")):
        for i in range(6):
            picture = tmp_path / "images" / name / "deep" / f"{i}.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (2, 2), (100 * label, i, 0)).save(picture)
    (tmp_path / "images/9/deep/bad.png").write_bytes(b"no image")
    net = tmp_path / "net.keras"
    models = ("--baseline", net, "--compressed", net, "--max-flips", 0.5)
    files = {name: tmp_path / f"verdict.{name}" for name in ("json", "junit", "markdown")}
    written = [word for name, path in files.items() for word in (f"--{name}", path)]
    folder = ("--data", tmp_path / "images", "--recursive", "--min-baseline-accuracy", 0)
    refused(run(*models, *folder, *written), "9/deep/bad.png: got an undecodable image")
    _, shown, _ = run(*models, *folder, "--skip-unreadable", 1, *written)
    for note in (
        "1 unreadable image is left out: 9/deep/bad.png.",
        "Classes are numbered in the order of their folders as text (10, 9), as Keras numbers folders.",
    ):
        assert note in " ".join(shown.split())
        assert all(note in path.read_text() for path in files.values())


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (("--max-sensitivity-drop", 10, "--positive", "yes"), 0, "pass  drop of sensitivity"),
        (("--max-sensitivity-drop", 10, "--positive", "yes", "--threshold", 0.8), 1, "FAIL"),
        (("--max-sensitivity-drop", 10), 2, "`--positive` names it: no or yes."),
        (("--max-sensitivity-drop", 10, "--threshold", 0.8), 4, "positive: got None, expected"),
        (("--max-auroc-drop", 10), 0, "pass  drop of ROC area"),
        (("--gate", "detector.toml"), 0, "compressed: pass, 1,000 examples"),
    ],
)
def test_detectors_at_a_threshold(run, place, flags, code, words):
    """The compressed detector is as right as the baseline, but never sure."""
    labels = np.repeat([0, 1], [800, 200])
    sure = np.where(labels, 0.9, 0.1)
    for name, scores in {"sure": sure, "unsure": 0.5 + (sure - 0.5) / 2}.items():
        np.save(place / f"{name}.npy", np.stack([1 - scores, scores], axis=1))
    np.save(place / "two.npy", labels)
    (place / "two.txt").write_text("no\nyes\n")
    (place / "detector.toml").write_text(
        '[gate]\naverage_precision_drop_pp = 10\npositive = "yes"\n'
    )
    sources = ("--labels", "two.npy", "--baseline", "sure.npy", "--compressed", "unsure.npy")
    found, text, errors = run(*sources, "--classes", "two.txt", *flags)
    assert found == code
    assert words in text + errors
