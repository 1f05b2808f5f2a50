"""
Prune in fit, and watch every class
===================================

A small convnet learns the embedded digits; then it is pruned to 90 % while it trains on, and audited after every epoch.
"""

import altair as alt
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

audit = tfaudit.ClassAudit((test.images, test.labels), baseline=model)
model.fit(train.images, train.labels, epochs=6, callbacks=[tfaudit.Pruning(0.9), audit], verbose=0)

# %%
# The zeros of every kernel:

tfaudit.sparsity(model)

# %%
# The recall of every digit after every epoch:

history = audit.history_frame()
recall_chart = (
    alt.Chart(history, width=500)
    .mark_line(point=True)
    .encode(x="epoch:O", y=alt.Y("recall:Q").scale(zero=False), color="class:N")
)
history.tail(10)
