// Comfort while reading: from change to change by a key, one tab stop for all the controls of a
// file, an outline that stays in sight, and a wider page.
(() => {
  "use strict";

  const shown = () => document.getElementById("shown");

  // All controls for comments are one stop for Tab; the arrows move between them.

  const controls = () => [...(shown()?.querySelectorAll(".add") ?? [])];
  let stop = null;

  const takeTurn = (control) => {
    if (stop && stop !== control) stop.tabIndex = -1;
    stop = control;
    control.tabIndex = 0;
  };

  const gather = () => {
    const all = controls();
    for (const control of all) if (control !== stop) control.tabIndex = -1;
    if (all.length && !stop?.isConnected) takeTurn(all[0]);
  };

  document.addEventListener("focusin", (event) => { if (event.target.matches(".add")) takeTurn(event.target); });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !event.target.matches?.(".add") || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = controls().filter((control) => control.checkVisibility());
    const next = all[all.indexOf(event.target) + by];
    event.preventDefault();
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  });

  // From change to change

  const isChanged = (row) => row?.matches('[data-kind="added"], [data-kind="removed"], [data-kind="changed"]')
    || Boolean(row?.querySelector(':scope > [data-kind="added"], :scope > [data-kind="removed"]'));
  const before = (row) => {
    let one = row.previousElementSibling;
    while (one?.matches(".code-note")) one = one.previousElementSibling;
    return one;
  };
  const firsts = (part) => [...part.querySelectorAll(".pair, .hunk tr")]
    .filter((row) => isChanged(row) && !isChanged(before(row)));

  const stops = () => {
    const files = [...(shown()?.querySelectorAll(".change") ?? [])];
    if (!files.length) return shown() ? firsts(shown()) : [];
    return files.filter((file) => !file.matches("[data-viewed]")).flatMap((file) => {
      const inside = file.querySelector("details").open ? firsts(file) : [];
      return inside.length ? inside : [file.querySelector("summary")];
    });
  };

  const isInSight = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };

  let here = null;
  const step = (by) => {
    const all = stops();
    if (!all.length) return false;
    // A file that was opened has other stops than before, so what comes next is asked of the page.
    const from = here?.isConnected && isInSight(here) ? here : null;
    const isAfter = (place) => (from
      ? Boolean(from.compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING)
      : place.getBoundingClientRect().top > 8);
    const next = by > 0 ? all.find(isAfter) ?? all.at(-1)
      : all.findLast((place) => place !== from && !isAfter(place)) ?? all[0];
    document.querySelector("[data-here]")?.removeAttribute("data-here");
    here = next;
    if (next.matches("summary")) next.parentElement.open = true;
    else next.dataset.here = "";
    next.scrollIntoView({ block: "center" });
    const control = next.querySelector(".add");
    (control ?? next).focus({ preventScroll: true });
    if (!control && document.activeElement !== next) {
      next.tabIndex = -1;
      next.focus({ preventScroll: true });
    }
    return true;
  };

  // Lines of a file above that arrive late push the change out of sight.
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (!detail.target?.matches(".change-body") || !here?.contains(document.activeElement)) return;
    if (!isInSight(here)) here.scrollIntoView({ block: "center" });
  });

  // Wide

  const WIDE = "width=wide";
  const isWide = () => document.documentElement.dataset.width === "wide";
  const showWide = () => {
    for (const button of document.querySelectorAll("[data-widen]")) {
      button.hidden = false;
      button.setAttribute("aria-pressed", String(isWide()));
    }
  };
  const widen = () => {
    if (isWide()) delete document.documentElement.dataset.width;
    else document.documentElement.dataset.width = "wide";
    document.cookie = `${WIDE}; path=/; samesite=lax; max-age=${isWide() ? 31536000 : 0}`;
    showWide();
    placeOutline();
  };

  // The outline: a line that stays on top; beside the text where a wide page has room for it.

  const outline = () => shown()?.querySelector(".toc");
  const isBeside = (toc) => getComputedStyle(toc.parentElement).display === "grid";
  const placeOutline = () => {
    const toc = outline();
    if (toc && isBeside(toc)) toc.open = true;
  };
  let marking = 0;
  const mark = () => {
    marking = 0;
    const toc = outline();
    if (!toc) return;
    const links = [...toc.querySelectorAll("a")];
    const passed = links.filter((link) => {
      const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      return heading && heading.getBoundingClientRect().top < 120;
    });
    const now = passed.at(-1) ?? links[0];
    for (const link of links) if (link !== now) link.removeAttribute("aria-current");
    now?.setAttribute("aria-current", "true");
    const name = toc.querySelector("[data-section]");
    const title = passed.length ? now.textContent : "";
    if (name && name.textContent !== title) name.textContent = title;
  };
  addEventListener("scroll", () => { marking ||= requestAnimationFrame(mark); }, { passive: true });
  addEventListener("resize", placeOutline);

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-widen]")) widen();
    const toc = outline();
    if (toc?.open && !isBeside(toc) && (event.target.closest?.(".toc a") || !toc.contains(event.target))) toc.open = false;
  });

  document.addEventListener("shortcut", (event) => {
    const by = { j: 1, k: -1 }[event.detail];
    if (by ? step(by) : event.detail === "w" && document.querySelector("[data-widen]")) {
      if (!by) widen();
      event.preventDefault();
    } else if (event.detail === "t") {
      const other = document.querySelector(".subject-tabs a:not([aria-current])");
      other?.focus();
      other?.click();
      if (other) event.preventDefault();
    } else if (event.detail === "d") {
      const title = document.getElementById("desk-title");
      title?.focus();
      if (title) event.preventDefault();
    }
  });

  const refresh = () => {
    gather();
    showWide();
    placeOutline();
    mark();
  };
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
})();
