"""Examples that are texts, on cards."""

from tfaudit.analysis.stored_images import Preview, preview_of
from tfaudit.app.exemplar_cards import preview_html


def test_cards_show_an_image_a_text_or_a_box():
    assert (
        str(preview_html(preview_of(b"<i>so</i>"), "cat", "7"))
        == '<p class="tfa-text">&lt;i&gt;so&lt;/i&gt;</p>'
    )
    assert "no image stored<br>7" in preview_html(Preview(), "cat", "7")
    assert preview_html(Preview("data:x", tiny=True), "cat", "7").startswith(
        '<img class="tfa-picture tiny" src="data:x"'
    )
