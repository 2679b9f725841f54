// Comfort at the desk: comments beside their lines, a countdown, keys. Answers never need it.
window.Comments = (() => {
  "use strict";

  const MOST_AT_ONCE = 200; // blocks that get their control at once; later ones when they are near
  const LONGEST_CODE = 3000; // lines of a code block with a control each

  // Comments on lines: a control at every line, the field beside it, notes where they belong.

  const file = () => document.querySelector("#exhibits .file");

  const control = (line) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "add";
    button.textContent = "+";
    button.setAttribute("aria-label", `Comment on line ${line}`);
    button.dataset.at = line;
    button.tabIndex = -1; // reading.js makes one of them a stop
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
    for (let at = 0; at < Math.min(count, LONGEST_CODE); at += 1) gutter.append(control(start + at));
    block.classList.add("commentable", "has-gutter");
    block.prepend(gutter);
    // Each control is as high as its line, however the code is set.
    gutter.style.top = `${code.offsetTop}px`;
    gutter.style.height = `${code.offsetHeight}px`;
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      equipAny(entry.target);
      letKeysScroll(entry.target);
    }
  }, { rootMargin: "600px" });

  // Controls are no stops of their own: without this, keys could not scroll a part that holds them.
  const SCROLLED = "pre, table, .has-gutter, .pair-old, .pair-new";
  const letKeysScroll = (part) => {
    const inside = [...part.querySelectorAll(SCROLLED)].concat(part.matches(SCROLLED) ? [part] : []);
    for (const one of inside) one.toggleAttribute("tabindex", false);
    for (const one of inside.filter((each) => each.scrollWidth > each.clientWidth)) one.tabIndex = 0;
  };
  // How wide a part is shows when it is laid out, and that may be long after the page was loaded.
  document.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
    if (!skipped) letKeysScroll(target);
  }, true);
  addEventListener("resize", () => { if (file()) letKeysScroll(file()); });

  const equipAny = (block) => (block.querySelector("pre, code") && block.matches(".code, pre, :has(> pre)")
    ? equipCode(block) : equip(block));

  const equipAll = () => {
    const shown = file();
    near.disconnect();
    if (shown) letKeysScroll(shown);
    if (!shown?.dataset.remarks) return;
    const blocks = shown.querySelectorAll("[data-commentable] [data-line], .pair-new [data-line]");
    blocks.forEach((block, at) => {
      // A list or table is commented on by its items.
      if (block.querySelector(":scope [data-line]")) return;
      if (at < MOST_AT_ONCE) equipAny(block); else near.observe(block);
    });
    letKeysScroll(shown);
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
      if (remark.dataset.side || remark.dataset.path !== shown.dataset.path) continue;
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
      tellIn(note, remark);
    }
  };

  const tellIn = (note, remark) => {
    const kind = remark.querySelector(".tag"), body = remark.querySelector(".remark-body");
    const suggested = remark.querySelector(".suggested")?.cloneNode(true) ?? "";
    if (kind && body) note.replaceChildren(kind.cloneNode(true), ` ${body.textContent}`, suggested);
  };

  // After the block, where that is allowed; inside an item or a cell otherwise.
  const beside = (block, element) => {
    if (block.matches("li")) block.append(element);
    else if (block.querySelector(":scope > .code-line")) block.querySelector(".code-line").append(element);
    // Inside a table of a document it would push the columns about.
    else if (block.closest("table")) block.closest("table").after(element);
    else block.after(element);
  };

  // The field for a comment. Whatever is begun in it is part of the draft; only Discard drops it.

  const openForm = () => document.querySelector(".remark-form:not(template *)");
  const isSuggestion = (form) => form.elements.kind.value === "suggestion";
  const isWritten = (form) => Boolean(form.elements.body.value.trim())
    || (isSuggestion(form) && form.elements.replacement.value !== (form.dataset.lines ?? ""));

  // Where a comment can be written. Each finder turns the fields of its form into a place, if that
  // is on the page: { element, put(form), opener, lines() }. The code changes add their own.
  const finders = [];
  const placeOf = (fields) => finders.map((find) => find(fields)).find(Boolean) ?? null;
  const places = new WeakMap(); // of the forms that are open

  const begunIn = (form) => {
    if (!isWritten(form)) return "";
    const fields = Object.fromEntries([...new FormData(form)].filter(([name]) => !["csrfmiddlewaretoken", "begun"].includes(name)));
    if (form.dataset.remark) fields.remark = form.dataset.remark;
    return JSON.stringify(fields);
  };

  const noteBegun = (form) => {
    const name = form.elements.begun;
    if (!name.value && !isWritten(form)) return;
    name.value ||= Drafts.name();
    Drafts.typed(name.value, begunIn(form));
  };

  const closeForm = ({ back = true } = {}) => {
    const form = openForm();
    if (!form) return;
    const opener = form.dataset.remark ? document.querySelector(`#remark-${form.dataset.remark} a.link`)
      : (places.get(form) ?? placeOf(Object.fromEntries(new FormData(form))))?.opener;
    form.closest(".is-edited")?.classList.remove("is-edited");
    form.remove();
    showBegun();
    if (back) opener?.focus();
  };

  const discardForm = () => {
    const name = openForm()?.elements.begun.value;
    closeForm();
    if (name) Drafts.discard(name);
  };

  const formFrom = (id, action) => {
    const made = document.getElementById(id)?.content.querySelector("form").cloneNode(true);
    if (!made) return null;
    if (action) {
      made.action = action;
      made.setAttribute("hx-post", action);
    }
    for (const button of made.querySelectorAll("[hidden]:is([data-close], [data-discard])")) button.hidden = false;
    made.elements.csrfmiddlewaretoken.value = document.querySelector('input[name="csrfmiddlewaretoken"]').value;
    return made;
  };

  const put = (form, fields) => {
    for (const [name, value] of Object.entries(fields)) {
      const field = form.elements.namedItem(name);
      if (field) field.value = value;
    }
  };

  // The lines a suggestion begins with, read from the file as it is shown; once for each revision.
  const texts = new Map();
  const textOf = (address) => {
    if (!texts.has(address)) {
      texts.set(address, fetch(address).then((answer) => (answer.ok ? answer.text() : "")).catch(() => ""));
    }
    return texts.get(address);
  };

  const linesOfFile = async (line, end) => {
    const address = file()?.querySelector("[data-copy]")?.dataset.copy;
    const lines = address ? (await textOf(address)).replaceAll("\r\n", "\n").split("\n") : [];
    return lines.slice(line - 1, end).join("\n");
  };

  const offerLines = async (form) => {
    const { replacement } = form.elements;
    const place = places.get(form);
    if (!isSuggestion(form) || replacement.value || form.dataset.lines || !place) return;
    form.dataset.lines = await place.lines();
    if (!replacement.value) replacement.value = form.dataset.lines;
  };

  const seeWhole = (form) => form.scrollIntoView({ block: "nearest" });

  const open = (form) => {
    htmx.process(form);
    Drafts.show(); // whether it is saved, inside the form too
    seeWhole(form);
    const field = form.elements.body;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    showBegun();
  };

  const spoken = (line, end, side = "") => {
    const old = side === "old" ? "old " : "";
    return Number(line) === Number(end || line) ? `${old}line ${line}` : `${old}lines ${line}–${end}`;
  };

  const isThere = (begun, wanted) => !begun.remark && ["path", "side", "line", "end_line"]
    .every((name) => String(begun[name] || (name === "end_line" ? begun.line : "")) === String(wanted[name] ?? ""));

  const write = (fields, place, begun = null) => {
    closeForm({ back: false });
    const form = formFrom("remark-template");
    if (!form || !place) return;
    begun ??= Drafts.begun().find((one) => isThere(one.fields, fields)) ?? null;
    put(form, fields);
    // Only what is there now can be replaced.
    if (fields.side === "old") form.querySelector('[name="kind"][value="suggestion"]').closest("div").remove();
    if (begun) put(form, { ...begun.fields, begun: begun.name });
    form.querySelector("label[for]").textContent = `Comment on ${spoken(fields.line, fields.end_line, fields.side)}`;
    places.set(form, place);
    place.put(form);
    open(form);
  };

  const inFile = (line, end, block) => ({
    element: block,
    put: (form) => beside(block, form),
    opener: file().querySelector(`.add[aria-label="Comment on line ${line}"]`),
    lines: () => linesOfFile(line, end),
  });
  const writeInFile = (line, end, block, quote = "") => {
    const { path, revision } = file().dataset;
    write({ path, revision, side: "", line, end_line: end, quote: quote.slice(0, 1000) }, inFile(line, end, block));
  };
  finders.push(({ path, side, line, end_line: end }) => {
    const block = !side && file()?.dataset.path === path ? blockAt(Number(end || line)) : null;
    return block && inFile(Number(line), Number(end || line), block);
  });

  const edit = (remark, begun = null) => {
    closeForm({ back: false });
    const form = formFrom("change-template", remark.querySelector("a.link").href);
    const pk = remark.id.slice(7);
    begun ??= Drafts.begun().find(({ fields }) => fields.remark === pk) ?? null;
    form.dataset.remark = pk;
    form.querySelector("label[for]").textContent = `Comment on ${spoken(remark.dataset.line, remark.dataset.end, remark.dataset.side)}`;
    put(form, {
      body: remark.querySelector(".remark-body").textContent,
      kind: remark.querySelector(".tag").dataset.kind,
      replacement: remark.querySelector("pre.suggested")?.textContent ?? "",
    });
    if (begun) put(form, { ...begun.fields, begun: begun.name });
    remark.classList.add("is-edited");
    remark.append(form);
    open(form);
  };

  // Comments that were begun and not added, wherever in the files they belong.

  const action = (label, name, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = label;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
    return button;
  };

  const goOn = ({ name, fields }) => {
    const remark = fields.remark && document.getElementById(`remark-${fields.remark}`);
    const { path, side, line } = fields;
    const place = placeOf(fields);
    if (remark) edit(remark, { name, fields });
    else if (place) write({ ...fields, end_line: fields.end_line || line }, place, { name, fields });
    else if (side) location.assign(`?${new URLSearchParams({ tab: "changes", path, side, line })}#changes`);
    else location.assign(`?${new URLSearchParams({ view: "source", file: path, line })}#L${line}`);
  };

  const begunItem = (begun) => {
    const { name, fields } = begun;
    const remark = fields.remark && document.getElementById(`remark-${fields.remark}`);
    const where = fields.remark
      ? spoken(remark?.dataset.line ?? "?", remark?.dataset.end, remark?.dataset.side)
      : spoken(fields.line, fields.end_line, fields.side);
    const item = document.createElement("li");
    item.className = "remark";
    const place = document.createElement("p");
    place.className = "meta";
    const path = fields.path ? `${fields.path}, ` : "";
    place.textContent = `${fields.remark ? "Edit of " : ""}${path}${where}`;
    const body = document.createElement("p");
    body.className = "remark-body";
    body.dir = "auto";
    body.textContent = fields.body || fields.replacement || "Delete these lines";
    const actions = document.createElement("p");
    actions.className = "remark-actions";
    actions.append(
      action("Continue", `Continue the comment on ${where}`, () => goOn(begun)),
      action("Discard", `Discard the comment on ${where}`, () => Drafts.discard(name)),
    );
    item.append(place, body, actions);
    return item;
  };

  const showBegun = () => {
    const section = document.getElementById("begun");
    if (!section) return;
    const written = openForm()?.elements.begun.value;
    const closed = Drafts.begun().filter(({ name }) => name !== written);
    section.hidden = closed.length === 0;
    section.querySelector(".badge").textContent = closed.length;
    section.querySelector("ol").replaceChildren(...closed.map(begunItem));
    for (const block of document.querySelectorAll("#shown [data-begun]")) delete block.dataset.begun;
    for (const { fields } of closed) {
      const block = fields.remark ? null : placeOf(fields)?.element;
      if (block) block.dataset.begun = "";
    }
  };
  document.addEventListener("drafts", showBegun);

  // Another tab went on with the comment that is open here: typing goes on behind its words.
  document.addEventListener("continued", ({ detail: { name, fields } }) => {
    const form = openForm();
    if (form?.elements.begun.value === name) put(form, fields);
  });

  for (const name of ["input", "change"]) {
    document.addEventListener(name, (event) => {
      const form = event.target.form;
      if (!form?.matches(".remark-form")) return;
      noteBegun(form);
      if (event.target.name !== "kind" || name !== "change") return;
      // By keys one is still among the kinds, and Tab leads on.
      if (isSuggestion(form) && !event.target.matches(":focus-visible")) form.elements.replacement.focus();
      offerLines(form).then(() => seeWhole(form)); // it has grown
    });
  }

  document.addEventListener("click", (event) => {
    const add = event.target.closest?.(".add");
    const change = event.target.closest?.("[data-edit]");
    if (add && file()?.dataset.remarks) {
      event.preventDefault();
      const line = Number(add.dataset.at ?? add.getAttribute("aria-label").match(/\d+/)[0]);
      writeInFile(line, line, add.closest("[data-line]"));
    } else if (change) {
      event.preventDefault();
      edit(change.closest(".remark"));
    } else if (event.target.closest?.("[data-close]")) {
      event.preventDefault();
      closeForm();
    } else if (event.target.closest?.("[data-discard]")) {
      discardForm();
    }
  });

  // A selection offers to comment on all its lines. Each picker turns its range into these lines, if
  // they are its own: { line, end, side?, write(quote) }. The code changes add theirs.

  const pickers = [];
  let offer = null;
  const withdraw = () => { offer?.remove(); offer = null; };
  const around = (node, selector) => (node.nodeType === 1 ? node : node.parentElement)?.closest(selector);

  pickers.push(({ startContainer, endContainer }) => {
    const shown = file();
    const from = around(startContainer, "[data-line]"), to = around(endContainer, "[data-line]");
    if (!shown?.dataset.remarks || !shown.contains(from) || !shown.contains(to)) return null;
    const line = Number(from.dataset.line), end = Math.max(line, Number(to.dataset.end));
    return { line, end, write: (quote) => writeInFile(line, end, to, quote) };
  });

  document.addEventListener("selectionchange", () => {
    const selection = document.getSelection();
    withdraw();
    if (selection.isCollapsed || selection.rangeCount === 0) return;
    const range = selection.getRangeAt(0);
    const picked = pickers.map((pick) => pick(range)).find(Boolean);
    if (!picked) return;
    const place = range.getBoundingClientRect();
    offer = document.createElement("button");
    offer.type = "button";
    offer.className = "button select-bar";
    offer.dataset.weight = "main";
    offer.textContent = `Comment on ${spoken(picked.line, picked.end, picked.side)}`;
    const quote = String(selection);
    offer.addEventListener("pointerdown", (event) => event.preventDefault());
    offer.addEventListener("click", () => { withdraw(); selection.removeAllRanges(); picked.write(quote); });
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

  // Sent: the site has it in another form, and the browser need not keep it.

  document.addEventListener("htmx:afterRequest", (event) => {
    const { requestConfig: { elt: form }, xhr } = event.detail;
    if (xhr.status < 200 || xhr.status >= 400) return;
    if (form.matches(".remark-form")) {
      closeForm();
      if (form.elements.begun.value) Drafts.taken([form.elements.begun.value]);
    } else if (form.id === "answer") {
      const along = form.elements.begun.value ? Drafts.begun().map(({ name }) => name) : [];
      Drafts.taken([...Drafts.fields(), "comment", ...along]);
    } else if (form.id === "ask") {
      Drafts.taken([form.elements.text.name]);
    }
  });

  Sending.before(
    (form, button) => form.id === "answer" && Number(button?.dataset.musts) > 0,
    async (_form, button) => {
      const count = Number(button.dataset.musts);
      return await Sending.ask(
        count === 1 ? "You marked a comment “Must change”" : `You marked ${count} comments “Must change”`,
        "Approving resumes the run without these changes; the comments are only recorded.",
        [["", "Go back"], ["yes", `${button.textContent.trim()} anyway`]],
      ) === "yes";
    },
  );

  Sending.before(
    (form) => form.id === "answer" && !form.elements.begun.value && Drafts.begun().length > 0,
    async (form) => {
      const count = Drafts.begun().length;
      const them = count === 1 ? "it" : "them";
      const said = await Sending.ask(
        count === 1 ? "A line comment is not added yet" : `${count} line comments are not added yet`,
        `Send your answer with ${them}, or without: then ${count === 1 ? "it stays" : "they stay"} a draft.`,
        [["add", `Add ${them} and send`], ["leave", `Send without ${them}`], ["", "Cancel"]],
      );
      await Drafts.save();
      form.elements.begun.value = { add: "add", leave: "leave" }[said] ?? "";
      return Boolean(said);
    },
  );
  document.addEventListener("unsent", (event) => { if (event.target.id === "answer") event.target.elements.begun.value = ""; });

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
    if (event.key === "Escape" && !event.isComposing && !document.querySelector("dialog[open]")) { disarm(); closeForm(); withdraw(); }
  });
  document.addEventListener("focusout", (event) => event.target.removeAttribute?.("data-armed"));

  // The button that was pressed is gone with its form: keys go on where the decision stands.
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.requestConfig?.elt?.id !== "answer" || document.activeElement !== document.body) return;
    document.getElementById("desk-title")?.focus();
  });

  // A comment that was deleted or saved took its button along: keys go on at what has its place.
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    const gone = detail.requestConfig?.elt?.closest?.("#remarks .remark");
    if (!gone || document.activeElement !== document.body) return;
    const at = [...gone.parentElement.children].indexOf(gone);
    const left = [...document.querySelectorAll("#remarks .remark")];
    const next = (left[at] ?? left.at(-1))?.querySelector(".remark-actions .link");
    (next ?? document.getElementById("desk-title"))?.focus();
  });

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
      label.textContent = "Copy failed";
    }
    setTimeout(() => { label.textContent = "Copy"; }, 2000);
  });

  const refresh = (event) => {
    // A form that opens brings no lines, and looking through a long file again would hold it up.
    if (!event.target.closest?.("#remark-form")) equipAll();
    offerCopies();
    countDown();
    for (const button of document.querySelectorAll(":is([data-close], [data-discard])[hidden]")) button.hidden = false;
    showBegun();
  };
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (["desk", "content"].includes(event.detail.target?.id)) Drafts.begin();
    refresh(event);
  });

  return { write, placeOf, tellIn, findIn: (finder) => finders.push(finder), pickIn: (picker) => pickers.push(picker), around };
})();
