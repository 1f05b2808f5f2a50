"""Questions of the human study and the meaning of their answers: [F] 3.2 and appendix C, [A]."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Question:
    """A yes-no question about one image and its three labels.

    `key` names its column among the answers; the image has the `attribute` if the answer is `holds`, 0 or 1. `labels`
    lists the labels needed to answer: labels 2 and 3 differ only for PIEs, so a rater who sees them is no longer blind.
    """

    key: str
    text: str
    attribute: str
    holds: int
    labels: int = 1


QUESTIONS: tuple[Question, ...] = (
    Question(
        "accurate_label",
        "Does label 1 accurately label an object in the image?",
        "incorrect or inadequate label",
        0,
    ),
    Question("single_object", "Does this image depict a single object?", "multiple objects", 0),
    Question(
        "corrupted",
        "Is the image quality corrupted (some common image corruptions: overlaid text, brightness, contrast, filter, "
        "defocus blur, fog, jpeg compression, pixelate, shot noise, zoom blur, black and white vs. rgb)?",
        "corrupted image",
        1,
    ),
    Question(
        "fine_grained",
        "Would you consider labels 1, 2 and 3 to be semantically very close to each other? "
        "(does this image require fine grained classification)",
        "fine grained",
        1,
        labels=3,
    ),
    Question(
        "abstract",
        "Is the object in the image an abstract representation of the class indicated by label 1? (An abstract "
        "representation is an object in an abstract form, such as a painting, drawing or rendering using a different "
        "material.)",
        "abstract representation",
        1,
    ),
    Question(
        "typical",
        "Do you consider the object in the image to be a typical exemplar for the class indicated by label 1?",
        "atypical exemplar",
        0,
    ),
)
"""The questions of [F] appendix C; label 1 is the true class, 2 the baseline mode, 3 the compressed mode."""

CO_OCCURRING = Question(
    "co_occurring",
    "Do labels 1, 2 and 3 name objects that often occur together in one image, or are two of them names of one object?",
    "frequently co-occurring labels",
    1,
    labels=3,
)
"""The gallery of [A] that the questions of [F] leave out; it is tested where raters answer it."""
