"""Examples that are texts, in the human study and on cards."""

from tfaudit.analysis.stored_images import Preview, preview_of
from tfaudit.app import rating_form
from tfaudit.app.exemplar_cards import preview_html


def test_raters_see_the_text(app_test, monkeypatch):
    def page():
        from tfaudit.app.rating_form import _picture

        _picture(None, 0)

    monkeypatch.setattr(rating_form, "_image", lambda audit, position: b"so <b>kind</b>")
    (shown,) = app_test.from_function(page).run().get("html")
    assert "white-space:pre-line" in shown.proto.body
    assert ">so &lt;b&gt;kind&lt;/b&gt;</p>" in shown.proto.body


def test_cards_show_an_image_a_text_or_a_box():
    assert (
        str(preview_html(preview_of(b"<i>so</i>"), "cat", "7"))
        == '<p class="tfa-text">&lt;i&gt;so&lt;/i&gt;</p>'
    )
    assert "no image stored<br>7" in preview_html(Preview(), "cat", "7")
    assert preview_html(Preview("data:x", tiny=True), "cat", "7").startswith(
        '<img class="tfa-picture tiny" src="data:x"'
    )
