"""What does a trained ResNet-50 forget when it is compressed at one blow? Your weights, K = 1.

Question ([F] 3.1, 3.2 for those who have one model and no cluster): how many of its answers change where it is pruned
by magnitude at 30, 50 and 70 % without retraining, the classifier spared, or quantized in three ways? With one member
every variant is compared with the dense model image by image: flips, exact McNemar tests, agreement.

    tfaudit prepare imagenet_photographs --from FOLDER    # FOLDER/train/CLASS and FOLDER/test/CLASS
    tfaudit run imagenet_resnet50_pretrained --model resnet50.keras

The file is `keras.applications.ResNet50().save("resnet50.keras")` or a model of your own with a layer `predictions`.
Classes count in alphabetical order of their folders: name them by WordNet id, as ImageNet does, all 1,000 of them.
The training part only calibrates fixed-point numbers, on 100 photographs; it needs one of every class.

Cost: 7 members, 0 steps in all; minutes on two cores for 1,000 photographs, most of them Keras' predictions (44 s for
each of the four Keras models); seconds on one GPU.

Published for these weights, 50,000 validation images (Keras Applications): top-1 74.9, top-5 92.1. Pruned while it
trains, [F] table 2, a ResNet-50 keeps more than at one blow:

    variant         top-1
    dense           76.68
    magnitude 30 %  76.46
    magnitude 50 %  75.87
    magnitude 70 %  75.02

Not measured here yet.

Where [F] is silent: it never prunes without retraining; [R] does and trains on.
"""

from tfaudit.study import Study, Training
from tfaudit.variants import Pruned, Quantized

study = Study(
    name="imagenet_resnet50_pretrained",
    dataset="imagenet_photographs",
    model="resnet50.keras",
    training=Training(epochs=0),
    variants=(
        *(Pruned(sparsity, treatment="one_shot", spare=("predictions",)) for sparsity in (0.3, 0.5, 0.7)),
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
    ),
    population=1,
    model_options={"preprocess": "caffe"},
    crop=224,
)
