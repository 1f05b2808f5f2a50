// Keys of the rating form. A key answers the question that follows the last key, at once and in order; the server may
// be slower. After the last question of an image keys are let go until the next image is drawn: none answers for an
// image that nobody has seen.
export default function ({ parentElement, data, setStateValue }) {
  const typing = (parentElement.typing ??= { id: Math.random().toString(36).slice(2), count: 0, sent: [] });
  typing.sent = typing.sent.filter(([number]) => number > (data.taken[typing.id] ?? 0));
  if (typing.image !== data.image || !typing.sent.length) {
    typing.image = data.image;
    typing.next = data.step;
  }
  const press = (event) => {
    const key = event.key.toLowerCase();
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !data.keys.includes(key)) return;
    if (event.composedPath().some((part) => part.matches?.("input, textarea, select, [contenteditable=true]"))) return;
    if (typing.next >= data.end) return;
    event.preventDefault();
    typing.count += 1;
    typing.sent.push([typing.count, typing.next, key]);
    typing.next += 1;
    setStateValue("typed", { id: typing.id, study: data.study, rater: data.rater, keys: typing.sent.slice() });
  };
  document.removeEventListener("keydown", typing.press);
  typing.press = press;
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}
