// Comfort at the desk: comments beside their lines, a countdown, keys. Answers never need it.
(() => {
  "use strict";

  const MOST_AT_ONCE = 3000; // lines that get their control at once; later ones when they are near

  // Comments on lines: a control at every line, the field beside it, notes where they belong.

  const file = () => document.querySelector("#exhibits .file");

  const control = (line) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "add";
    button.textContent = "+";
    button.setAttribute("aria-label", `Comment on line ${line}`);
    button.dataset.at = line;
    return button;
  };

  const equip = (block) => {
    if (block.dataset.equipped) return;
    block.dataset.equipped = "1";
    const host = block.tagName === "TR" ? block.cells[0] : block;
    if (!host) return;
    host.classList.add("commentable");
    host.prepend(control(Number(block.dataset.line)));
  };

  const equipCode = (block) => {
    const code = block.querySelector("code");
    const first = Number(block.dataset.line), last = Number(block.dataset.end);
    if (!code || block.dataset.equipped) return;
    block.dataset.equipped = "1";
    const count = code.textContent.replace(/\n$/, "").split("\n").length;
    const start = last - first + 1 > count ? first + 1 : first; // the fence is a line of its own
    const gutter = document.createElement("div");
    gutter.className = "code-gutter";
    for (let at = 0; at < Math.min(count, MOST_AT_ONCE); at += 1) gutter.append(control(start + at));
    block.classList.add("commentable", "has-gutter");
    block.prepend(gutter);
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      equipAny(entry.target);
    }
  }, { rootMargin: "600px" });

  const equipAny = (block) => (block.querySelector("pre, code") && block.matches(".code, pre, :has(> pre)")
    ? equipCode(block) : equip(block));

  const equipAll = () => {
    const shown = file();
    near.disconnect();
    if (!shown || !shown.dataset.remarks) return;
    const blocks = shown.querySelectorAll("[data-commentable] [data-line], .pair-new [data-line]");
    blocks.forEach((block, at) => {
      // A list or table is commented on by its items.
      if (block.querySelector(":scope [data-line]")) return;
      if (at < MOST_AT_ONCE) equipAny(block); else near.observe(block);
    });
    placeNotes();
  };

  const blockAt = (line) => {
    let best = null;
    for (const block of file()?.querySelectorAll("[data-line][data-end]") ?? []) {
      if (Number(block.dataset.line) <= line && line <= Number(block.dataset.end)) best = block;
    }
    return best;
  };

  const placeNotes = () => {
    const shown = file();
    if (!shown) return;
    const listed = [...document.querySelectorAll("#remarks .remark")];
    const known = new Set(listed.map((remark) => remark.id.slice(7)));
    for (const note of shown.querySelectorAll(".inline-remark")) {
      if (!known.has(note.dataset.remark)) note.remove();
    }
    for (const block of shown.querySelectorAll("[data-remarked]")) delete block.dataset.remarked;
    for (const remark of listed) {
      if (remark.dataset.path !== shown.dataset.path) continue;
      const block = blockAt(Number(remark.dataset.end));
      if (!block) continue;
      block.dataset.remarked = "";
      const id = remark.id.slice(7);
      let note = shown.querySelector(`.inline-remark[data-remark="${id}"]`);
      if (!note) {
        note = document.createElement("div");
        note.setAttribute("role", "note");
        note.className = "inline-remark";
        note.dataset.remark = id;
        beside(block, note);
      }
      const kind = remark.querySelector(".tag"), body = remark.querySelector(".remark-body");
      if (kind && body) note.replaceChildren(kind.cloneNode(true), ` ${body.textContent}`);
    }
  };

  // After the block, where that is allowed; inside an item or a cell otherwise.
  const beside = (block, element) => {
    if (block.matches("li, td, th")) block.append(element);
    else if (block.tagName === "TR") (block.querySelector(".code-line") ?? block.cells[block.cells.length - 1]).append(element);
    else block.after(element);
  };

  const closeForm = () => document.getElementById("remark-form")?.remove();

  const write = (line, end, block, quote) => {
    const shown = file();
    closeForm();
    const slot = document.createElement("div");
    beside(block, slot);
    const query = new URLSearchParams({ path: shown.dataset.path, revision: shown.dataset.revision, line, end_line: end });
    if (quote) query.set("quote", quote.slice(0, 1000));
    htmx.ajax("GET", `${shown.dataset.remarks}?${query}`, { target: slot, swap: "outerHTML" }).then(() => {
      const form = document.getElementById("remark-form");
      form?.querySelector("textarea")?.focus();
    });
  };

  document.addEventListener("click", (event) => {
    const add = event.target.closest?.(".add");
    if (add && file()?.dataset.remarks) {
      event.preventDefault();
      const line = Number(add.dataset.at ?? add.getAttribute("aria-label").match(/\d+/)[0]);
      write(line, line, add.closest("[data-line]"));
    } else if (event.target.closest?.("[data-close]")) {
      closeForm();
    }
  });

  // A selection offers to comment on all its lines.

  let offer = null;
  const withdraw = () => { offer?.remove(); offer = null; };
  const lineOf = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("[data-line]");

  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    const shown = file();
    if (!shown?.dataset.remarks || selection.isCollapsed || selection.rangeCount === 0) return withdraw();
    const range = selection.getRangeAt(0);
    const from = lineOf(range.startContainer), to = lineOf(range.endContainer);
    if (!from || !to || !shown.contains(from) || !shown.contains(to)) return withdraw();
    const line = Number(from.dataset.line), end = Math.max(line, Number(to.dataset.end));
    const place = range.getBoundingClientRect();
    withdraw();
    offer = document.createElement("button");
    offer.type = "button";
    offer.className = "button select-bar";
    offer.dataset.weight = "main";
    offer.textContent = line === end ? `Comment on line ${line}` : `Comment on lines ${line}–${end}`;
    const quote = String(selection);
    offer.addEventListener("pointerdown", (event) => event.preventDefault());
    offer.addEventListener("click", () => { withdraw(); selection.removeAllRanges(); write(line, end, to, quote); });
    document.body.append(offer);
    // Attributes of the element's own style are scripts' business; the policy forbids only markup.
    offer.style.left = `${Math.max(8, place.left + scrollX)}px`;
    offer.style.top = `${place.bottom + scrollY + 6}px`;
  });

  // The undo time, counted down; the server decides when it is over.

  const countDown = () => {
    for (const place of document.querySelectorAll("[data-countdown]")) {
      const left = Math.ceil((Date.parse(place.dataset.countdown) - Date.now()) / 1000);
      place.textContent = left > 0 ? `${left} s` : "a moment";
    }
  };
  setInterval(countDown, 250);

  // Drafts

  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt.id !== "draft") return;
    event.detail.elt.textContent = event.detail.successful ? "Kept as a draft." : "The draft could not be kept.";
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "remarks") closeForm();
  });

  // Keys: an option is armed by its number, and given by Enter on the button that now has the focus.

  const disarm = () => document.querySelectorAll("[data-armed]").forEach((button) => button.removeAttribute("data-armed"));

  const arm = (number) => {
    const button = document.querySelector(`#options [data-key="${number}"]`);
    if (!button) return false;
    disarm();
    button.dataset.armed = "";
    button.focus();
    return true;
  };

  const act = (key) => {
    if (/^[1-9]$/.test(key)) return arm(key);
    const wanted = { c: "#answer textarea", n: "[data-next]" }[key];
    const found = wanted && document.querySelector(wanted);
    if (!found) return false;
    if (key === "c") found.focus(); else found.click();
    return true;
  };

  document.addEventListener("shortcut", (event) => { if (act(event.detail)) event.preventDefault(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { disarm(); closeForm(); withdraw(); }
  });
  document.addEventListener("focusout", (event) => event.target.removeAttribute?.("data-armed"));

  // Copying

  const offerCopies = () => {
    if (!navigator.clipboard) return;
    for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const label = button.querySelector("span");
    try {
      const answer = await fetch(button.dataset.copy);
      await navigator.clipboard.writeText(await answer.text());
      label.textContent = "Copied";
    } catch {
      label.textContent = "Could not copy";
    }
    setTimeout(() => { label.textContent = "Copy"; }, 2000);
  });

  const refresh = () => {
    equipAll();
    offerCopies();
    countDown();
    document.querySelectorAll("[data-close][hidden]").forEach((button) => { button.hidden = false; });
  };
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
})();
