"""Today's architectures through pruning, quantization-aware training and every kind of file."""

import numpy as np
import pytest

from benchmarks.architectures import NETS, accuracies

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy")


@pytest.mark.nightly  # `test_several_inputs.py` converts recurrent layers and attention every day
@pytest.mark.parametrize("name", NETS)
def test_no_step_costs_an_architecture_more_than_a_few_points(name):
    figures = accuracies(name)
    assert figures["Keras"] > 80
    refused = {kind for kind, figure in figures.items() if np.isnan(figure)}
    assert refused == (set() if name in ("LSTM", "MobileNetV3") else {"int16x8"})
    assert all(figure > figures["Keras"] - 3 for figure in figures.values() if figure == figure)
