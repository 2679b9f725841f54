// Long lists: typing leaves what fits. Without this script the whole list is there.
(() => {
  "use strict";

  const rows = (input) => [...input.closest("[data-filter-list]").querySelectorAll("[data-filtered]")];

  const narrow = (input) => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows(input)) {
      const text = row.textContent.toLowerCase();
      // What is chosen stays in sight: it will be sent.
      row.hidden = !row.querySelector("input:checked") && !words.every((word) => text.includes(word));
    }
  };

  // Enter in the field would press the form's first button; it goes to the only option left instead.
  const settle = (input) => {
    const left = rows(input).filter((row) => !row.hidden);
    const control = left.length === 1 ? left[0].querySelector("button, input") : null;
    control?.focus();
    if (control?.matches("input:not(:checked)")) control.click();
  };

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches?.("[data-filter]")) return;
    event.preventDefault();
    settle(event.target);
  });

  // The field is no part of the answer, so the draft around it must not hear of it.
  const hear = (input) => {
    for (const type of ["input", "change"]) {
      input.addEventListener(type, (event) => { event.stopPropagation(); narrow(input); });
    }
    input.hidden = false;
  };

  const refresh = () => document.querySelectorAll("[data-filter][hidden]").forEach(hear);
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
})();
