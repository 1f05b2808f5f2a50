"""[F] on CelebA: whose hair colour does a pruned ResNet-18 get wrong? K = 30.

Question ([F] 2.4, 3.2): is a person blond or not? Are pruning identified exemplars (PIEs) mostly images of small
groups, such as blond men and old people? The other 39 attributes are stored as groups. Members are pruned during
training, in 10,000 steps of 256 images; quantized variants are made from the dense members.

    python -c "import tensorflow_datasets as tfds; tfds.builder('celeb_a').download_and_prepare()"
    tfaudit run celeb_a_resnet18

Cost: 330 members, 2,400,000 steps in all (240 trainings of 10,000 steps; 90 conversions). Estimated from FLOPs, with a
step as three forward passes: 14,000 hours on two cores at .11 TFLOP/s, and 150 hours on one GPU at 10 TFLOP/s.
Not run here: it needs CelebA and a GPU.

Published, [F] table 4; PIEs of 19,962 images:

    variant             top-1   PIEs
    dense               94.73      -
    magnitude 30 %      94.75    555
    magnitude 50 %      94.81    638
    magnitude 70 %      94.44    990
    magnitude 90 %      94.07  3,229
    magnitude 95 %      93.39  5,057
    magnitude 99 %      90.98  8,754
    dynamic range int8  94.65    404
    fixed-point int8    94.65    414

Where [F] contradicts itself or is silent: the dense accuracy is 94.73 in 2.4 and 94.10 in 3.2. Image size, learning
rate and weight decay are not given; we take whole images (218x178), the schedule of the ImageNet code (.1 B/256, /10
after a third, two thirds and eight ninths, decay 1e-4) and its pruning window as shares of the steps. The only
augmentation is mirroring. The released code trains on ImageNet alone, so the rest is not known either: here pixels are
normalised by the mean and deviation of the first 2,000 training images, and convolutions
are drawn as in `imagenet_resnet50`. Unlike in the code, the classifier is drawn from Glorot's uniform distribution and
only kernels decay; the differences of `imagenet_resnet50` in files and pruned weights apply here, too.
"""

from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

study = Study(
    name="celeb_a_resnet18",
    dataset="celeb_a",
    model="resnet18",
    training=Training(
        steps=10_000,
        batch_size=256,
        learning_rate=((0, 0.1), (5, 0.01), (10, 0.001), (14, 0.0001)),
        weight_decay=1e-4,
        augmentation="flip",
    ),
    variants=(
        *(
            Pruned(sparsity, begin=5 / 32, end=8 / 32, frequency=100, unpruned_layers=("logits",))
            for sparsity in (0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)
        ),
        *(Quantized(kind) for kind in ("float16", "dynamic_range", "int8")),
    ),
    population=30,
    smoke_options={"width": 1 / 16, "blocks": [1, 1, 1, 1]},
)
