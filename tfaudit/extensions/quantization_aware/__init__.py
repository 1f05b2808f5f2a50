"""Quantization-aware training: fake quantization of weights and activations in Keras 3 models."""
