"""Compression of Keras models: pruning with masks, TensorFlow Lite quantization, and inference for both."""
