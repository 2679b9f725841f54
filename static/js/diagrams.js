// Mermaid blocks of documents as diagrams, each in a frame of its own; their source stays in the page.
(() => {
  "use strict";

  const PATIENCE = 20000; // milliseconds until a frame that says nothing counts as broken
  const TALLEST = 4000;
  const shown = new Map(); // by the window of its frame

  const theme = () => document.documentElement.dataset.theme
    || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  const make = (name, className, text = "") => {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text;
    return element;
  };

  const show = (figure, view) => {
    figure.dataset.view = view;
    const toggle = figure.querySelector(".diagram-toggle");
    toggle.textContent = view === "source" ? "Show diagram" : "Show source";
  };

  const fail = (figure, sentence) => {
    clearTimeout(figure.patience);
    figure.querySelector("iframe")?.remove();
    show(figure, "source");
    figure.querySelector(".diagram-toggle").hidden = true;
    const said = figure.querySelector(".diagram-problem");
    said.textContent = sentence;
    said.hidden = false;
  };

  const send = (figure, frame) => {
    const code = figure.querySelector("pre code").cloneNode(true);
    code.querySelector(".code-gutter")?.remove();
    // Its origin is its own, so there is no name to address it by.
    frame.contentWindow?.postMessage({ source: code.textContent, theme: theme() }, "*");
  };

  const draw = (figure) => {
    if (figure.querySelector("iframe") || figure.dataset.view === "source") return;
    const frame = document.createElement("iframe");
    const { line, end } = figure.dataset;
    frame.title = line ? `Diagram of lines ${line}–${end}` : "Diagram";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.setAttribute("referrerpolicy", "no-referrer");
    frame.src = document.querySelector("[data-drawing-board]").dataset.drawingBoard;
    figure.querySelector(".diagram-place").append(frame);
    shown.set(frame.contentWindow, { figure, frame });
    figure.patience = setTimeout(() => fail(figure, "Could not load the diagram. Showing its source."), PATIENCE);
  };

  addEventListener("message", (event) => {
    const known = shown.get(event.source);
    if (!known || event.data?.faber !== "diagram") return;
    const { figure, frame } = known, { ready, height, problem } = event.data;
    if (ready) send(figure, frame);
    else if (problem) fail(figure, `Could not draw this diagram: ${String(problem).slice(0, 300)}`);
    else if (height > 0) {
      clearTimeout(figure.patience);
      frame.style.height = `${Math.min(Number(height), TALLEST)}px`;
      figure.dataset.drawn = "";
    }
  });

  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "200px" });

  const comment = (line) => {
    const button = make("button", "add", "+");
    button.type = "button";
    button.setAttribute("aria-label", `Comment on line ${line}`);
    button.dataset.at = line;
    return button;
  };

  const prepare = (pre) => {
    const figure = make("figure", "diagram");
    const toggle = make("button", "link diagram-toggle");
    const problem = make("p", "notice diagram-problem");
    const place = make("div", "diagram-place");
    toggle.type = "button";
    problem.hidden = true;
    problem.dataset.tone = "care";
    pre.replaceWith(figure);
    figure.append(toggle, problem, place, pre);
    const { line, end } = pre.dataset;
    if (line) {
      Object.assign(figure.dataset, { line, end });
      const commentable = pre.closest(".file")?.dataset.remarks && pre.closest("[data-commentable], .pair-new");
      if (commentable) figure.prepend(comment(Number(line)));
      figure.classList.toggle("commentable", Boolean(commentable));
    }
    // What changed is marked in the source, and a drawing would hide it.
    show(figure, pre.querySelector("ins, del") ? "source" : "diagram");
    near.observe(figure);
  };

  const prepareAll = () => {
    for (const [window_, { frame }] of shown) if (!frame.isConnected) shown.delete(window_);
    if (!document.querySelector("[data-drawing-board]")) return;
    for (const code of document.querySelectorAll("pre.code > code.language-mermaid")) {
      if (!code.closest(".diagram")) prepare(code.parentElement);
    }
  };

  document.addEventListener("click", (event) => {
    const figure = event.target.closest?.(".diagram-toggle")?.closest(".diagram");
    if (!figure) return;
    show(figure, figure.dataset.view === "source" ? "diagram" : "source");
    draw(figure);
  });

  const redraw = () => { for (const { figure, frame } of shown.values()) if (frame.isConnected) send(figure, frame); };
  document.addEventListener("theme", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("DOMContentLoaded", prepareAll);
  document.addEventListener("htmx:afterSettle", prepareAll);
})();
