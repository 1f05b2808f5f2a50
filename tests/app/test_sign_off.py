"""A person accepts or rejects a variant on its page; a read-only viewer shows the decision and takes none."""

import pytest

from tests.builders.pages import HARMED, draw_read_only, words
from tests.builders.studies import make_study
from tfaudit.store.sign_offs import read_sign_offs


@pytest.mark.slow
def test_a_decision_is_stored_and_shown(tmp_path, open_page, app_test):
    directory = make_study(tmp_path).directory
    app = open_page(directory, "classes", **HARMED)
    for label, text in (("Name", "Ann"), ("Note", "loses `cats`")):
        next(box for box in app.text_input if box.label == label).set_value(text)
    sign(app)
    assert "decision: got ''" in words(app)  # none was chosen
    assert not read_sign_offs(directory)
    next(box for box in app.radio if box.label == "Decision").set_value("rejected")
    sign(app)
    (signed,) = read_sign_offs(directory).values()
    assert (signed.variant, signed.decision, signed.by) == ("magnitude-0.9", "rejected", "Ann")
    assert "rejected by Ann" in words(app)

    shown = app_test.from_function(draw_read_only, args=(str(directory), "classes"))
    shown.query_params["variant"] = HARMED["variant"]
    shown.run(timeout=60)
    assert "rejected by Ann" in words(shown)
    assert "Sign" not in [button.label for button in shown.button]


def sign(app):
    next(button for button in app.button if button.label == "Sign").click().run()
