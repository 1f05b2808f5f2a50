"""TensorFlow Lite: conversion, inference and latency."""
