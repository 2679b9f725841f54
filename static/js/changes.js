// Comfort in the code changes: comments beside their lines, files that open where a link leads.
(() => {
  "use strict";

  const tab = () => document.getElementById("changes");

  // Comments on lines

  const row = (place, width) => {
    const line = place.closest("tr");
    let beside = line.nextElementSibling;
    if (!beside?.matches(".code-note")) {
      beside = document.createElement("tr");
      beside.className = "code-note";
      const cell = document.createElement("td");
      cell.colSpan = width;
      beside.append(cell);
      line.after(beside);
    }
    return beside.firstElementChild;
  };

  const width = (place) => (place.closest("[data-split]") ? 4 : 3);

  // A row that holds nothing any more goes.
  const tidy = () => {
    for (const cell of document.querySelectorAll("#changes .code-note > td:empty")) cell.parentElement.remove();
  };

  const placeAt = (path, side, line) => tab()?.querySelector(`.change[data-path="${CSS.escape(path)}"]`)
    ?.querySelector(`[data-side="${side}"][data-at="${line}"]`) ?? null;

  // A selection may span lines of one side; what it replaces is read from the page.
  const textOf = (path, line, end) => {
    const lines = [];
    for (let at = Number(line); at <= Number(end || line); at += 1) {
      lines.push(placeAt(path, "new", at)?.querySelector("code")?.textContent ?? "");
    }
    return lines.join("\n");
  };

  Comments.findIn(({ path, side, line, end_line: end }) => {
    const place = side ? placeAt(path, side, end || line) : null;
    return place && {
      element: place,
      put: (form) => row(place, width(place)).append(form),
      opener: place.querySelector(".add"),
      lines: () => textOf(path, line, end),
    };
  });

  const write = (path, side, line, end) => {
    const fields = { path, revision: "", side, line, end_line: end };
    Comments.write(fields, Comments.placeOf(fields));
    tidy();
  };

  document.addEventListener("click", (event) => {
    const add = event.target.closest?.("#changes .add");
    if (!add || !tab().dataset.remarks) return;
    event.preventDefault();
    const { side, at: line } = add.closest("[data-at]").dataset;
    write(add.closest(".change").dataset.path, side, line, line);
  });

  // Of one file and side, and with no line between them that is not shown.
  Comments.pickIn(({ startContainer, endContainer, endOffset }) => {
    const [from, to] = [startContainer, endContainer].map((node) => Comments.around(node, "#changes [data-at]"));
    const file = from?.closest(".change"), side = from?.dataset.side;
    if (!tab()?.dataset.remarks || !file?.contains(to) || to.dataset.side !== side) return null;
    const line = Number(from.dataset.at);
    // A whole line ends where the next one begins.
    const end = Number(to.dataset.at) - (from !== to && endOffset === 0 ? 1 : 0);
    const shown = new Set([...file.querySelectorAll(`[data-side="${side}"]`)].map(({ dataset }) => Number(dataset.at)));
    for (let at = line; at <= end; at += 1) if (!shown.has(at)) return null;
    return { line, end, side, write: () => write(file.dataset.path, side, line, end) };
  });

  // The list beside the decision is the truth; what stands beside lines follows it.
  const placeNotes = () => {
    if (!tab()) return;
    const listed = [...document.querySelectorAll("#remarks .remark[data-side]:not([data-side=''])")];
    const known = new Set(listed.map((remark) => remark.id.slice(7)));
    for (const note of tab().querySelectorAll(".inline-remark")) {
      if (!known.has(note.dataset.remark)) note.remove();
    }
    for (const remark of listed) {
      const id = remark.id.slice(7);
      const place = placeAt(remark.dataset.path, remark.dataset.side, remark.dataset.end);
      if (!place) continue;
      let note = tab().querySelector(`.inline-remark[data-remark="${id}"]`);
      if (!note) {
        note = document.createElement("div");
        note.setAttribute("role", "note");
        note.className = "inline-remark";
        note.dataset.remark = id;
        row(place, width(place)).append(note);
      }
      Comments.tellIn(note, remark);
    }
    tidy();
  };

  // Unified or side by side: the choice holds for every request.
  document.addEventListener("click", (event) => {
    const chosen = event.target.closest?.("#changes [data-layout]");
    if (chosen) document.cookie = `layout=${chosen.dataset.layout}; path=/; samesite=lax; max-age=31536000`;
  });

  // A link to a file opens it; what was viewed closes.

  const reach = () => {
    const named = location.hash.startsWith("#change-") && document.getElementById(location.hash.slice(1));
    if (named?.tagName === "DETAILS") named.open = true;
  };

  document.addEventListener("change", (event) => {
    const box = event.target.closest?.(".viewed input[type=checkbox]");
    if (!box) return;
    const file = box.closest(".change");
    file.toggleAttribute("data-viewed", box.checked);
    file.querySelector("details").open = !box.checked;
  });

  document.addEventListener("DOMContentLoaded", reach);
  addEventListener("hashchange", reach);
  document.addEventListener("htmx:afterSettle", placeNotes);
  document.addEventListener("htmx:afterSwap", () => setTimeout(tidy));
})();
