// Walks a list of rows with the keyboard; the focus is the selection, so Enter opens by itself.
(() => {
  "use strict";

  const links = () => [...document.querySelectorAll(".rows .row-link")];
  let last = ""; // the id of the row selected last, also while the focus is elsewhere

  const select = (link) => {
    if (!link) return;
    link.focus({ preventScroll: true, focusVisible: true });
    link.closest(".row").scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("focusin", (event) => {
    const link = event.target.closest(".row-link");
    if (link) last = link.id;
  });

  document.addEventListener("shortcut", (event) => {
    if (event.detail !== "j" && event.detail !== "k") return;
    const all = links();
    const at = all.findIndex((link) => link.id === last);
    const to = at < 0 ? 0 : at + (event.detail === "j" ? 1 : -1);
    select(all[Math.min(Math.max(to, 0), all.length - 1)]);
    event.preventDefault();
  });

  // From the search into what it found.
  let entering = false;
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "q" || event.isComposing) return;
    if (event.key === "ArrowDown") {
      event.preventDefault();
      select(links()[0]);
    } else if (event.key === "Enter") {
      entering = true;
    } else if (event.key === "Escape" && !event.target.value) {
      event.target.blur();
    }
  });

  // News replaces the whole list. What was in sight stays where it was, and when the selected
  // request is gone the one that took its place is selected.
  const isList = (event) => event.detail.target?.id === "inbox";
  let kept = null;
  let choosing = false; // a chip was clicked, and its answer is on the way
  document.addEventListener("click", (event) => {
    if (event.target.closest(".chip[hx-get]")) choosing = true;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isList(event) || !event.detail.shouldSwap) return;
    // News would take away the chip whose request waits for its turn.
    if (choosing && event.detail.requestConfig.elt.id === "inbox") {
      event.detail.shouldSwap = false;
      return;
    }
    choosing = false;
    const all = links();
    const focused = all.indexOf(document.activeElement);
    const anchor = all[focused] || all.find((link) => link.getBoundingClientRect().bottom > 0);
    kept = { focused, id: anchor?.id, top: anchor?.getBoundingClientRect().top };
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (!isList(event) || !kept) return;
    const { focused, id, top } = kept;
    kept = null;
    const all = links();
    const anchor = window.scrollY > 0 && id ? document.getElementById(id) : null;
    if (anchor) window.scrollBy(0, anchor.getBoundingClientRect().top - top);
    if (focused >= 0 && !all.includes(document.activeElement)) {
      select(all[Math.min(focused, all.length - 1)]);
    }
    if (entering) select(all[0]);
    entering = false;
  });

  // The button says how many runs are selected.
  const count = () => {
    const place = document.querySelector("#selection [data-count]");
    if (place) place.textContent = document.querySelectorAll('[name="runs"]:checked').length || "";
  };
  for (const name of ["change", "htmx:afterSettle"]) document.addEventListener(name, count);
  addEventListener("pageshow", count); // the browser brings ticks back

  // A list of choices that is open stays as it is.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (event.detail.target === document.activeElement) event.detail.shouldSwap = false;
  });
})();
