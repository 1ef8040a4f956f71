"use strict";
// What the page can do beyond being read: sort, filter, open, page, and tell a round where
// it is pointed at. Everything it shows is on the page already; without it nothing is lost.
(() => {
  const PAGE = 100;
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what, within = document) => within.querySelector(what);
  const make = (name, properties = {}) => Object.assign(document.createElement(name), properties);
  document.documentElement.classList.add("js");

  const moves = one("table.moves") ? movesTable() : null;
  const story = one("#story") && one(".plot a") ? roundStory() : null;

  // ---------------------------------------------------------------- moves

  function movesTable() {
    const section = one("#moves");
    const table = one("table.moves", section);
    const body = one("tbody", table);
    const filter = one("#filter");
    const ending = table.dataset.ending.toLowerCase();
    const chips = all(".chips button", section);
    const pages = one(".pages", section);
    // One table of all: those of the folded ones are taken out of the page until they are shown.
    const rows = all("tr.move", section).map((row, place) => ({
      row, more: row.nextElementSibling, place, text: null, dressed: false,
    }));
    const byId = new Map(rows.map((each) => [each.row.id, each]));
    body.replaceChildren();
    all("details.rest", section).forEach((each) => each.remove());
    let shown = rows, page = 0, sort = null, chip = null;

    all("thead th", table).forEach((head, column) => {
      const button = make("button", { type: "button", textContent: head.textContent });
      button.addEventListener("click", () => {
        const isDown = sort && sort.column === column && sort.sign === 1;
        sort = { column, sign: isDown ? -1 : 1 };
        all("thead th", table).forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        select();
      });
      head.replaceChildren(button);
    });

    function key(each, column) {
      const cell = each.row.cells[column];
      const value = cell.dataset.v ?? cell.textContent;
      const number = value === "" ? -1 : Number(value);
      return Number.isNaN(number) ? value : number;
    }

    function compare(a, b) {
      if (typeof a === "number" && typeof b === "number") return a - b;
      return a < b ? -1 : a > b ? 1 : 0;
    }

    function text(each) {
      if (each.text === null) {
        each.text = `${each.row.textContent} ${each.row.dataset.verdict}`.toLowerCase();
      }
      return each.text;
    }

    function select() {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
        // A full broker name finds it too, though the rows leave out what all names end in.
        .map((word) => (ending && word.endsWith(ending) ? word.slice(0, -ending.length) : word));
      shown = rows.filter((each) =>
        (!chip || (each.row.dataset.verdict === chip.verdict && each.row.dataset.tone === chip.tone))
        && words.every((word) => text(each).includes(word)));
      if (sort) {
        const keys = new Map(shown.map((each) => [each, key(each, sort.column)]));
        shown.sort((a, b) => sort.sign * compare(keys.get(a), keys.get(b)) || a.place - b.place);
      }
      show(0);
    }

    function dress(each) {
      if (each.dressed) return;
      each.dressed = true;
      const cell = each.row.cells[0];
      const button = make("button", { type: "button", className: "open", textContent: cell.textContent || "open" });
      each.more.id = `${each.row.id}-more`;
      button.setAttribute("aria-expanded", "false");
      button.setAttribute("aria-controls", each.more.id);
      button.setAttribute("aria-label", `${cell.textContent}, ${each.row.cells[1].textContent}: why`);
      cell.replaceChildren(button);
      one("details", each.more).open = true;
      each.row.addEventListener("click", (event) => {
        const isText = String(getSelection()) !== "" && !event.target.closest("button");
        if (!isText && !event.target.closest("a")) open(each);
      });
    }

    function open(each, isOpen = !each.more.classList.contains("on")) {
      dress(each);
      each.more.classList.toggle("on", isOpen);
      each.row.classList.toggle("is-open", isOpen);
      one(".open", each.row).setAttribute("aria-expanded", String(isOpen));
    }

    function show(wanted) {
      const last = Math.max(0, Math.ceil(shown.length / PAGE) - 1);
      page = Math.min(Math.max(wanted, 0), last);
      const here = shown.slice(page * PAGE, (page + 1) * PAGE);
      here.forEach(dress);
      body.replaceChildren(...here.flatMap((each) => [each.row, each.more]));
      const said = (count) => count.toLocaleString("en");
      one("#shown").textContent = shown.length < rows.length ? `${said(shown.length)} of ${said(rows.length)}` : "";
      one(".nothing", section).hidden = shown.length > 0;
      pages.hidden = shown.length <= PAGE;
      one("span", pages).textContent = `${said(page * PAGE + 1)} to ${said(page * PAGE + here.length)} of ${said(shown.length)}`;
      all("button", pages).forEach((button) => {
        button.disabled = button.dataset.step === "-1" ? page === 0 : page === last;
      });
    }

    function only(wanted) {
      chip = wanted;
      chips.forEach((each) => each.setAttribute("aria-pressed", String(
        wanted ? each.dataset.verdict === wanted.verdict && each.dataset.tone === wanted.tone : "all" in each.dataset)));
      select();
    }

    function go(id) {
      const each = byId.get(id);
      if (!each) return false;
      if (!shown.includes(each)) { filter.value = ""; only(null); }
      show(Math.floor(shown.indexOf(each) / PAGE));
      open(each, true);
      each.row.scrollIntoView({ block: "center" });
      one(".open", each.row).focus({ preventScroll: true });
      return true;
    }

    filter.addEventListener("input", select);
    chips.forEach((each) => each.addEventListener("click", () => only("all" in each.dataset ? null : { ...each.dataset })));
    all(".key a").forEach((each) => each.addEventListener("click", () => only({ ...each.dataset })));
    pages.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) { show(page + Number(button.dataset.step)); table.scrollIntoView(); }
    });
    one(".tools", section).hidden = false;
    select();
    return { go, shown: () => shown };
  }

  // ---------------------------------------------------------------- rounds

  function roundStory() {
    const panel = one("#story");
    const rounds = all("article.round");
    const numbers = new Map(rounds.map((round, place) => [round.id, place]));
    const plots = all(".plot").map((plot) => ({
      plot,
      cursor: plot.appendChild(make("div", { className: "cursor", hidden: true })),
      marks: all("a", plot)
        .map((link) => ({ link, id: target(link) }))
        .filter((mark) => numbers.has(mark.id)),
    }));
    let told = -1;

    function tell(place) {
      if (place < 0 || place >= rounds.length || place === told) return;
      told = place;
      const copy = rounds[place].cloneNode(true);
      copy.removeAttribute("id");
      const turn = make("div", { className: "turn" });
      for (const [sign, name, step] of [["←", "Round before", -1], ["→", "Next round", 1]]) {
        const button = make("button", { type: "button", textContent: sign, disabled: !rounds[place + step] });
        button.setAttribute("aria-label", name);
        button.addEventListener("click", () => {
          tell(place + step);
          const same = one(`.turn button[aria-label="${name}"]`, panel);
          (same.disabled ? one(".turn button:enabled", panel) : same)?.focus();
        });
        turn.append(button);
      }
      panel.replaceChildren(turn, copy);
      panel.hidden = false;
      plots.forEach(point);
    }

    function point({ plot, cursor, marks }) {
      marks.forEach(({ link, id }) => link.classList.toggle("on", numbers.get(id) === told));
      const mark = marks.find(({ id }) => numbers.get(id) === told);
      cursor.hidden = !mark || !plot.offsetWidth;
      if (cursor.hidden) return;
      const box = plot.getBoundingClientRect();
      const ground = all("path.background", plot).map((each) => each.getBoundingClientRect()).filter((each) => each.height > 40);
      cursor.style.left = `${middle(mark.link) - box.left}px`;
      cursor.style.top = `${mark.link.getBoundingClientRect().bottom - box.top}px`;
      cursor.style.height = `${Math.max(...ground.map((each) => each.bottom)) - mark.link.getBoundingClientRect().bottom}px`;
    }

    function middle(link) {
      const box = link.getBoundingClientRect();
      return box.left + box.width / 2;
    }

    for (const each of plots) {
      const nearest = (x) => each.marks.reduce((best, mark) =>
        !best || Math.abs(middle(mark.link) - x) < Math.abs(middle(best.link) - x) ? mark : best, null);
      const follow = (event) => {
        const mark = nearest(event.clientX);
        if (mark) tell(numbers.get(mark.id));
      };
      each.plot.addEventListener("pointermove", follow);
      each.plot.addEventListener("pointerdown", follow);
      each.marks.forEach(({ link, id }) => {
        link.addEventListener("focus", () => tell(numbers.get(id)));
        link.addEventListener("click", (event) => { event.preventDefault(); tell(numbers.get(id)); });
      });
    }
    addEventListener("resize", () => plots.forEach(point));
    // The first round with a move that did no good, or else the first with any move.
    const useless = rounds.findIndex((round) => one(".ties i.useless", round));
    const busy = rounds.findIndex((round) => one(".ties i", round));
    tell(useless >= 0 ? useless : Math.max(busy, 0));
    panel.setAttribute("aria-live", "polite");
    return { tell };
  }

  // ---------------------------------------------------------------- links and paper

  function target(link) {
    const to = link.getAttribute("href") ?? link.getAttributeNS("http://www.w3.org/1999/xlink", "href") ?? "";
    return to.startsWith("#") ? decodeURIComponent(to.slice(1)) : "";
  }

  function visit(id) {
    if (!id || moves?.go(id)) return;
    const place = document.getElementById(id);
    for (let each = place; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    place?.scrollIntoView();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a");
    if (!link || event.defaultPrevented || !target(link)) return;
    const id = target(link);
    if (location.hash === `#${id}`) visit(id);
  });
  addEventListener("hashchange", () => visit(decodeURIComponent(location.hash.slice(1))));
  if (location.hash) visit(decodeURIComponent(location.hash.slice(1)));

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((each) => { each.open = true; });
    all(".moves .more:not(.on)").forEach((each) => { each.classList.add("on"); folded.push(each); });
  });
  addEventListener("afterprint", () => {
    folded.forEach((each) => { if (each.tagName === "DETAILS") each.open = false; else each.classList.remove("on"); });
    folded = [];
  });
})();
