// The Experiments page: a link of the list is an event, and the server draws the page from the folder as it is.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.experiments) return;

  const linked = new URLSearchParams(location.search);
  let chosen = (linked.get("page") === "experiments" && linked.get("experiment")) || "";
  let send = null;
  let focus = false; // whether the chosen link had it before the page was drawn anew

  const part = () => document.getElementById("rtv-experiments-part");
  const current = () => part()?.querySelector("nav [aria-current]");

  function show() {
    part()?.setAttribute("aria-busy", "true");
    send?.("experiment", () => ({ name: chosen }));
  }

  function address() {
    if (rtv.page?.() !== "experiments") return;
    const parameters = new URLSearchParams({ page: "experiments" });
    if (chosen) parameters.set("experiment", chosen);
    if (linked.has("__theme")) parameters.set("__theme", linked.get("__theme"));
    history.replaceState(null, "", `${location.pathname}?${parameters}`);
  }

  function drawn() {
    part()?.removeAttribute("aria-busy");
    const link = current();
    if (!link) return;
    chosen = link.dataset.experiment;
    address();
    if (focus) link.focus({ preventScroll: true });
    focus = false;
    const nav = link.closest("nav"); // where the list lies on its side, the chosen one stays in sight
    nav.scrollLeft = link.offsetLeft - nav.offsetLeft - 24;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-experiment]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    chosen = link.dataset.experiment;
    focus = true;
    address();
    show();
  });

  rtv.onPage?.((page) => {
    if (page !== "experiments") return;
    address();
    show();
  });
  rtv.onAnswer?.((name) => name === "experiment" && setTimeout(drawn));

  // Gradio's way to call the server, handed over when the page is there.
  rtv.experiments = (trigger) => {
    send = trigger;
    if (rtv.page?.() === "experiments") show();
  };
})();
