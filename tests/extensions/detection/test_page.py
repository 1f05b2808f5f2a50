"""The page of the documentation: its Python and its command run as they stand."""

import re
import shlex
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_runs(tfaudit, capsys):
    text = (DOCS / "detection.md").read_text()
    (script,) = re.findall(r"```{literalinclude} (\S+)", text)
    names = {}
    exec(compile((DOCS / script).read_text(), script, "exec"), names)
    (command,) = re.findall(
        r"^    tfaudit (detect --coco truth.json (?:.*\\\n)+.*)", text, flags=re.MULTILINE
    )
    assert names["result"].table["change_pp"][0] < -10
    assert capsys.readouterr().out.endswith("fail\n")
    command = command.replace("\\\n", "").replace("--group occluded --images photos", "")
    code, printed, _ = tfaudit(*shlex.split(command))
    assert code == 1
    assert "int8: FAIL, 200 examples" in printed
    assert "Boxes that compression loses" in Path("report.html").read_text()
