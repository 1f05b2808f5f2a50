"""`tfaudit prepare`: prepare a data set from local files."""

from pathlib import Path
from typing import Annotated

import typer

from tfaudit.cli.console import app, out
from tfaudit.cli.options import SkipUnreadable, option
from tfaudit.cli.outputs import output_folder


@app.command()
def prepare(
    name: Annotated[
        str, typer.Argument(help="Data set: fashion_mnist, mnist, cifar10, or a name for a folder.")
    ],
    source: Annotated[
        Path, option("Folder of IDX files, CIFAR's .bin files, or class folders.", "--from")
    ],
    data_dir: Annotated[
        str | None, output_folder("Directory of prepared data sets; by default TFDS' own.")
    ] = None,
    recursive: Annotated[
        bool, option("Also look for images in subfolders of the class folders.", "--recursive")
    ] = False,
    skip_unreadable: SkipUnreadable = 0,
) -> None:
    """Prepare a TensorFlow Datasets data set from local files. It then loads without a network.

    Example: tfaudit prepare birds --from photographs --data-dir prepared
    """
    from rich.progress import Progress

    from tfaudit.datasets.builders import notes_of
    from tfaudit.datasets.prepare import prepare as prepare_set

    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(f"preparing {name}", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        place = prepare_set(
            name,
            source,
            data_dir=data_dir,
            progress=show,
            recursive=recursive,
            skip_unreadable=skip_unreadable,
        )
    out.tell(f"{name}: {place}", *notes_of(place), sep="\n")
