"""No two places disagree: what terminal, report, Markdown, JSON, commands and viewer say of simulated studies."""

import dataclasses
import html
import io
import json
import re
import shlex
import sys

import numpy as np
import pytest
from rich.console import Console

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.nightly import and_nightly, seeds
from tests.builders.simulated_studies import Truth, random_store, simulate
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.classes.classes import LOST
from tfaudit.audits.gate.checks import OUTCOMES
from tfaudit.audits.gate.gate import EXIT_CODES
from tfaudit.audits.gate.limits import FILE_LIMITS, FLAGS, OF_TWO_CLASSES, QUANTITIES, Limits
from tfaudit.audits.verdict.study_verdict import ON_DISK
from tfaudit.cli import main
from tfaudit.extensions.slices.stored_features import save_features
from tfaudit.outlets.gate_tables import first_screen
from tfaudit.outlets.html import report_html
from tfaudit.outlets.markdown import study_markdown
from tfaudit.predictions import Predictions
from tfaudit.store.external import import_predictions


@dataclasses.dataclass(frozen=True)
class Told:
    """What a table of verdicts says of one variant, in the words of all tables.

    Attributes:
        outcome: outcome of the gate.
        best: whether the variant is recommended.
        top1, change, changed, size: figures with their digits; empty without one.
        worst: the worst class with its recalls.
        lost: number of classes that lost recall.
    """

    outcome: str
    best: bool
    top1: str
    change: str
    changed: str
    size: str
    worst: str
    lost: int


def plain(markup):
    """The text of HTML, with spaces that break."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", markup))
    return re.sub(r"\s+", " ", text.replace("\N{NO-BREAK SPACE}", " ")).strip()


def lost_of(text):
    """The number of classes that lost recall, in the cell of the worst class."""
    found = re.search(r"(\d+) lost recall", text)
    return int(found[1]) if found else 0


def worst_of(text):
    """The worst class and its recalls without spaces, which a terminal breaks, and without what stands below."""
    return "".join(re.split(r"(?<= %)", text)[0].split())


def rows_of_html(markup):
    """What the table in a report or in the viewer says, by title."""
    rows = {}
    found = re.findall(r'<tr data-variant="[^"]*" class="([^"]*)">(.*?)</tr>', markup, re.DOTALL)
    for classes, row in found:
        cells = dict(re.findall(r'<td class="(?:number )?(\w+)"[^>]*>(.*?)</td>', row, re.DOTALL))
        title = plain(re.search(r"<a [^>]*>(.*?)</a>", row)[1])
        outcome = plain(re.search(r'<span class="outcome">(.*?)</td>', row, re.DOTALL)[1])
        rows[title] = Told(
            outcome.split(" ", 1)[1].lower(),
            "best" in classes.split(),
            plain(cells["top1"]),
            plain(cells["change_pp"]),
            plain(cells["changed_share"]).split(" ")[0],
            plain(cells["size_ratio"]).replace("–", ""),
            worst_of(plain(cells["worst_class"])),
            lost_of(plain(cells["worst_class"])),
        )
    return rows


def drawn_limits(rng, store):
    """Limits of which half are set, near what compression does."""
    drawn = {
        name: rng.uniform(0, {100: 20, 1: 0.3}.get(quantity.maximum, 1))
        for name, quantity in QUANTITIES.items()
    }
    drawn["size_bytes"] = rng.uniform(1e6, 4e6)
    unknown = {"latency_ms", "mean_error_increase"}
    if not store.study.conditions:
        unknown.add("corruption_drop_pp")
    if len(store.examples("test").attrs["class_names"]) != 2:
        unknown |= set(OF_TWO_CLASSES)
    if store.table("features") is None:
        unknown.add("slice_drop_pp")
    if not StudyAudit.read(store).data.group_columns:
        unknown.add("group_drop_pp")
    if store.record("dense", 0).get("bytes") is None:
        unknown |= set(FILE_LIMITS)
    kept = [name for name in drawn if name not in unknown and rng.random() < 0.5]
    return Limits(**{name: float(f"{drawn[name]:.3g}") for name in kept})


def in_url(limits):
    """Limits as the viewer's URL holds them; an empty text is no limit."""
    known = limits.as_dict()
    return {flag: f"{known[name]:g}" if name in known else "" for name, flag in FLAGS.items()}


