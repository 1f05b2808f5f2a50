"""
Quantize, compare, and ask the gate
===================================

A convnet of the embedded digits becomes a fixed-point int8 flatbuffer. What changes on the 600 test images, and may it
ship with these limits?
"""

import keras

import tfaudit

keras.utils.set_random_seed(0)
train, test = tfaudit.load_dataset("digits", "train"), tfaudit.load_dataset("digits", "test")
layers = [keras.layers.Rescaling(1 / 255), keras.layers.Conv2D(16, 3, activation="relu")]
layers += [keras.layers.Flatten(), keras.layers.Dense(10)]
model = keras.Sequential([keras.Input((8, 8, 1)), *layers])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(0.003), loss, metrics=["accuracy"])
model.fit(train.images, train.labels, epochs=8, verbose=0)
int8 = tfaudit.quantize(model, "int8", representative=train)

# %%
# Image by image
# --------------

pair = tfaudit.compare_models(model, {"int8": int8}, (test.images, test.labels))["int8"]
pair_chart = pair.chart()
pair

# %%
# The gate
# --------

limits = tfaudit.Limits(overall_drop_pp=2, worst_class_drop_pp=10)
verdict = tfaudit.gate_models(model, {"int8": int8}, (test.images, test.labels), limits)["int8"]
print(verdict.outcome)
verdict

# %%
# What would decide where it cannot judge? In a suite of pytest, `tfaudit.testing.assert_no_regression` asks the same.

for check in verdict.checks:
    print(check.sentence)
