"""`tfaudit run`: run a study from its recipe to its report."""

from __future__ import annotations

import dataclasses
import functools
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfaudit.cli.completion import one_of, recipes
from tfaudit.cli.console import app, err, listing, out
from tfaudit.cli.flags import renamed
from tfaudit.cli.gate_limits import GateFile, read_limits
from tfaudit.cli.options import Group, option, refuse
from tfaudit.cli.outputs import output_folder
from tfaudit.cli.recipes import recipe_study, require_recipe
from tfaudit.cli.report import show
from tfaudit.errors import plural, require, require_least
from tfaudit.population.engine_options import EngineOptions

if TYPE_CHECKING:
    from tfaudit.store.store import Store
    from tfaudit.study.study import Study

RAY = "With --engine ray"
SHARE = "Per member"
BEFORE = "Before a long run"
DECIDE = "Until the gate decides"
TRAINING = "In place of the recipe's settings"
"""Panels of the help."""

HEADING = 28
"""Width of the headings of what a run takes."""

_of_training = functools.partial(option, panel=TRAINING)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Settings of a recipe's trainings that the command line changes; the study records them."""

    batch_size: Annotated[int | None, _of_training("Examples per optimizer step.")] = None
    micro_batch: Annotated[
        str | None, _of_training("Examples whose gradients are computed at a time, or auto.")
    ] = None
    precision: Annotated[str | None, _of_training("float32, mixed_float16 or mixed_bfloat16.")] = (
        None
    )
    strategy: Annotated[
        str | None, _of_training("mirrored: share every batch among the member's GPUs.")
    ] = None
    steps: Annotated[int | None, _of_training("Optimizer steps of each training from scratch.")] = (
        None
    )

    def applied_to(self, study: Study) -> Study:
        """Return the study with these settings."""
        changes = {
            key: value for key, value in dataclasses.asdict(self).items() if value is not None
        }
        if (self.micro_batch or "").isdecimal():
            changes["micro_batch"] = int(changes["micro_batch"])
        if self.steps is not None:
            changes["epochs"] = None
        return study.with_training(**changes)


ENGINE = Group.of_options(
    EngineOptions,
    workers=option(
        "Most members that run at once; by default as many as fit the cores, GPUs and memory."
    ),
    engine=option(
        "local: processes on this machine; ray: tasks on a Ray cluster.",
        complete=one_of("population.engine_options:ENGINES"),
    ),
    address=option(
        "Head of the cluster, HOST:PORT; by default RAY_ADDRESS, or a new cluster on this machine.",
        panel=RAY,
    ),
    cpus=option("Cores, and so threads.", panel=SHARE),
    gpus=option(
        "GPUs; 0.5 puts two members on one. By default 1 if this machine has any; with Ray none.",
        panel=SHARE,
    ),
    timeout=option("Time limit per member, seconds; none by default."),
    retries=option("Retries of a member that was lost, ran out of memory or timed out."),
)
"""The options of the engine; memory is given in GB."""


