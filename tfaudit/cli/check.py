"""`tfaudit check`: is everything that a study should hold there, and as it was written?"""

import typer

from tfaudit.cli.console import Directory, app, err, out


@app.command()
def check(directory: Directory) -> None:
    """List what is missing or damaged in a study, which `tfaudit run` makes again. Exit code 1 if there is anything.

    Every file of every member is read and compared with its checksum. Nothing is changed.
    """
    from rich.progress import track

    from tfaudit.errors import InputError
    from tfaudit.store.store import open_store

    store = open_store(directory)
    pairs = [(v.key, member) for v in store.study.all_variants for member in store.expected_members(v.key)]
    found = 0
    for variant, member in track(pairs, "members", console=err, transient=True):
        if damage := store.damage(variant, member):
            found += 1
            out.print(f"{variant}, member {member}: {damage}", soft_wrap=True)
    for split in ("test", *(condition.split for condition in store.study.conditions)):
        try:
            store.examples(split)
        except InputError as error:
            if split == "test" or split in store.splits:
                found += 1
                out.print(str(error), soft_wrap=True)
    for condition in store.conditions:
        for variant, member in store.evaluated_members():
            if not store.evaluations.is_complete(variant, member, condition.split):
                found += 1
                state = "damaged" if store.evaluations.exists(variant, member, condition.split) else "missing"
                out.print(f"{variant}, member {member}, {condition.title}: {state} predictions", soft_wrap=True)
    if found:
        out.print(f"{found} to make again: `tfaudit run` with the same recipe and directory does that")
        raise typer.Exit(1)
    conditions = f" and {len(store.conditions)} conditions" * bool(store.conditions)
    out.print(f"{len(pairs)} members{conditions}, all as they were written")
