"""The visitor's choices, which the URL holds: a link shows what its sender sees, and Back undoes one choice.

The URL is the only place of a choice: a control shows what the URL says, a click changes the URL. So every link, every
entry of the menu and the button Back carry all choices with them. What the URL says wrongly is named on the page.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from tfaudit.app.markdown import escape
from tfaudit.audits.gate.limits import FLAGS
from tfaudit.errors import InputError, listed

T = TypeVar("T")

STUDY_INDEPENDENT = ("study", *FLAGS.values())
"""Parameters that keep their meaning in another study."""

PARAMETERS = frozenset(
    (
        "split",
        "variant",
        "class",
        "image",
        "zoom",
        "corruption",
        "picture",
        "before",
        "reference",
        "after",
        "question",
        "correction",
        "sort",
        "search",
        "range",
        "published",
        "centering",
        "about",
        "class-page",  # page Classes
        "exemplars",
        "show",
        "from",
        "to",
        "attribute",
        "order",
        "page",  # page Images
        "slice",
        "corruptions",
        "groups",
        "by",
        "property",
        "against",
        "floor",
        "worth",
        "worth-unfairness",
        "worth-accuracy",
        "kind",
        "flips",
        "columns",  # every table
        *STUDY_INDEPENDENT,
    )
)
"""All parameters: one that is not here has a notice."""

GALLERY_PAGES = ("page", "flips", "class-page")
"""Pages of galleries, which mean nothing for another variant or class."""

MOST_NAMED = 8  # options that a notice names at most

_HISTORY = """<script>
if (!window.tfauditHistory) {
  const history = window.history, push = history.pushState.bind(history), replace = history.replaceState.bind(history);
  let acted = false, arrow = false, stepped = false;  // arrow keys in a row are one action
  const act = (event) => {
    acted = true;
    arrow = event.key?.startsWith("Arrow") ?? false;
    stepped &&= arrow;
  };
  for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, act, {capture: true});
  window.addEventListener("popstate", () => { acted = stepped = false; }, {capture: true});
  // A link to the first page would lead to the page it stands on.
  window.addEventListener("pointerover", (event) => {
    const link = event.target.closest?.(".st-key-menu a[href^='?']");
    if (link) link.setAttribute("href", "./" + link.getAttribute("href"));
  }, {capture: true});
  // On a telephone the menu covers the page that it leads to.
  window.addEventListener("click", (event) => {
    if (window.innerWidth <= 768 && event.target.closest?.(".st-key-menu a"))
      document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
  });
  history.pushState = history.replaceState = (state, title, url) => {
    if (url && new URL(url, location.href).href === location.href) return;
    (acted && !stepped ? push : replace)(state, title, url);
    if (acted) stepped = arrow;
    acted = false;
  };
  window.tfauditHistory = true;
}
</script>"""


def one_entry_per_action() -> None:
    """Make the browser's history hold one entry per action of the visitor.

    Streamlit changes the URL in steps, of which each would be an entry: the page, then its parameters.
    """
    st.sidebar.html(_HISTORY, unsafe_allow_javascript=True)


def url_choice(key: str, default: T, read: Callable[[str], T]) -> T:
    """Return the choice that the URL holds; the default if it holds none, or, with a notice, an invalid one.

    Args:
        key: parameter of the URL.
        default: what holds without the parameter.
        read: returns the choice of a text, or raises an `InputError`.
    """
    if key not in st.query_params:
        return default
    try:
        return read(st.query_params[key])
    except InputError as error:
        add_notice(str(error))
        return default


def single_choice(key: str, option: T) -> T:
    """Return the only option of a choice, which needs no control; a link to another has a notice."""
    return url_choice(
        key, option, option_reader(key, {} if option is None else {str(option): option})
    )


def choose(
    control: Callable[..., Any],
    label: str,
    key: str,
    default: T,
    read: Callable[[str], T],
    *,
    write: Callable[[T], str] = str,
    resets: Iterable[str] = (),
    then: Callable[[], None] = lambda: None,
    clearable: bool = False,
    remembered: bool = False,
    **settings: Any,
) -> T:
    """Draw a control of a choice that the URL holds, and return the choice.

    Args:
        control: function of Streamlit that draws the control, such as `st.slider`.
        label: label of the control.
        key: parameter of the URL, and key of the control.
        default: the choice without the parameter.
        read: returns the choice of a text, or raises an `InputError`.
        write: returns the text of a choice.
        resets: parameters that another choice makes meaningless, such as the page of a gallery.
        then: called after a change.
        clearable: whether None is a choice.
        remembered: whether the URL holds the default too once it is chosen, for pages that have another default.
        **settings: further arguments of the control.
    """
    value = url_choice(key, default, read)
    set_control(key, value)

    def store() -> None:
        chosen = st.session_state[key]
        if chosen is None and not clearable:
            return  # the control was drawn again before the browser sent its value
        unsaid = chosen == default and not remembered
        set_choices(**{key: None if unsaid else write(chosen)}, **dict.fromkeys(resets))
        then()

    control(label, key=key, on_change=store, **settings)
    return value


def choose_from(
    control: Callable[..., Any],
    label: str,
    options: Sequence[T],
    key: str,
    default: T | None,
    *,
    write: Callable[[Any], str] = str,
    **settings: Any,
) -> Any:
    """Draw a control of one of the options; see `choose`. Without a default nothing may be chosen."""
    read = option_reader(key, {write(option): option for option in options})
    if default is None:
        settings |= {"index": None, "clearable": True}
    return choose(control, label, key, default, read, write=write, options=options, **settings)


def choose_several(
    label: str,
    options: Sequence[str],
    key: str,
    default: Sequence[str],
    *,
    resets: Iterable[str] = (),
    **settings: Any,
) -> list[str]:
    """Draw a list of which several options can be chosen, and return those; see `choose`."""
    texts = st.query_params.get_all(key)
    known = [text for text in texts if text in options]
    for text in texts:
        # If a list is empty by default, choosing nothing is not a choice.
        if text not in options and (text or not default):
            add_notice(str(_unknown(key, text, options)))
    value = known if known or texts == [""] else list(default)
    set_control(key, value)

    def store() -> None:
        chosen = list(st.session_state[key])
        whole = None if chosen == list(default) else chosen or [""]
        set_choices(**{key: whole}, **dict.fromkeys(resets))

    st.multiselect(label, options, key=key, on_change=store, **settings)
    return value


def option_reader(key: str, options: Mapping[str, T]) -> Callable[[str], T]:
    """Return a function that returns the option of a text, and for another text raises an `InputError`."""

    def read(text: str) -> T:
        if text not in options:
            raise _unknown(key, text, list(options))
        return options[text]

    return read


def number_reader(
    key: str, low: float, high: float, kind: Callable[[str], T]
) -> Callable[[str], T]:
    """Return a function that reads a number within two limits, or raises an `InputError`."""

    def read(text: str) -> T:
        try:
            number: Any = kind(text)
        except ValueError:
            number = None
        if number is None or not (low <= number <= high and math.isfinite(number)):
            raise InputError(key, repr(text), f"{low:,g} to {high:,g}")
        return number

    return read


def set_choices(**choices: str | list[str] | None) -> None:
    """Change choices in the URL; None removes one."""
    for key, text in _with_first_page(choices).items():
        if text is None:
            st.query_params.pop(key, None)
        elif st.query_params.get_all(key) != ([text] if isinstance(text, str) else text):
            st.query_params[key] = text


def drop_study_choices() -> None:
    """Remove the choices that mean nothing in another study."""
    for key in set(st.query_params) - set(STUDY_INDEPENDENT):
        del st.query_params[key]


def link_parameters(**choices: str | list[str] | None) -> dict[str, Any]:
    """Return all choices of the visitor, and some other ones, as the parameters of a link; None removes one."""
    choices = _with_first_page(choices)
    unchanged = {key: st.query_params.get_all(key) for key in st.query_params if key not in choices}
    return unchanged | {key: text for key, text in choices.items() if text is not None}


def _with_first_page(choices: Mapping[str, T]) -> dict[str, T | None]:
    """Return choices; if another variant or class is among them, galleries begin with their first page."""
    turned_back = GALLERY_PAGES if {"variant", "class"} & set(choices) else ()
    return {**dict.fromkeys(turned_back), **choices}


def start_notices() -> None:
    """Begin the notices of a run above the page, with one for each unknown parameter."""
    st.session_state["notices"] = st.container()
    st.session_state["noticed"] = set()
    for key in sorted(set(st.query_params) - PARAMETERS):
        add_notice(f"{key} is not a parameter of this viewer")


def add_notice(text: str) -> None:
    """Say above the page what is wrong in the URL."""
    noticed = st.session_state["noticed"]
    if text in noticed:
        return
    noticed.add(text)
    with st.session_state["notices"]:
        st.warning(escape(f"In the link, {text}."), icon=":material/link_off:")


def set_control(key: str, value: Hashable | list[str]) -> None:
    """Let the control of a key show a value, if it shows another or belongs to another page."""
    state = st.session_state
    page = state.get("shown page")
    if key not in state or state[key] != value or state.get(f"page of {key}") != page:
        state[key] = value
    state[f"page of {key}"] = page


def _unknown(key: str, text: str, options: Sequence[str]) -> InputError:
    expected = (
        listed(options, MOST_NAMED)
        if options
        else "no value, because this study has nothing to choose from"
    )
    return InputError(key, repr(text) if text else "nothing", expected)