class Place:
    """One study and the outlets that speak of it."""

    def __init__(self, store, open_page, run):
        self.study_audit = StudyAudit.read(store)
        self.directory, self.open_page, self.run = store.directory, open_page, run
        titles = self.study_audit.data.titles
        self.titles = {key: titles[key] for key in self.study_audit.data.compressed_keys}

    def agrees(self, limits, *, in_viewer):
        """Assert that all outlets say the same under these limits."""
        verdict = self.study_audit.verdict(limits)
        advice = recommendation(self.study_audit, verdict)
        console = Console(width=400, record=True, file=io.StringIO())
        console.print(first_screen(verdict, advice))
        texts = {
            "terminal": console.export_text(),
            "report": report_html(self.study_audit, limits),
            "Markdown": study_markdown(self.study_audit, limits),
        }
        rows = {"report": rows_of_html(texts["report"])}  # the other tables have the same cells
        if in_viewer:
            limited = in_url(limits) if limits.as_dict() else {}
            app = self.open_page(self.directory, "overview", **limited)
            (component,) = app.get("bidi_component")
            rows["viewer"] = rows_of_html(component_content(component))
            texts["viewer"] = app.get("html")[0].proto.body
        first = rows["report"]
        assert list(first) == [row["title"] for row in verdict.rows]
        assert all(told == first for told in rows.values())
        self._table_agrees(verdict, first)
        self._said_agrees(texts, verdict, advice)
        self._gate_agrees(limits, verdict)
        self._lost_classes_agree(texts["report"], verdict)
        self._command_agrees(advice, verdict)

    def _table_agrees(self, verdict, rows):
        """The table as published, and the predictions themselves, have the same figures."""
        table = self.study_audit.summary.frame().set_index("variant")
        populations = self.study_audit.data.populations
        before = populations["dense"].accuracy().mean()
        for key, title in self.titles.items():
            row = rows[title]
            after = round(float(populations[key].accuracy().mean()), 12)
            assert row.top1 == f"{100 * table['top1'][key]:.1f}" == f"{100 * after:.1f}"
            assert float(row.change.split()[0].replace("−", "-")) == pytest.approx(
                100 * (after - before), abs=0.051
            )
            if row.size:
                name = "bytes" if verdict.sizes == ON_DISK else "gzipped_bytes"
                ratio = 100 * table[name][key] / table[name]["dense"]
                assert float(row.size) == pytest.approx(ratio, abs=0.051)
            changed = table["changed_predictions"][key] / populations[key].num_examples
            assert float(row.changed) == pytest.approx(100 * changed, abs=0.051)
            assert row.best == (key == verdict.best)
            assert row.lost == len(verdict.lost.get(key, ()))

    def _said_agrees(self, texts, verdict, advice):
        """Headline and recommendation stand on every outlet, and name the recommended variant."""
        for outlet, text in texts.items():
            if outlet == "Markdown":
                text = re.sub(r"\\(.)", r"\1", text)
            said = plain(text) if outlet in ("report", "viewer") else html.unescape(text)
            said = said.replace("−", "-").replace("\N{NON-BREAKING HYPHEN}", "-")
            advised = (advice.headline, advice.command.split(" --")[0]) if advice else ()
            for sentence in (verdict.headline, *advised):
                assert plain(html.escape(sentence)).replace("−", "-") in said, outlet
            for name, fact in advice.facts if advice else ():
                assert plain(html.escape(fact)).replace("−", "-") in said, (outlet, name)
        if advice:
            assert advice.ship == (verdict.best is not None)
            assert advice.variant == verdict.rows[0]["variant"]
        if verdict.best is None:
            assert "Ship nothing yet" in advice.headline if advice else not verdict.verdicts
        else:
            title = self.titles[verdict.best]
            assert verdict.headline.startswith(title)
            assert advice.headline == f"Ship {title}."

    def _gate_agrees(self, limits, verdict):
        """`tfaudit gate` on the study has the same outcomes and figures, as JSON and as exit code."""
        flags = [
            part
            for name, limit in limits.as_dict().items()
            for part in (f"--{FLAGS[name].replace('_', '-')}", f"{limit:g}")
        ]
        if set(verdict.verdicts) != set(self.titles):  # one model against several has no verdict
            return
        code, out = self.run("gate", str(self.directory), *flags, "--json", "-")
        keys = {name: key for key, name in self.study_audit.data.study.names.items()}
        judged = {keys[name]: told for name, told in json.loads(out)["verdicts"].items()}
        for key, told in judged.items():  # each alone
            expected = verdict.outcomes[key].replace("passes uncorrected", "pass")
            assert told["outcome"] == expected
        assert code == max(
            (EXIT_CODES[told["outcome"]] for told in judged.values()),
            key=[EXIT_CODES[outcome] for outcome in reversed(OUTCOMES)].index,
        )
        for key, told in judged.items():
            expected = json.loads(json.dumps(verdict.verdicts[key].summary()))
            for one, other in zip(told["checks"], expected["checks"], strict=True):
                assert one["sentence"] == other["sentence"]
                assert one["value"] == pytest.approx(other["value"], nan_ok=True)

    def _lost_classes_agree(self, report, verdict):
        """Sentences, tables and charts of classes count those that lost recall as the verdict does."""
        answers = dict(
            re.findall(r'<details id="classes-([^"]+)"[^>]*>\s*<summary>(.*?)</summary>', report)
        )
        for key, impact in self.study_audit.summary.impacts.items():
            frame = impact.frame()
            assert tuple(frame["class"][frame["verdict"] == LOST]) == verdict.lost[key]
            said = plain(answers[key])
            standing = [name for name in verdict.lost[key] if not is_collapsed(frame, name)]
            found = re.search(r"(\d+)(?: of (?:the other )?[\d,]+(?: classes)?)? lost recall", said)
            assert (int(found[1]) if found else 0) == len(standing), said
        for key, pair in self.study_audit.model_pairs.items():
            frame = pair.frame()
            assert tuple(frame["class"][frame["verdict"] == LOST]) == verdict.lost[key]

    def _command_agrees(self, advice, verdict):
        """The command to run next is accepted; that of a variant to ship, or that lacks results only, passes it."""
        if advice:
            name, *arguments = shlex.split(advice.command)[1:]
            cheap = ("--members", "2", "--images", "20") if name == "plan" else ()
            code, _ = self.run(name, *arguments, *cheap)
            outcome = verdict.verdicts[advice.variant].outcome
            passes = advice.ship or "--allow-missing" in arguments or name == "plan"
            assert code == (0 if passes else EXIT_CODES[outcome]), advice.command


