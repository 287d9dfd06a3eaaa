// Kept questions: going from one to the next by button or key, and presenting them without judging.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  // The server reads the last one too, where a link names it twice.
  rtv.presenting = new URLSearchParams(location.search).getAll("present").at(-1) === "1";
  document.documentElement.classList.toggle("rtv-present", rtv.presenting);

  const NEXT = ["ArrowRight"];
  const PREVIOUS = ["ArrowLeft"];
  if (rtv.presenting) {
    NEXT.push("n", "PageDown"); // the page keys are what a presenter's remote sends
    PREVIOUS.push("p", "PageUp");
  }

  function turn(by) {
    const button = document.querySelector(`.rtv-place [data-by="${by}"]`);
    if (button && !button.disabled) rtv.send?.("turn", { to: Number(button.dataset.turn) });
  }

  // The same view with or without judging: tau and candidate stay.
  function present(on) {
    const parameters = new URLSearchParams(location.search);
    parameters.delete("present");
    if (on) parameters.set("present", "1");
    location.assign(`${location.pathname}?${parameters}`);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".rtv-place [data-turn]");
    const link = event.target.closest(".rtv-place a[data-present]");
    if (button) turn(Number(button.dataset.by));
    else if (link && !(event.ctrlKey || event.metaKey || event.shiftKey) && link.search.length > 1) {
      event.preventDefault();
      present(link.dataset.present === "1");
    }
  });

  // Fields, sliders and tabs have these keys for themselves; letters mean nothing to a slider.
  const taken = (element, key) =>
    element &&
    (element.isContentEditable || element.matches("input, textarea, select, [role=tab]")) &&
    !(key.length === 1 && element.matches("[type=range], [type=radio], [type=checkbox]"));

  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const page = document.getElementById("rtv-progress");
    if (taken(document.activeElement, event.key) || !page?.offsetParent || document.querySelector("dialog[open]")) return;
    const by = NEXT.includes(event.key) ? 1 : PREVIOUS.includes(event.key) ? -1 : 0;
    if (!by || !document.querySelector(".rtv-place [data-turn]")) return;
    event.preventDefault();
    turn(by);
  });
})();