@app.command()
@renamed(name="dataset")
def run(
    *,
    recipe: Annotated[
        str,
        typer.Argument(
            help="Name of a recipe (`tfaudit list`), or a Python file with a `study`.",
            autocompletion=recipes,
        ),
    ],
    training: Annotated[TrainingOptions, Group.of_fields(TrainingOptions)],
    directory: Annotated[
        Path | None, output_folder("Directory of the study; runs/RECIPE by default.", "--out")
    ] = None,
    population: Annotated[
        int | None, option("Members per variant; by default the recipe's.")
    ] = None,
    engine: Annotated[EngineOptions, ENGINE],
    memory: Annotated[
        float | None, option("Memory reserved for each member, GB; none by default.", panel=SHARE)
    ] = None,
    dataset: Annotated[
        str | None, option("Data set, or a function `data.py:load`; by default the recipe's.")
    ] = None,
    model: Annotated[
        str | None,
        option("Model, .keras file, or a function `nets.py:build`; by default the recipe's."),
    ] = None,
    smoke: Annotated[
        bool, option("Run two members for a few steps, as a test of the recipe.", "--smoke")
    ] = False,
    dry_run: Annotated[
        bool,
        option(
            "Print what the run would take, and refuse what cannot fit; start nothing.",
            "--dry-run",
            panel=BEFORE,
        ),
    ] = False,
    rehearse: Annotated[
        bool,
        option(
            "Run all phases at their true shape for a few steps, and print what they and the run take.",
            "--rehearse",
            panel=BEFORE,
        ),
    ] = False,
    photographs: Annotated[
        Path | None,
        option(
            "With --rehearse: folder of JPEGs to stand for images that are not at hand; noise by default.",
            panel=BEFORE,
        ),
    ] = None,
    step_seconds: Annotated[
        float | None,
        option("With --dry-run: measured seconds of an optimizer step, for hours.", panel=BEFORE),
    ] = None,
    dollars_per_hour: Annotated[
        float | None, option("Price of an hour of one member, for the cost.", panel=BEFORE)
    ] = None,
    until_decided: Annotated[
        bool,
        option(
            "Add members, up to the population, until the gate passes or fails the variants.",
            "--until-decided",
            panel=DECIDE,
        ),
    ] = False,
    gate: GateFile = None,
    variant: Annotated[
        list[str] | None,
        option("Variant to decide, repeatable; all by default.", panel=DECIDE),
    ] = None,
    accept_changed_code: Annotated[
        bool,
        option("Resume although the source of a function has changed.", "--accept-changed-code"),
    ] = False,
) -> None:
    """Train and compress a population, evaluate it and audit what it forgets. An interrupted run can be resumed.

    Example: tfaudit run digits --smoke
    """
    require_recipe(recipe)

    require_least(1, population=population)
    if memory is not None:
        require(0 < memory < math.inf, "memory", memory, "gigabytes above 0")
        engine = dataclasses.replace(engine, memory=round(memory * 1e9))
    if rehearse:
        refuse(
            "with --rehearse",
            dry_run=dry_run,
            smoke=smoke,
            step_seconds=step_seconds,
            until_decided=until_decided,
        )
    else:
        refuse("without --rehearse", photographs=photographs)
    if not until_decided:
        refuse("without --until-decided", gate=gate, variant=variant)
    limits = read_limits(gate)
    # From here on imports take seconds.
    study = training.applied_to(_with_changes(recipe_study(recipe), model, dataset))
    study = _at_scale(study, population, smoke=smoke)
    directory = directory or Path("runs") / (f"{study.name}-smoke" if smoke else study.name)
    if dry_run:
        _print_dry_run(study, directory, engine, step_seconds, dollars_per_hour)
        return
    if rehearse:
        _rehearse(study, directory, engine, photographs, dollars_per_hour)
        return
    from tfaudit.cli.until_decided import run_until_decided
    from tfaudit.population.progress import progress_for
    from tfaudit.population.run import run_study

    def run_one(study: Study) -> Store:
        return run_study(
            study,
            directory,
            engine,
            progress=progress_for(out),
            accept_changed_code=accept_changed_code,
        )

    store = (
        run_until_decided(study, directory, run_one, limits, variant)
        if until_decided
        else run_one(study)
    )
    from tfaudit.analysis.study_audit import StudyAudit

    if "dense" in store.variants:
        show(StudyAudit.read(store), limits)
    _report_failures(store)


def _with_changes(study: Study, model: str | None, dataset: str | None) -> Study:
    """Return a study with another model or data set."""
    if model is not None:
        if model.endswith(".keras"):  # workers and later runs may have another working directory
            model = str(Path(model).absolute())
        study = dataclasses.replace(study, model=model, initialise=None)
    return dataclasses.replace(study, dataset=dataset or study.dataset)


