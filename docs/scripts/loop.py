# loop.py
import keras
import pandas as pd
import tensorflow as tf

import tfaudit


def fit(model, train, *, seed, callbacks):
    model.compile("adam")
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    steps, losses = len(train.y) // 50, []
    told = keras.callbacks.CallbackList(callbacks, model=model, epochs=5, steps=steps)
    told.on_train_begin()
    for epoch in range(5):
        told.on_epoch_begin(epoch)
        for i in range(steps):
            batch = slice(50 * i, 50 * i + 50)
            with tf.GradientTape() as tape:
                loss = loss_of(train.y[batch], model(train.x[batch], training=True))
            variables = model.trainable_variables
            model.optimizer.apply(tape.gradient(loss, variables), variables)
            told.on_train_batch_end(i)  # rewinding also needs: if model.stop_training: break
        losses.append(float(loss))
        told.on_epoch_end(epoch, {"loss": losses[-1]})
    told.on_train_end()
    return pd.DataFrame({"loss": losses})  # a row per epoch


study = tfaudit.Study(name="loop", dataset="digits", model="digits_convnet", training=fit)