def is_collapsed(frame, name):
    return bool(frame.set_index("class")["collapsed"][name])


def component_content(component):
    """The HTML that the viewer's table of verdicts gets."""
    return json.loads(component.proto.json)["content"]


@pytest.fixture
def run(monkeypatch, capsys):
    """`run("gate", ...)` runs a command that is not refused, and returns its exit code and standard output."""

    def command(*arguments):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["tfaudit", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        told = capsys.readouterr()
        assert ", expected " not in told.err
        return left.value.code or 0, told.out

    return command


@pytest.fixture
def place(open_page, run, monkeypatch):
    """`place(store)` is a study with its outlets; its report has empty charts."""
    monkeypatch.setattr("tfaudit.charts.rendering.inline_svg", lambda *_, **__: "<svg></svg>")
    return lambda store: Place(store, open_page, run)


UNLIKE = {
    "two classes": {"images": 150, "classes": 2},
    "clusters": {"images": 60},
    "text labels": {"images": 60, "classes": 3},
}
TEXTS = ("very good", "so-so | or less", "<i>none</i> of it")


@pytest.mark.slow
@pytest.mark.parametrize("study", UNLIKE)
def test_figures_of_unlike_studies_are_the_same_everywhere(place, tmp_path, study):
    clusters = 5 if study == "clusters" else 1
    (before, after), (_, harmless) = (
        simulate(Truth(everywhere=loss, cluster_images=clusters), 7, members=3, **UNLIKE[study])
        for loss in (0.03, 0.0)
    )
    sides = {"": before, "int8": after, "float16": harmless}
    if study == "text labels":
        sides = {
            name: Predictions.from_top1(side.labels, side.top1, class_names=TEXTS)
            for name, side in sides.items()
        }
    before, variants = sides.pop(""), sides
    here = place(import_predictions(tmp_path, before, variants, name=study))
    here.agrees(Limits(), in_viewer=True)


@pytest.mark.slow
@pytest.mark.parametrize("studies", and_nightly([2], [20]))
def test_no_two_places_disagree_on_simulated_studies(place, tmp_path, studies):
    """Under the default limits, and under two sets of drawn ones."""
    start = seeds(200)[0] if studies > 2 else 0
    for seed in range(start, start + studies):
        print("seed", seed)
        store = random_store(tmp_path / str(seed), seed)
        rng = np.random.default_rng([seed, 3])
        if seed % 2:
            save_features(store, rng.normal(size=(len(store.examples(images=False)), 3)))
        here = place(store)
        here.agrees(Limits(), in_viewer=True)
        here.agrees(drawn_limits(rng, store), in_viewer=True)
        here.agrees(drawn_limits(rng, store), in_viewer=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "of_conditions"),
    [
        ({"missing": {("magnitude-0.9", 2)}}, False),
        ({"without": {("magnitude-0.9", "fog 1"), ("magnitude-0.9", "fog 3")}}, True),
    ],
    ids=["members", "conditions"],
)
def test_what_a_study_lacks_does_not_pass_anywhere(place, tmp_path, lacking, of_conditions):
    here = place(corrupted_study(tmp_path, **lacking))
    loose = {"overall_drop_pp": 60.0, "corruption_drop_pp": 70.0}
    for limits, in_viewer in (
        (Limits(corruption_drop_pp=1), True),
        (Limits(**loose), False),
        (Limits(overall_drop_pp=60), False),
    ):
        here.agrees(limits, in_viewer=in_viewer)
        lacks = not of_conditions or limits.corruption_drop_pp is not None
        verdict = here.study_audit.verdict(limits)
        checks = {check.name for check in verdict.verdicts["magnitude-0.9"].checks}
        assert ("missing_members" in checks) == lacks
        assert verdict.outcomes["magnitude-0.9"] != "pass" or not lacks
    assert here.study_audit.verdict(Limits(**loose)).best == "int8"
