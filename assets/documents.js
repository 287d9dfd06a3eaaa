// The Documents page: each click is an event, and the server draws the page anew; files go one a request.
(() => {
  const rtv = (window.rtv = window.rtv || {});
  if (rtv.documentsReady) return;

  const PATH = "/documents/files";
  const DOUBLE = 400; // ms within which the same click counts once
  const SLOW = 30000; // ms after which an unanswered click is said to be so
  const WATCH = 700; // ms between two looks at the work that goes on
  const SURE = 5000; // ms for the second click on what can't be taken back
  let send = null;
  let watched = null;
  let askedAt = -SLOW;
  let waiting = 0;
  let looking = 0;
  let clicked = "";
  let clickedAt = 0;
  let queue = []; // files that wait for their collection
  let sending = false;
  let refused = []; // what was not taken, said until the next files
  let turn = 0; // of the last request
  let wanted = 0; // of the last that waits for its drawing
  let serial = ""; // of the last drawing
  let newest = { turn: 0, opened: "" }; // the drawing that answers the last request of all drawn
  let again = ""; // what to focus after the page was drawn

  const part = () => document.getElementById("rtv-documents-board");
  const work = () => document.getElementById("rtv-documents-work");
  const board = () => part()?.querySelector(".rtv-documents");
  const opened = () => board()?.dataset.opened || "";
  const mebibytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

  function ask(name, data = {}) {
    if (!send || !part()) return;
    turn += 1;
    const mine = turn;
    if (name !== "watch") {
      wanted = mine;
      askedAt = performance.now();
      part().dataset.busy = "1";
      part().setAttribute("aria-busy", "true");
      clearTimeout(waiting);
      waiting = setTimeout(lost, SLOW);
    }
    send(name, () => ({ collection: opened(), turn: mine, ...data }));
  }

  function lost() {
    say(["The server does not answer yet. See whether it still runs, then reload the page."]);
    calm();
  }

  function calm() {
    clearTimeout(waiting);
    delete part().dataset.busy;
    part().removeAttribute("aria-busy");
  }

  // Only the server's own drawings count: what is said of files being sent changes the same part.
  function drawn() {
    if (!board() || board().dataset.serial === serial) return;
    serial = board().dataset.serial;
    const answers = Number(board().dataset.turn);
    if (answers < newest.turn) return ask("show", { collection: newest.opened }); // it came too late
    newest = { turn: answers, opened: opened() };
    if (answers >= wanted) calm();
    address();
    const next = again && part().querySelector(`[data-documents="${again}"]`);
    again = "";
    if (next) next.focus({ preventScroll: true });
    if (queue.length && opened()) sendFiles();
    else if (refused.length) say(refused);
    look();
  }

  // While something is read or built, only its own line is drawn; the page follows when it has ended. An answer
  // that is as the one before changes nothing that could be seen, so looking goes on from each answer too.
  function look() {
    clearTimeout(looking);
    if (!work()?.querySelector("[data-running]") || rtv.page() !== "documents") return;
    looking = setTimeout(() => ask("watch"), WATCH);
  }

  function address() {
    if (rtv.page() !== "documents") return;
    const parameters = new URLSearchParams(location.search);
    if (opened()) parameters.set("collection", opened());
    else parameters.delete("collection");
    history.replaceState(null, "", `${location.pathname}?${parameters}`);
  }

  rtv.onAnswer((name) => name === "watch" && setTimeout(look));

  // Files ---------------------------------------------------------------------------------------------------

  function line() {
    return part()?.querySelector(".drop .sending");
  }

  function say(lines) {
    const list = document.createElement("ul");
    for (const text of lines) {
      const item = document.createElement("li");
      item.className = "rtv-message error";
      item.setAttribute("role", "alert");
      item.textContent = text;
      list.append(item);
    }
    line()?.replaceChildren(list);
  }

  function take(files) {
    const zone = part()?.querySelector(".drop");
    if (!zone || sending || !files.length) return;
    const most = new Map(zone.dataset.most.split(" ").map((pair) => pair.split("=")));
    let room = Number(zone.dataset.room);
    let left = Number(zone.dataset.left);
    refused = [];
    queue = [];
    for (const file of files) {
      const ending = (/\.[^.]*$/.exec(file.name)?.[0] || "").toLowerCase();
      if (!most.has(ending)) refused.push(`${file.name} is of no form that can be read.`);
      else if (!file.size) refused.push(`${file.name} is empty.`);
      else if (file.size > Number(most.get(ending)))
        refused.push(`${file.name} has ${mebibytes(file.size)}; the most is ${mebibytes(Number(most.get(ending)))}.`);
      else if (file.size > room) refused.push(`${file.name} doesn't fit: ${mebibytes(room)} are left.`);
      else if (left < 1) refused.push(`${file.name} is one file too many.`);
      else {
        queue.push(file);
        room -= file.size;
        left -= 1;
      }
    }
    if (!queue.length) say(refused);
    else if (opened()) sendFiles();
    else {
      const name = part().querySelector("[data-name]").value.trim();
      ask("create", { name: name || queue[0].name.replace(/\.[^.]*$/, "") });
    }
  }

  async function sendFiles() {
    if (sending) return;
    sending = true;
    const files = queue;
    queue = [];
    const all = files.reduce((sum, file) => sum + file.size, 0);
    const began = performance.now();
    let before = 0;
    let taken = 0;
    for (const file of files) {
      const progress = (bytes) => meter(file.name, before + bytes, all, began);
      const problem = await sendFile(file, progress);
      if (problem) refused.push(problem.includes(file.name) ? problem : `${file.name}: ${problem}`);
      else taken += 1;
      before += file.size;
    }
    sending = false;
    line()?.replaceChildren();
    if (taken) ask("read");
    else say(refused);
  }

  function meter(name, done, all, began) {
    let bar = line()?.querySelector("progress");
    if (!bar) {
      bar = document.createElement("progress");
      line()?.replaceChildren(document.createElement("p"), bar);
    }
    bar.max = all;
    bar.value = done;
    bar.setAttribute("aria-label", "sent");
    const seconds = (performance.now() - began) / 1000;
    const rate = done / Math.max(seconds, 0.1);
    const left = seconds > 2 ? ` · ${mebibytes(rate)} a second · ${Math.ceil((all - done) / rate)} s left` : "";
    bar.previousSibling.textContent = `Sending ${name} · ${mebibytes(done)} of ${mebibytes(all)}${left}`;
  }

  function sendFile(file, progress) {
    const query = new URLSearchParams({ collection: opened(), name: file.name });
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open("PUT", `${PATH}?${query}`);
      request.upload.onprogress = (event) => progress(event.loaded);
      request.onload = () => resolve(request.status === 201 ? "" : request.responseText || `refused (${request.status})`);
      request.onerror = () => resolve("the connection ended before the whole file was sent. Try again.");
      request.send(file);
    });
  }

  // Clicks --------------------------------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    const button = event.target.closest("#rtv-documents button[data-documents]");
    if (!button || sending || "busy" in part().dataset) return;
    const { documents: name, collection, file, sure } = button.dataset;
    const what = [name, collection, file].join(" ");
    if (clicked === what && performance.now() - clickedAt < DOUBLE) return;
    clicked = what;
    clickedAt = performance.now();
    if (sure && !("asked" in button.dataset)) {
      confirm(button, sure);
      return;
    }
    refused = [];
    again = name;
    const data = {};
    if (collection !== undefined) data.collection = collection;
    if (file !== undefined) data.file = file;
    if (button.dataset.serial) data.serial = Number(button.dataset.serial);
    if (name === "columns") Object.assign(data, columns(button.closest(".columns")));
    ask(name, data);
  });

  function confirm(button, sure) {
    const text = button.textContent;
    button.dataset.asked = "1";
    button.textContent = sure;
    setTimeout(() => {
      delete button.dataset.asked;
      button.textContent = text;
    }, SURE);
  }

  function columns(box) {
    const data = { file: box.dataset.file };
    box.querySelectorAll("select").forEach((select) => (data[select.dataset.column] = select.value));
    return data;
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("#rtv-documents input[data-files]")) take([...event.target.files]);
  });

  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      const page = event.target.closest?.("#rtv-documents");
      if (!page || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      const zone = page.querySelector(".drop");
      zone?.toggleAttribute("data-over", name === "dragenter" || name === "dragover");
      if (name === "drop") take([...event.dataTransfer.files]);
    });
  }

  // Called by the page's bridge; a tab that appears late has its bridge before its parts are on the page.
  rtv.documentsReady = () => {
    send = rtv.toDocuments;
    if (!part() || !work()) {
      setTimeout(rtv.documentsReady, 30);
      return;
    }
    if (watched !== part()) {
      watched = part();
      new MutationObserver(drawn).observe(watched, { childList: true, subtree: true });
      new MutationObserver(look).observe(work(), { childList: true, subtree: true });
    }
    if (rtv.page && rtv.page() === "documents") begin();
  };

  const linked = new URLSearchParams(location.search).get("collection");
  let begun = false;

  function begin() {
    ask("show", !begun && linked ? { collection: linked } : {});
    begun = true;
  }

  // Called once it is known whether the tab is for this person: a link to it may have come too early.
  rtv.documentsShown = () => {
    if (new URLSearchParams(location.search).get("page") !== "documents" || rtv.page() === "documents") return;
    setTimeout(() => document.getElementById("rtv-documents-button")?.click(), 0);
  };

  rtv.onPage((page) => {
    if (page === "documents" && performance.now() - askedAt > 1000) begin();
  });
})();
