"""`python -m tfaudit.app run ...`: Streamlit with the viewer's libraries at hand, so that no visitor waits for them."""

import gc

from streamlit.web import cli

from tfaudit.app import opening, overview

__all__ = ["opening", "overview"]

if __name__ == "__main__":
    gc.collect()
    gc.freeze()  # Streamlit looks through all objects after every click; those of libraries stay anyway
    cli.main(prog_name="streamlit")
