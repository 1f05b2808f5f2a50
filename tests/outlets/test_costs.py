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
def test_unknown_operations_are_no_number_and_their_notes_are_shown(tmp_path):
    store = make_study(tmp_path)
    flops = [float("nan"), 2e6, 2e6]
    unknown = COUNTED | {"flops": flops, "effective_flops": flops}
    notes = ["FLOPs are unknown: a lower bound of 9 leaves out LSTM", "", None]
    store.save_table("costs", costs(**unknown, notes=notes))
    section = sections_of(store)["costs"]
    assert cells(section.tables[0])["Mflops"] == ("–", "2", "2")
    assert section.notes[1:] == (
        "Operations are unknown where a part of them, such as the loop of a recurrent layer, cannot be counted.",
        "dense: FLOPs are unknown: a lower bound of 9 leaves out LSTM.",
    )


@pytest.mark.slow
def test_a_file_without_some_columns_shows_the_others_and_says_what_it_lacks(tmp_path):
    store = make_study(tmp_path)
    known = {name: (COUNTED | TIMED)[name] for name in ("parameters", "flops", "latency_1_ms")}
    store.save_table("costs", costs(**known))
    section = sections_of(store)["costs"]
    shown = cells(section.tables[0])
    assert shown["Mflops"] == ("2", "2", "2")
    assert not {"zeros", "effective Mflops"} & set(shown)
    assert shown["latency, ms"] == ("2", "1.5", "1")
    assert "latency of 32, ms" not in shown
    assert section.notes == (
        f"The file of costs has no zeros, effective Mflops; “tfaudit cost {store.directory.name}” writes it again.",
    )


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
