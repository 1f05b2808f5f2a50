"""`python -m tfaudit.app run ...`: Streamlit, with the viewer's libraries imported before the first visit."""

import gc

from streamlit import net_util
from streamlit.web import cli

from tfaudit.app import overview, study_choice

__all__ = ["overview", "study_choice"]

if __name__ == "__main__":
    net_util.get_external_ip = lambda: None  # Streamlit would ask a server elsewhere for this machine's address
    gc.collect()
    gc.freeze()  # Streamlit collects garbage after every click; the libraries' objects stay anyway
    cli.main(prog_name="streamlit")
