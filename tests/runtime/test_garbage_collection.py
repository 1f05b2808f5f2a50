from types import SimpleNamespace

import pytest

from tfaudit.runtime import garbage_collection


@pytest.mark.parametrize(
    ("frozen", "expected"),
    [(0, ["freeze", "collect", "unfreeze"]), (5, [])],
    ids=["none", "the caller's"],
)
def test_objects_that_the_caller_froze_stay_frozen(monkeypatch, frozen, expected):
    calls = []
    names = ("freeze", "collect", "unfreeze")
    freezing = {name: lambda name=name: calls.append(name) for name in names}
    monkeypatch.setattr(
        garbage_collection, "gc", SimpleNamespace(get_freeze_count=lambda: frozen, **freezing)
    )
    with pytest.raises(ZeroDivisionError), garbage_collection.skip_existing_objects():
        1 / 0
    assert calls == expected
