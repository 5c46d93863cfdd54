/* What every page can do: be light or dark, sort its tables, and say when one is wider than it looks. */
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];

  // Themes: what the system prefers, until the reader chooses. Others hear of it by an event.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  function applyTheme() {
    const dark = chosen ?? system.matches;
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    document.dispatchEvent(new Event("theme"));
  }
  button.addEventListener("click", () => { chosen = root.dataset.theme !== "dark"; applyTheme(); });
  system.addEventListener("change", applyTheme);

  // Tables: a click anywhere on a heading sorts, a second one turns the order round; what is missing is last.
  function sort(heading) {
    const body = heading.closest("table").tBodies[0];
    const turn = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const value = (row) => {
      const cell = row.cells[heading.cellIndex];
      return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
    };
    const compare = (one, other) => {
      if (one === "" || other === "") return (one === "") - (other === "");
      const difference = Number(one) - Number(other);
      return turn * (Number.isNaN(difference) ? one.localeCompare(other) : difference);
    };
    const rows = [...body.rows].map((row) => [value(row), row]);
    rows.sort((one, other) => compare(one[0], other[0]));
    body.append(...rows.map(([, row]) => row));
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
  }
  for (const heading of all(".sortable thead th")) heading.addEventListener("click", () => sort(heading));

  // What is wider than its place says so, and is shaded where it goes on.
  const measure = (box) => {
    const rest = box.scrollWidth - box.clientWidth;
    box.parentElement.classList.toggle("wide", rest > 1);
    box.parentElement.classList.toggle("more", rest - box.scrollLeft > 1);
  };
  const observer = new ResizeObserver((entries) => entries.forEach((entry) => measure(entry.target)));
  for (const box of all(".scroll")) {
    observer.observe(box);
    box.addEventListener("scroll", () => measure(box), { passive: true });
  }

  applyTheme();
})();