def _at_scale(study: Study, population: int | None, *, smoke: bool) -> Study:
    """Return a study with another population, or a test of it, on synthetic images if its data set is missing."""
    from tfaudit.datasets.loading import is_available

    if smoke:
        study = study.smoke()
        if not is_available(study.dataset):
            err.print(
                f"{study.dataset} is not available: synthetic images of the same shape replace it"
            )
            study = dataclasses.replace(study, dataset=f"mock:{study.dataset}")
    return study if population is None else dataclasses.replace(study, population=population)


def _print_dry_run(
    study: Study,
    directory: Path,
    options: EngineOptions,
    step_seconds: float | None,
    dollars_per_hour: float | None,
) -> None:
    """Print what a run would take, one line each."""
    from tfaudit.runtime.captured_output import start_tensorflow

    start_tensorflow()
    from tfaudit.population.dry_run import Prices, dry_run

    prices = Prices(step_seconds=step_seconds, dollars_per_hour=dollars_per_hour)
    _print_rows(dry_run(study, directory, options, prices).items())


def _print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Print texts with their headings, each as soon as it is known."""
    for row in rows:
        out.print(listing([row], width=HEADING))


def _rehearse(
    study: Study,
    directory: Path,
    options: EngineOptions,
    photographs: Path | None,
    dollars_per_hour: float | None,
) -> None:
    """Rehearse a study in a temporary folder, and print what each phase took and what the run would take."""
    from tfaudit.runtime.captured_output import start_tensorflow

    start_tensorflow()
    from tfaudit.population.rehearsal import Rehearsal

    rehearsal = Rehearsal(study, options)
    with tempfile.TemporaryDirectory(prefix="tfaudit-rehearsal-") as place:
        stand_ins = Path(place) / "data"
        stand_ins.mkdir()
        with rehearsal.data(stand_ins, photographs) as rows:
            _print_rows(rows.items())
            with err.status("Rehearsing"):
                store = rehearsal.run(Path(place))
            _report_failures(store)
            _print_rows(rehearsal.phases(Path(place)))
            _print_rows(_audited(store))
    out.print("\nThe whole run:")
    _print_rows(rehearsal.extrapolated(directory, dollars_per_hour).items())


def _audited(store: Store) -> Iterator[tuple[str, str]]:
    """Audit a study, judge it by the gate's default limits and write its report; yield what each took."""
    from tfaudit.analysis.study_audit import StudyAudit
    from tfaudit.outlets.html import write_report

    def seconds() -> str:
        return f"{time.monotonic() - start:.1f} s"

    start = time.monotonic()
    study_audit = StudyAudit.read(store)
    study_audit.prepare()
    yield "audit", f"{plural(len(study_audit.data.titles), 'variant')} in {seconds()}"
    start = time.monotonic()
    outcomes = Counter(study_audit.verdict().table["outcome"])
    judged = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.items())
    yield "gate", f"{judged or 'nothing to judge'}, in {seconds()}"
    start = time.monotonic()
    path = write_report(study_audit)
    yield "report", f"{path.stat().st_size / 1e6:.1f} MB in {seconds()}"


def _report_failures(store: Store) -> None:
    """Print the failures, one line each, and exit with code 1 if there are any."""
    from tfaudit.population.transient_errors import may_pass
    from tfaudit.runtime.user_functions import failure_line

    failures = {
        f"member {variant}/{member:03d}": text
        for (variant, member), text in store.failures().items()
    }
    failures |= {f"condition {split}": text for split, text in store.evaluations.failures().items()}
    for job, traceback in failures.items():
        err.tell(f"{job} failed: {failure_line(traceback)}", style="red")
    if failures:
        kinds = Counter(job.partition(" ")[0] for job in failures)
        counted = " and ".join(plural(count, kind) for kind, count in kinds.items())
        when = "to retry" if any(map(may_pass, failures.values())) else "once that is mended"
        err.print(f"{counted} failed; run the same command again {when}")
        raise typer.Exit(1)
