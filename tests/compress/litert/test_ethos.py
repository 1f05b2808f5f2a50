"""What Vela says of files, against its own CSV, in `cost` and in the gate."""

import csv
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import layers

from tfaudit.audits.gate.limits import Limits
from tfaudit.cli import app
from tfaudit.compress.litert.ethos import _COMMAND, ethos_cost
from tfaudit.compress.litert.quantize import quantize
from tfaudit.compress.model_comparison import gate_models
from tfaudit.errors import InputError

pytest.importorskip("ethosu")
IMAGES = np.random.default_rng(0).random((100, 16, 16, 3), np.float32)


@pytest.fixture(scope="module")
def network():
    keras.utils.set_random_seed(0)
    inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.Add()([x, layers.Conv2D(8, 3, padding="same")(x)])
    return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))


@pytest.fixture(scope="module")
def integers(network):
    return quantize(network, "int8", representative=IMAGES, io="int8")


def test_the_figures_are_those_of_velas_csv(integers, tmp_path):
    (tmp_path / "net.tflite").write_bytes(integers)
    command = [*_COMMAND, "--accelerator-config", "ethos-u55-128"]
    subprocess.run(
        [*command, "--output-dir", tmp_path, tmp_path / "net.tflite"],
        check=True,
        capture_output=True,
    )
    (table,) = tmp_path.glob("*.csv")
    [row] = csv.DictReader(table.read_text().splitlines())
    needs = ethos_cost(tmp_path / "net.tflite", accelerator="ethos-u55-128")
    assert needs.sram_kb == float(row["sram_memory_used"]) > 0
    assert needs.flash_kb == float(row["off_chip_flash_memory_used"]) > 0
    assert needs.cycles == int(row["cycles_total"]) > 0
    assert needs.ms == pytest.approx(1000 * float(row["inference_time"]))


def test_only_a_full_integer_file_has_no_operator_on_the_cpu(network, integers):
    assert ethos_cost(integers).summary()["npu_share"] == 1
    mixed = ethos_cost(quantize(network, "int8", representative=IMAGES))
    assert mixed.cpu_operators == 2  # from and to float
    floats = ethos_cost(quantize(network, "float32")).summary()
    assert (floats["npu_share"], floats["sram_kb"]) == (0, None)


def test_the_gate_limits_memory_and_latency(network, integers):
    labels = network.predict(IMAGES, verbose=0).argmax(1)
    needs = ethos_cost(integers)

    def checked(model, **limits):
        judged = gate_models(network, {"file": model}, (IMAGES, labels), Limits(**limits))["file"]
        return {check.name: (check.outcome, check.value) for check in judged.checks}

    found = checked(integers, sram_kb=needs.sram_kb, flash_kb=needs.flash_kb / 2)
    assert found == {"sram_kb": ("pass", needs.sram_kb), "flash_kb": ("fail", needs.flash_kb)}
    assert checked(quantize(network, "float32"), sram_kb=64)["sram_kb"][0] == "cannot judge"
    for limit, outcome in ((1e-6, "fail"), (1e6, "pass")):
        assert checked(integers, latency_ms=limit)["latency_ms"][0] == outcome


def test_the_command_line_prints_the_figures(integers, tmp_path, capsys):
    (tmp_path / "net.tflite").write_bytes(integers)
    arguments = ["cost", str(tmp_path / "net.tflite"), "--repeats", "0", "--ethos", "ethos-u55-256"]
    app(arguments, standalone_mode=False)
    assert re.search(rf"{ethos_cost(integers).sram_kb:,.2f} .* 100 ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (b"no model", {}, r"model: got a file that Vela refuses \(.*, expected a .tflite file"),
        ("net.keras", {}, "model: got 'net.keras', expected a .tflite file"),
        (b"", {"accelerator": "coral"}, "accelerator: got 'coral', expected 'ethos-u55-32'"),
    ],
)
def test_what_vela_cannot_read_is_one_line(model, options, message):
    with pytest.raises(InputError, match=message) as caught:
        ethos_cost(model, **options)
    assert "\n" not in str(caught.value)


def test_without_vela_the_extra_is_named(integers, monkeypatch):
    monkeypatch.setitem(sys.modules, "ethosu", None)
    with pytest.raises(InputError, match=r"got no installed ethosu, .*tfaudit\[ethos\]"):
        ethos_cost(integers)
