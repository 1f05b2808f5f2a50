"""The first page of the viewer, run by Streamlit's own test harness."""

import pytest

from tests.report.conftest import make_study

testing = pytest.importorskip("streamlit.testing.v1")


def run(*arguments):
    def script(arguments):
        from tfaudit.app.viewer import page

        page(arguments)

    return testing.AppTest.from_function(script, args=(list(arguments),), default_timeout=30).run()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("viewed")).directory


def test_shows_the_study(directory):
    app = run(str(directory))
    assert not app.exception
    assert not app.error
    assert app.title[0].value == "What compression forgets: small"
    assert [box.label for box in app.selectbox] == ["Split", "Variant"]
    assert list(app.table[0].value["variant"]) == ["dense", "magnitude 90 %", "fixed-point int8"]
    assert app.selectbox[1].options == ["magnitude 90 %", "fixed-point int8"]
    before = app.dataframe[0].value
    app.selectbox[1].set_value("int8").run()
    assert not app.exception
    assert not app.dataframe[0].value.equals(before)


def test_single_members(tmp_path):
    app = run(str(make_study(tmp_path, members=1).directory))
    assert not app.exception
    assert "nothing to test per class" in app.info[0].value


@pytest.mark.parametrize(
    ("arguments", "message"), [(["/nowhere"], "directory: /nowhere holds no study"), ([], "directory: 0 given")]
)
def test_errors_are_one_line(arguments, message):
    app = run(*arguments)
    assert not app.exception
    assert app.error[0].value.startswith(message)
    assert "\n" not in app.error[0].value
