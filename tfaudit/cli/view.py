"""`tfaudit view`: the viewer of a study."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfaudit.cli.console import Directory, app

__all__ = ["view"]


@app.command()
def view(directory: Directory, port: Annotated[int, typer.Option(help="Port on this machine.")] = 8501) -> None:
    """Opens the viewer of a study in the browser."""
    from tfaudit.store import open_store

    open_store(directory)
    viewer = Path(importlib.import_module("tfaudit.app").__path__[0]) / "viewer.py"
    options = {
        "server.port": port,
        "server.address": "localhost",  # predictions and images are nobody else's business
        "server.showEmailPrompt": "false",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(viewer), *flags, "--", str(directory)]
    raise typer.Exit(subprocess.run(command, check=False).returncode)
