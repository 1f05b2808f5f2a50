"""The section on costs: counted always, timed where `tfaudit cost` was run."""

import pandas as pd
import pytest

from tests.builders.sections import cells, sections_of
from tests.builders.studies import make_study
from tfaudit.errors import InputError


def costs(**columns):
    return pd.DataFrame({"variant": ["dense", "magnitude-0.9", "int8"], **columns})


COUNTED = {
    "parameters": [100, 100, 98],
    "zeros": [0, 90, 2],
    "flops": [2e6, 2e6, 2e6],
    "effective_flops": [2e6, 2e5, 2e6],
}
TIMED = {
    "latency_1_ms": [2.0, 1.5, 1.0],
    "latency_1_q25_ms": [1.9, 1.4, 0.9],
    "latency_1_q75_ms": [2.1, 1.7, 1.1],
    "latency_1_ratio": [1.0, 0.75, 0.5],
    "latency_32_ms": [9.0, 8.0, 4.0],
}


@pytest.mark.slow
def test_figures_stand_beside_the_accuracy_and_a_chart_shows_measured_ones(tmp_path):
    store = make_study(tmp_path)
    assert "costs" not in sections_of(store)
    store.save_table("costs", costs(**COUNTED))
    section = sections_of(store)["costs"]
    assert not section.figures
    assert section.notes[0].startswith("Latency was not measured")
    store.save_table("costs", costs(**COUNTED, **TIMED))
    section = sections_of(store)["costs"]
    (table,) = section.tables
    shown = cells(table)
    assert shown["variant"] == ("dense", "magnitude 90 %", "fixed-point int8")
    assert shown["zeros"] == ("0", "90", "2")
    assert shown["effective Mflops"] == ("2", "0.2", "2")
    assert shown["of dense"] == ("1.00", "0.75", "0.50")
    assert [figure.name for figure in section.figures] == ["costs"]
    assert not section.notes


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    [
        costs(zeros=[0, 90, 2]).drop(columns="variant"),
        costs(zeros=[0, 90, 2]).replace("magnitude-0.9", "dense"),
        costs(zeros=["none", "many", "few"]),
    ],
    ids=["no variants", "a variant twice", "text for numbers"],
)
def test_a_file_that_is_no_table_of_costs_is_one_line(tmp_path, table):
    store = make_study(tmp_path)
    store.save_table("costs", table)
    refused = (
        r"^costs: got a file that is no table of costs, \S+costs\.parquet, expected the table that "
    )
    with pytest.raises(InputError, match=refused):
        sections_of(store)
