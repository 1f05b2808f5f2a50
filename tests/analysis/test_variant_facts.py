"""What the table and the notes of a study say of its members."""

import pytest

from tests.builders.studies import make_study
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.errors import InputError


def test_facts_of_the_members(store):
    table = StudyAudit.read(store).audit.frame().set_index("variant")
    assert list(table["title"]) == ["dense", "magnitude 90 %", "fixed-point int8"]
    assert list(table["family"]) == ["dense", "pruning", "quantization"]
    assert list(table["bytes"]) == [10_000, 5_000, 3_333]
    assert table.loc["magnitude-0.9", "sparsity"] == 0.9
    assert table["sparsity"].isna().tolist() == [False, False, True]
    assert table.loc["magnitude-0.9", "top1"] == store.predictions("magnitude-0.9").accuracy().mean()


def test_quantized_members_are_paired_with_their_parents(store):
    audit = StudyAudit.read(store).audit
    assert {key: found.paired for key, found in audit.chances.items()} == {"magnitude-0.9": False, "int8": True}
    assert audit.chances["int8"].pies.permutations == 2**4
    assert not StudyAudit.read(store, permutations=0).audit.chances


def test_missing_members_are_noted(tmp_path):
    store = make_study(tmp_path, missing={("int8", 0), ("int8", 2)})
    audit = StudyAudit.read(store).audit
    assert audit.notes[0] == "fixed-point int8: 2 of 4 members are there; 2 failed (member.json holds the traceback)."
    assert list(audit.frame()["members"]) == [4, 4, 2]


def test_a_variant_without_members_is_noted(tmp_path):
    store = make_study(tmp_path, members=2, missing={("int8", 0), ("int8", 1)})
    audit = StudyAudit.read(store).audit
    assert audit.notes[0].startswith("fixed-point int8: 0 of 2 members are there")
    assert list(audit.exemplars) == ["magnitude-0.9"]


def test_without_a_baseline(tmp_path):
    store = make_study(tmp_path, members=1, missing={("dense", 0)})
    with pytest.raises(InputError, match="no complete dense member"):
        StudyAudit.read(store)


def test_unknown_split(store):
    with pytest.raises(InputError, match=r"split: 'train', predicted in .* are test"):
        StudyAudit.read(store, "train")
