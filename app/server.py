"""The server of the viewer, as `tfaudit view` starts it: Streamlit behind the access check.

Its settings are `directory`, `limits` of the gate, `read_only`, `address`, `port`, and the `hosts` under which the
viewer may be asked for.
"""

import contextlib
import gc
import json
import logging
import os
import sys
import webbrowser
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tfaudit.runtime.garbage_collection import collect_seldom

PASSWORD = "TFAUDIT_PASSWORD"
"""Environment variable of the password: all users of a machine can read the arguments of its processes."""

HERE = Path(__file__).parent


def options(settings: dict[str, Any]) -> dict[str, object]:
    """Return the options of Streamlit's server; all that guard the study are set here."""
    return {
        "server.port": settings["port"],
        "server.address": settings["address"],
        "server.allowedHosts": settings["hosts"],
        "server.corsAllowedOrigins": [f"http://localhost:{settings['port']}"],
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.enableAgentApi": False,
        "server.enableStaticServing": False,
        "server.trustedUserHeaders": "{}",
        "server.showEmailPrompt": False,
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": False,  # predictions and images are private
        "client.toolbarMode": "minimal",
        "global.developmentMode": False,
        "global.disableWidgetStateDuplicationWarning": True,  # a click in a chart sets the value of a widget
        "theme.light.primaryColor": "#8e4585",
        "theme.dark.primaryColor": "#c983c0",
    }


def serve(settings: dict[str, Any], password: str) -> None:
    """Serve the viewer until the process is asked to end."""
    # Streamlit reads `.streamlit` in the working directory, as it stands when it is imported and later: a folder that
    # came with a study decides nothing.
    os.chdir(HERE)
    collect_seldom()
    log = logging.getLogger("streamlit.runtime.caching.cache_data_api")
    log.addFilter(lambda record: "No runtime found" not in record.msg)  # none runs yet
    import streamlit as st
    from starlette.middleware import Middleware
    from streamlit import config, net_util

    from tfaudit.app import overview, study_choice  # noqa: F401 - imported before the first visit
    from tfaudit.app.access import AccessControl
    from tfaudit.app.viewer import READ_ONLY

    net_util.get_external_ip = lambda: (
        None
    )  # Streamlit would ask a server elsewhere for this machine's address
    gc.collect()
    gc.freeze()  # Streamlit collects garbage after every click; the libraries' objects stay anyway

    @contextlib.asynccontextmanager
    async def opened(_: st.App) -> AsyncIterator[None]:
        if not config.get_option("server.headless"):
            webbrowser.open(f"http://{_name(settings['address'])}:{settings['port']}")
        yield

    door = Middleware(
        AccessControl, hosts=settings["hosts"], password=password, port=settings["port"]
    )
    app = st.App(HERE / "viewer.py", middleware=[door], lifespan=opened)
    sys.argv = [__file__, settings["directory"], json.dumps(settings["limits"])]  # of viewer.py
    if settings["read_only"]:
        sys.argv.append(READ_ONLY)
    with contextlib.suppress(KeyboardInterrupt):  # which comes too late for asyncio now and then
        app.run(config=options(settings))
    sys.exit(130)  # Ctrl-C alone ends the server without another exception


def _name(address: str) -> str:
    """Return the name by which a browser on this machine reaches an address that is served."""
    if address in ("0.0.0.0", "::"):
        return "localhost"
    return f"[{address}]" if ":" in address else address
