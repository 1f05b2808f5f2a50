"""TensorFlow Lite: conversion, inference, contents and latency of flatbuffers."""
