"""The verdict on every variant: headline, alerts, limits that a visitor may change, rows that lead to the classes."""

import contextlib
import tempfile
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.components.v2 import component

from tfaudit.analysis.recommendation import Recommendation, recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.analysis.study_data import BASELINE
from tfaudit.app.controls import variant_labels
from tfaudit.app.display import go_to_later, page_colours, show_notes, show_table
from tfaudit.app.limits import choose_limits, say_limits
from tfaudit.app.url_state import link_parameters
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.errors import InputError
from tfaudit.outlets.gate_files import json_verdicts
from tfaudit.outlets.html import report_html
from tfaudit.outlets.markdown import study_markdown
from tfaudit.outlets.registry import EXPORTS
from tfaudit.outlets.verdict_table import headline_html, verdict_html

# A row is a link, so that it opens in a new tab and by keyboard; a plain click stays in this session.
_CLICKS = """
export default function({ parentElement, data, setTriggerValue }) {
  const box = parentElement.querySelector(".first");
  box.style.cssText = data.colours;
  box.innerHTML = data.content;
  for (const row of box.querySelectorAll("tr[data-variant]")) {
    row.onclick = (event) => {
      if (event.target.closest("details")) return;
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      setTriggerValue("variant", row.dataset.variant);
    };
  }
}
"""

_STYLE = (files("tfaudit.outlets") / "verdict.css").read_text()
_PRINTER = threading.Lock()  # a browser needs much memory: one at a time
_TABLE = component("tfaudit.verdict", html='<div class="first"></div>', css=_STYLE, js=_CLICKS)


def show_verdict(study_audit: StudyAudit) -> None:
    """Draw the verdict and what to ship, then the limits of the visitor and the table."""
    answer = st.container()
    controls = st.container(horizontal=True, gap="small", vertical_alignment="center")
    with controls:
        limits = choose_limits(study_audit)
    verdict = study_audit.verdict(limits)
    advice = recommendation(study_audit, verdict)
    with answer:
        content = headline_html(verdict, advice)
        st.html(f'<style>{_STYLE}</style><div style="{page_colours()}">{content}</div>')
    with controls:
        if advice:
            _offer_files(study_audit, verdict, advice)
        say_limits(limits)
    labels = {key: label for key, label in variant_labels(study_audit).items() if key != BASELINE}
    pages = {key: "classes" if key in study_audit.summary.impacts else "compare" for key in labels}
    hrefs = {
        key: f"{pages[key]}?{urlencode(link_parameters(variant=label), doseq=True)}"
        for key, label in labels.items()
    }
    content = verdict_html(verdict, hrefs)

    def opened() -> None:  # before the page is drawn again
        key = st.session_state["verdict"].variant
        if key in labels:
            go_to_later(pages[key], variant=labels[key])

    data = {"content": str(content), "colours": page_colours()}
    _TABLE(data=data, key="verdict", on_variant_change=opened)
    if len(groups := verdict.groups_frame()):
        with st.expander("Named groups"):
            show_table(groups, "verdict-groups", table="verdict groups")
    show_notes(verdict.notes)


def _offer_files(study_audit: StudyAudit, verdict: StudyVerdict, advice: Recommendation) -> None:
    """Draw the downloads of the file and of the evidence, which are made on a click, and the verdict to copy."""
    limits = verdict.limits
    name = study_audit.data.study.name
    names = study_audit.data.study.names
    named = {names[key]: one for key, one in verdict.verdicts.items()}
    files: dict[str, tuple[str, Callable[[], bytes]]] = {}
    if advice.path:
        files["Model file"] = (
            f"{advice.variant}{advice.path.suffix}",
            advice.path.read_bytes,
        )
    files |= {
        "Report": (f"{name}.html", lambda: report_html(study_audit, limits).encode()),
        "PDF": (f"{name}.pdf", lambda: _report_pdf(study_audit, limits)),
        "Markdown": (f"{name}.md", lambda: study_markdown(study_audit, limits).encode()),
        "Verdicts": ("gate.json", lambda: json_verdicts(named)),
    }
    if "pdf" not in EXPORTS:
        del files["PDF"]
    for label, (file, content) in files.items():
        look: dict[str, Any] = {
            "icon": ":material/download:",
            "help": f"Download {file}",
            "type": "tertiary",
        }
        if label == "PDF" and not _prints():
            look |= {"disabled": True, "help": "A PDF needs Chromium or Chrome on this machine."}
        st.download_button(label, content, file, key=f"offer {label}", on_click="ignore", **look)
    with st.popover("Copy", icon=":material/content_copy:", type="tertiary", key="copy"):
        st.code(f"{verdict.headline}\n{advice.text}", language=None, wrap_lines=True)


def _prints() -> bool:
    """Return whether a browser of this machine can print."""
    with contextlib.suppress(InputError):
        return bool(EXPORTS["pdf"].content())
    return False


def _report_pdf(study_audit: StudyAudit, limits: Limits) -> bytes:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, _PRINTER:
        page = Path(folder) / "report.html"
        page.write_text(report_html(study_audit, limits), encoding="utf-8")
        return EXPORTS["pdf"].content()(page)  # type: ignore[no-any-return]
