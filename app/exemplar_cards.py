"""Cards of images: the image, its true class, and the majority prediction and votes of both populations."""

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from tfaudit.analysis.stored_images import Preview
from tfaudit.app.markdown import escape_name
from tfaudit.app.url_state import set_choices
from tfaudit.charts.style import GAIN, LOSS
from tfaudit.outlets.exemplar_cards import Card

STYLE = """<style>
.st-key-gallery { container-type: inline-size; }
.st-key-cards { display: grid; grid-template-columns: repeat(2, 1fr); }
@container (min-width: 31rem) { .st-key-cards { grid-template-columns: repeat(3, 1fr); } }
@container (min-width: 44rem) { .st-key-cards { grid-template-columns: repeat(4, 1fr); } }
@container (min-width: 62rem) { .st-key-cards { grid-template-columns: repeat(6, 1fr); } }
.st-key-cards button { min-height: 0; padding: 0; }
.st-key-cards > div { width: auto; max-width: none; position: relative; cursor: pointer; }
.st-key-cards > div:hover { border-color: currentColor; }
.st-key-cards button::after { content: ""; position: absolute; inset: 0; }
.st-key-cards :is(button, .stElementContainer, .stButton, .stMarkdown) { position: static; }
.st-key-zoom { position: relative; }
.st-key-zoom button::after { content: ""; position: absolute; inset: 0; cursor: zoom-in; }
.st-key-zoom :is(button, .stElementContainer, .stButton, .stMarkdown) { position: static; }
.tfa-card { margin: 0; }
.tfa-picture { display: grid; place-items: center; width: 100%; aspect-ratio: 1; border-radius: 0.4rem;
  object-fit: contain; background: color-mix(in srgb, currentColor 8%, transparent); overflow: hidden; }
.tfa-picture.tiny { image-rendering: pixelated; }
.tfa-blank { padding: 0.5rem; font-size: 0.84rem; text-align: center; overflow-wrap: anywhere;
  opacity: 0.75; box-sizing: border-box; }
.tfa-text { margin: 0; max-height: 12rem; overflow: auto; font-size: 0.84rem; line-height: 1.35; white-space: pre-line;
  overflow-wrap: anywhere; }
.tfa-card dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 0.6rem;
  margin: 0.5rem 0 0; padding: 0; font-size: 0.84rem; line-height: 1.3; }
.tfa-card dt { margin: 0; font-weight: 400; opacity: 0.7; }
.tfa-card dd { margin: 0; min-width: 0; }
.tfa-name { font-weight: 600; overflow: hidden; overflow-wrap: anywhere;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.tfa-votes { display: flex; align-items: center; gap: 0.4rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tfa-bar { flex: 1; height: 0.35rem; border-radius: 1rem; overflow: hidden;
  background: color-mix(in srgb, currentColor 14%, transparent); }
.tfa-bar span { display: block; height: 100%; background: LOSS; }
.tfa-bar .right { background: GAIN; }
.tfa-legend { margin: 0; font-size: 0.84rem; }
.tfa-key { display: inline-block; width: 1.4rem; height: 0.35rem; margin: 0 0.35rem 0.12rem 0;
  border-radius: 1rem; background: LOSS; }
.tfa-key.right { background: GAIN; }
</style>""".replace("LOSS", LOSS).replace("GAIN", GAIN)

LONGEST = 15  # characters of an id that a card shows: the last ones, which tell images apart


def show_cards(cards: Sequence[Card], members: tuple[int, int], positions: Sequence[int]) -> None:
    """Draw the cards in rows; a click on one opens the panel of its image.

    `members` are the sizes of the baseline population and of the compressed one, `positions` those of the images. The
    rows of a page of 12 or 24 are full.
    """
    st.html(STYLE)
    st.html(legend(max(members)))
    with st.container(key="gallery"), st.container(horizontal=True, gap="small", key="cards"):
        for card, position in zip(cards, positions, strict=True):
            with st.container(border=True, gap="xsmall"):
                st.html(_card(card, members))
                st.button(
                    escape_name(short_id(card.example)),
                    key=f"card {position}",
                    type="tertiary",
                    on_click=set_choices,
                    kwargs={"image": str(position)},
                )


def legend(members: int) -> Markup:
    """Return what the colours of the bars mean, and their length where several models vote."""
    length = "; length: share of the models that make it" if members > 1 else ""
    colours = '<span class="tfa-key right"></span>right, <span class="tfa-key"></span>wrong'
    return Markup(f'<p class="tfa-legend">{colours} prediction{length}</p>')


def preview_html(preview: Preview, name: str, example: str) -> Markup:
    """Return an image in a square, or a text; without one, a box with the id of the example."""
    source, text, tiny = preview
    if text:
        return Markup('<p class="tfa-text">{}</p>').format(text)
    if not source:
        return Markup(
            '<div class="tfa-picture tfa-blank"><span>no image stored<br>{}</span></div>'
        ).format(example)
    return Markup('<img class="tfa-picture{}" src="{}" alt="Image {}, of class {}">').format(
        " tiny" if tiny else "", source, example, name
    )


def _card(card: Card, members: tuple[int, int]) -> str:
    before = _votes(card.before_share, members[0], card.before_right or card.before == card.label)
    after = _votes(card.after_share, members[1], card.after_right or card.after == card.label)
    names = (
        ("true", card.label, ""),
        ("before", card.before, before),
        ("second", card.second, ""),
        ("margin", card.margin, ""),
        ("after", card.after, after),
    )
    row = Markup('<dt>{0}</dt><dd><div class="tfa-name" title="{1}">{1}</div>{2}</dd>')
    rows = Markup("").join(row.format(*name) for name in names if name[1])
    image = preview_html(card.preview, card.label, card.example)
    return Markup('<figure class="tfa-card">{}<dl>{}</dl></figure>').format(image, rows)


def short_id(example: str) -> str:
    """Return an id; of a long one only the end, which tells images apart.

    Example:
        >>> short_id("fashion_mnist-test.tfrecord__731")
        '….tfrecord__731'
    """
    return example if len(example) <= LONGEST else f"…{example[1 - LONGEST :]}"


def _votes(share: float, members: int, right: bool) -> Markup:
    """Return the bar and the number of the votes for the majority prediction, or for each of several that tie."""
    bar = Markup('<div class="tfa-bar"><span class="{}" style="width: {:.0f}%"></span></div>')
    filled = bar.format("right" if right else "", 100 * share)
    # A single model has no votes to count.
    count = f"{round(share * members)} of {members}" if members > 1 else ""
    return Markup('<div class="tfa-votes">{}{}</div>').format(filled, count)
