import keras

from tests.builders.stacks import stack
from tfaudit.compress.pruning.one_shot import prune
from tfaudit.compress.pruning.sparsity import sparsity


def test_every_kernel_and_both_totals():
    inputs = keras.Input((8, 8, 2))
    x = keras.layers.BatchNormalization(name="norm")(keras.layers.Conv2D(5, 3, name="conv")(inputs))
    model = keras.Model(
        inputs, keras.layers.Dense(4, name="logits")(keras.layers.GlobalAveragePooling2D()(x))
    )
    prune(model, 0.5)
    frame = sparsity(model).set_index("kernel")
    assert frame.index.tolist() == [
        "conv/kernel",
        "logits/kernel",
        "total: kernels",
        "total: model",
    ]
    assert frame.loc["conv/kernel"].tolist() == [90, 45, 0.5]
    assert frame.loc["logits/kernel"].tolist() == [20, 10, 0.5]
    assert frame.loc["total: kernels"].tolist() == [110, 55, 0.5]
    assert frame.loc["total: model", "parameters"] == model.count_params()
    assert frame.loc["total: model", "zeros"] == sum(
        int((weight == 0).sum()) for weight in model.get_weights()
    )


def test_a_model_without_kernels_has_totals_of_zero():
    model = stack((3,), keras.layers.ReLU())
    assert sparsity(model)["sparsity"].tolist() == [0, 0]
