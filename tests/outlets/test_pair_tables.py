"""Tables of one model against one on terminals of several widths."""

import io

import numpy as np
import pytest
from rich.console import Console

from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.outlets.pair_tables import pair_tables
from tfaudit.predictions import Predictions


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_narrow_terminal_shortens_names_and_no_figure(width):
    labels = np.arange(2000) % 3
    before = Predictions.from_top1(labels, labels)
    pairs = {
        "a_model_of_a_long_name": compare(
            before, Predictions.from_top1(labels, np.where(labels, labels, 1))
        )
    }
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(
        pair_tables(pairs, sizes={"baseline": 550_123, "a_model_of_a_long_name": 213_240})
    )
    text = console.export_text()
    assert "0.55" in text
    assert "0.213" in text
    assert all(line.count("…") <= line.startswith("a_") for line in text.splitlines())
