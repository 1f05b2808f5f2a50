# biases.py
from dataclasses import replace

from tfaudit.recipes.fashion_mnist_lenet5_recall import study as counted

at_50 = (variant for variant in counted.variants if variant.ratio == 50)
variants = tuple(replace(variant, count_biases=False) for variant in at_50)
study = replace(counted, name="biases", variants=variants, population=4)
