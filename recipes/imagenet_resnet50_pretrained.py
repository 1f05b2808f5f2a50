"""What does a trained ResNet-50 forget after one-shot compression? Your weights, K = 1.

Question ([F] 3.1, 3.2, 4 with a single model and no cluster): how many predictions change if it is pruned by magnitude
at 30, 50 and 70 % without retraining, except for the classifier, or quantized in three ways, and how many more under
noise, blur, snow, brightness, contrast and JPEG? With one member, every variant is compared with the dense model image
by image: flips, exact McNemar tests, agreement.

    tfaudit prepare imagenet_photographs --from FOLDER    # FOLDER/train/CLASS and FOLDER/test/CLASS
    tfaudit run imagenet_resnet50_pretrained --model resnet50.keras

The file is `keras.applications.ResNet50().save("resnet50.keras")` or your own model with a layer `predictions`. Classes
are numbered in the alphabetical order of their folders: name all 1,000 by WordNet id, as ImageNet does. The training
set only calibrates fixed-point quantization, on 100 photographs; it needs one of every class.

Cost: 7 members, 0 steps in all; minutes on two cores for 1,000 photographs, mostly for the predictions of the four
Keras models (44 s each); seconds on one GPU.

Published for these weights on 50,000 validation images (Keras Applications): top-1 74.9, top-5 92.1. Pruned during
training, [F] table 2, a ResNet-50 loses less than with one-shot pruning:

    variant         top-1
    dense           76.68
    magnitude 30 %  76.46
    magnitude 50 %  75.87
    magnitude 70 %  75.02

Measured here by the commands above on 1,000 ImageNet photographs, one of every class (probably training images, so not
an estimate of test accuracy; also used for calibration), about 8 minutes of one core:

    variant             top-1  change (95 %)            lost  won  other  same %    MB
    dense               90.80                                                      103
    magnitude 30 %      88.50  -2.30 (-3.60, -1.21)       29    6     11    95.4   103
    magnitude 50 %      84.40  -6.40 (-8.37, -4.62)       79   15     26    88.0   103
    magnitude 70 %      27.30  -63.50 (-66.48, -60.39)   640    5     77    27.8   103
    float16             90.80  +0.00 (-0.38, +0.38)        0    0      0   100.0  51.1
    dynamic range int8  90.40  -0.40 (-1.13, +0.20)        6    2      4    98.8    26
    fixed-point int8    90.30  -0.50 (-1.45, +0.37)     11.5  6.5      5    97.7  26.3

Lost and won are negative and positive flips, other are changes from one wrong class to another. Of int8, 19 predictions
tie; by argmax it loses .40 points.

Under corruption ([F] 4) pruning 50 % costs on average 2.3 points more than on clean images; pruning 30 % costs 1.2
points less, int8 the same.

Notes, with all figures: `docs/recipe_notes.md`.

Where [F] is silent: it never prunes without retraining; [R] prunes once, then fine-tunes.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

pruned = [
    Pruned(sparsity, treatment="one_shot", unpruned_layers=("predictions",))
    for sparsity in (0.3, 0.5, 0.7)
]

study = Study(
    name="imagenet_resnet50_pretrained",
    dataset="imagenet_photographs",
    model="resnet50.keras",
    training=Training(epochs=0),
    variants=(*pruned, *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8"))),
    population=1,
    model_options={"preprocess": "caffe"},
    crop=224,
    corruptions=(
        "gaussian_noise",
        "defocus_blur",
        "snow",
        "brightness",
        "contrast",
        "jpeg_compression",
    ),
    severities=(1, 3, 5),
    corrupted_variants=(pruned[0].key, pruned[1].key, "int8"),
)
