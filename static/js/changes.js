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

  const tidy = () => {
    for (const cell of document.querySelectorAll("#changes .code-note > td:empty")) cell.parentElement.remove();
  };

  document.addEventListener("click", (event) => {
    const add = event.target.closest?.("#changes .add");
    if (!add || !tab().dataset.remarks) return;
    event.preventDefault();
    document.getElementById("remark-form")?.remove();
    tidy();
    const place = add.closest("[data-at]");
    const slot = document.createElement("div");
    row(place, width(place)).append(slot);
    const query = new URLSearchParams({
      path: place.closest(".change").dataset.path, side: place.dataset.side, line: place.dataset.at,
    });
    htmx.ajax("GET", `${tab().dataset.remarks}?${query}`, { target: slot, swap: "outerHTML" }).then(() => {
      const form = document.getElementById("remark-form");
      form?.querySelectorAll("[data-close][hidden]").forEach((button) => { button.hidden = false; });
      form?.querySelector("textarea")?.focus();
    });
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
      const file = tab().querySelector(`.change[data-path="${CSS.escape(remark.dataset.path)}"]`);
      const place = file?.querySelector(`[data-side="${remark.dataset.side}"][data-at="${remark.dataset.end}"]`);
      if (!place) continue;
      let note = tab().querySelector(`.inline-remark[data-remark="${id}"]`);
      if (!note) {
        note = document.createElement("div");
        note.setAttribute("role", "note");
        note.className = "inline-remark";
        note.dataset.remark = id;
        row(place, width(place)).append(note);
      }
      const kind = remark.querySelector(".tag"), body = remark.querySelector(".remark-body");
      if (kind && body) note.replaceChildren(kind.cloneNode(true), ` ${body.textContent}`);
    }
    tidy();
  };

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
