// Comfort at the desk of a batch: keys, "same for all" at once, news without losing what is typed.
// Nothing here sends an answer.
(() => {
  "use strict";

  const OPTION = '.pick:not([data-weight="none"]) input[type="radio"]';
  const rows = () => [...document.querySelectorAll(".batch-row[data-open]")];
  const chosenIn = (row) => row.querySelector(`${OPTION}:checked`);
  const wordsIn = (row) => row.querySelector('[name^="comment-"]')?.value.trim() || "";

  const tell = () => {
    const said = document.getElementById("chosen");
    const send = document.getElementById("send");
    if (!said || !send) return;
    const texts = [...document.querySelectorAll(".batch-card")]
      .filter((card) => card.querySelector("textarea").value.trim())
      .reduce((sum, card) => sum + card.querySelectorAll(":checked").length, 0);
    const own = rows().filter((row) => chosenIn(row)
      || (row.dataset.type === "clarification" && wordsIn(row))).length;
    const count = own + texts;
    const words = count ? `${count} selected` : "";
    if (said.textContent !== words) said.textContent = words;
    send.textContent = count ? `Send ${count} answer${count === 1 ? "" : "s"}` : "Send answers";
  };

  const choose = (row, value) => {
    const option = [...row.querySelectorAll(OPTION)].find((input) => input.value === value);
    if (option) option.checked = true;
    return Boolean(option);
  };

  const chooseForAll = (kind, value) => {
    rows().filter((row) => row.dataset.kind === kind).forEach((row) => choose(row, value));
    tell();
  };

  document.addEventListener("change", tell);
  document.addEventListener("input", tell);

  // The server would fill it in too; here the page need not be made anew for that.
  document.addEventListener("click", (event) => {
    const fill = event.target.closest('button[name="fill"]');
    if (!fill) return;
    event.preventDefault();
    const at = fill.value.indexOf(":");
    chooseForAll(fill.value.slice(0, at), fill.value.slice(at + 1));
  });

  // Enter in a comment would send everything; it goes on to the next row instead.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    if (!event.target.matches('.batch-answer input[type="text"], .batch-answer input[type="radio"]')) return;
    event.preventDefault();
    const all = rows();
    const next = all[all.indexOf(event.target.closest(".batch-row")) + 1];
    (next ? next.querySelector(".row-link") : document.getElementById("send"))?.focus();
  });

  let current = null;
  document.addEventListener("focusin", (event) => {
    current = event.target.closest(".batch-row") || current;
  });

  const here = () => (current?.isConnected ? current : null);

  document.addEventListener("shortcut", (event) => {
    const row = here();
    if (event.detail === "s") {
      document.getElementById("send")?.focus();
    } else if (!row) {
      return;
    } else if (/^[0-9]$/.test(event.detail)) {
      const options = [...row.querySelectorAll(OPTION)];
      const picked = event.detail === "0"
        ? row.querySelector('.pick[data-weight="none"] input')
        : options[Number(event.detail) - 1];
      if (!picked) return;
      picked.checked = true;
      tell();
    } else if (event.detail === "=") {
      const like = chosenIn(row);
      if (!like) return;
      chooseForAll(row.dataset.kind, like.value);
    } else if (event.detail === "c") {
      const field = row.querySelector('[name^="comment-"]');
      if (!field) return;
      field.focus();
    } else {
      return;
    }
    event.preventDefault();
  });

  // News: a row that shows the same stays, with what is filled in. Of one that changed, the words
  // that were not sent are kept beside it.
  const unsent = new Map();
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const row = event.detail.target;
    if (!row.matches?.(".batch-row")) return;
    const fresh = event.detail.fragment.querySelector(`#${CSS.escape(row.id)}`)
      || event.detail.fragment.firstElementChild;
    if (fresh && fresh.dataset.v === row.dataset.v) {
      event.detail.shouldSwap = false;
      return;
    }
    if (wordsIn(row)) unsent.set(row.id, wordsIn(row));
  });
  const showUnsent = () => {
    for (const [id, words] of unsent) {
      const row = document.getElementById(id);
      if (!row) continue;
      const note = document.createElement("p");
      note.className = "hint batch-unsent";
      note.textContent = `Your text was not sent: ${words}`;
      row.querySelector(".row-main").append(note);
      unsent.delete(id);
    }
  };
  document.addEventListener("htmx:oobAfterSwap", () => {
    showUnsent();
    // Whoever asks now stands with the others that do.
    const open = document.getElementById("open-rows");
    for (const row of document.querySelectorAll("#other-rows > [data-open]")) open.append(row);
    tell();
  });
  // Answers were sent: what is on record is no draft any more, and what was not taken stays in sight.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "batch") return;
    for (const row of rows()) if (wordsIn(row)) unsent.set(row.id, wordsIn(row));
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target.id !== "batch") return;
    const kept = Object.values(JSON.parse(document.getElementById("answers")?.dataset.kept ?? "{}"));
    for (const [id, words] of unsent) {
      const isThere = document.getElementById(id)?.querySelector('[name^="comment-"]');
      if (isThere || !kept.includes(words)) unsent.delete(id);
    }
    showUnsent();
    Drafts.taken(Drafts.replaced());
    Drafts.begin();
  });

  document.addEventListener("htmx:afterSwap", tell);
  document.addEventListener("drafts", tell);
  tell();
})();
