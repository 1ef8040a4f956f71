"use strict";
// What the page can do beyond being read: sort, filter, open, page, search, and tell a round
// where it is pointed at. Everything it shows is in the page already, some of it packed.
(() => {
  const PAGE = 25;
  const FOUND_MAX = 6;
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what, within = document) => within.querySelector(what);
  const make = (name, properties = {}) => Object.assign(document.createElement(name), properties);
  const said = (count) => count.toLocaleString("en");
  document.documentElement.classList.add("js");

  // ---------------------------------------------------------------- what is packed

  const opened = new Map();

  // Unpack what the page holds under an id: once, and only when it is asked for.
  function unpacked(id) {
    const place = document.getElementById(id);
    if (!place) return Promise.resolve(null);
    if (!opened.has(id)) opened.set(id, inflated(place.textContent));
    return opened.get(id);
  }

  async function inflated(text) {
    const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  }

  // The page's own markup, escaped where it was made; its policy lets no script of it run.
  function grown(html) {
    const template = make("template");
    template.innerHTML = html;
    return [...template.content.children];
  }

  function plain(html) {
    const signs = { "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&amp;": "&" };
    return html.replace(/<wbr>/g, "").replace(/<[^>]*>/g, " ").replace(/&(?:lt|gt|#34|#39|amp);/g, (sign) => signs[sign]);
  }

  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  function pager(go, name) {
    const nav = make("nav", { className: "pages", hidden: true });
    nav.setAttribute("aria-label", `Pages of ${name}`);
    const [before, here, next] = [make("button", { type: "button", textContent: "← Before" }), make("span"), make("button", { type: "button", textContent: "Next →" })];
    before.addEventListener("click", () => go(-1));
    next.addEventListener("click", () => go(1));
    nav.append(before, here, next);
    return { nav, show(page, shown, total, size = PAGE) {
      nav.hidden = total <= size;
      here.textContent = `${said(page * size + 1)} to ${said(page * size + shown)} of ${said(total)}`;
      before.disabled = page === 0;
      next.disabled = (page + 1) * size >= total;
    } };
  }

  const moves = one("table.moves") ? movesTable() : null;
  if (!moves) performance.mark("trimtab-ready");
  const folds = all(".folded").map(folded);
  const story = one("#story") && one(".plot svg") ? roundStory() : null;
  if (one("#find")) search();

  // ---------------------------------------------------------------- moves

  function movesTable() {
    const section = one("#moves");
    const table = one("table.moves", section);
    const body = one("tbody", table);
    const filter = one("#filter");
    const ending = table.dataset.ending.toLowerCase();
    const chips = all(".chips button", section);
    const rows = all("tr.move", section).map((row, place) => ({
      id: row.id, place, row, more: row.nextElementSibling, verdict: row.dataset.verdict, tone: row.dataset.tone,
    }));
    const byId = new Map(rows.map((each) => [each.id, each]));
    const pages = pager((step) => { show(page + step); table.scrollIntoView(); }, "moves");
    let shown = rows, page = 0, sort = null, chip = null, isDeep = false;
    one(".card.table", section).after(pages.nav);
    body.replaceChildren();
    const ready = unpacked("packed-moves").then((pack) => {
      if (!pack) return;
      pack.ids.forEach((id, at) => {
        const [verdict, tone] = pack.verdicts[at];
        const each = { id, place: rows.length, html: pack.html[at], keys: pack.keys.map((column) => column[at]), verdict, tone };
        rows.push(each);
        byId.set(id, each);
      });
      all("p.rest", section).forEach((each) => each.remove());
      select();
    }).finally(() => performance.mark("trimtab-ready"));

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
      if (each.keys) return each.keys[column];
      const cell = each.row.cells[column];
      const value = cell.dataset.v ?? cell.textContent;
      const number = value === "" ? -1 : Number(value);
      return Number.isNaN(number) ? value : number;
    }

    function compare(a, b) {
      if (typeof a === "number" && typeof b === "number") return a - b;
      return a < b ? -1 : a > b ? 1 : 0;
    }

    // What stands in its row; or, deeper, in its log lines and numbers as well.
    function text(each, deep) {
      const [row, more] = each.html ? each.html.split("</tr>") : [];
      if (deep) return (each.whole ??= `${text(each)} ${each.html ? plain(more) : each.more.textContent}`.toLowerCase());
      return (each.text ??= `${each.html ? plain(row) : each.row.textContent} ${each.verdict}`.toLowerCase());
    }

    // A full broker name finds it too, though the rows leave out what all names end in.
    const meant = (typed) => words(typed).map((word) => (ending && word.endsWith(ending) ? word.slice(0, -ending.length) : word));

    function matches(typed, deep) {
      const wanted = meant(typed);
      return rows.filter((each) => wanted.every((word) => text(each, deep).includes(word)));
    }

    function select() {
      shown = (filter.value.trim() ? matches(filter.value, isDeep) : [...rows])
        .filter((each) => !chip || (each.verdict === chip.verdict && each.tone === chip.tone));
      if (sort) {
        const keys = new Map(shown.map((each) => [each, key(each, sort.column)]));
        shown.sort((a, b) => sort.sign * compare(keys.get(a), keys.get(b)) || a.place - b.place);
      }
      show(0);
    }

    function dress(each) {
      if (each.dressed) return;
      each.dressed = true;
      if (!each.row) [each.row, each.more] = grown(each.html);
      const cell = each.row.cells[0];
      const button = make("button", { type: "button", className: "open", textContent: cell.textContent || "open" });
      each.more.id = `${each.id}-more`;
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
      one("#shown").textContent = shown.length < rows.length ? `${said(shown.length)} of ${said(rows.length)}` : "";
      one(".nothing", section).hidden = shown.length > 0;
      pages.show(page, here.length, shown.length);
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

    function find(typed) {
      isDeep = true;
      filter.value = typed;
      only(null);
      section.scrollIntoView();
      filter.focus({ preventScroll: true });
    }

    filter.addEventListener("input", () => { isDeep = false; select(); });
    chips.forEach((each) => each.addEventListener("click", () => only("all" in each.dataset ? null : { ...each.dataset })));
    all(".key a").forEach((each) => each.addEventListener("click", () => only({ ...each.dataset })));
    one(".tools", section).hidden = false;
    select();
    // On paper there is nothing to turn: every row that was not packed, as it lies in the page.
    const unfold = () => body.replaceChildren(...rows.filter((each) => each.row).flatMap((each) => [each.row, each.more]));
    return { go, find, matches, ready, unfold, fold: () => show(page) };
  }

  // ---------------------------------------------------------------- folded articles

  // What stands packed in a place of the page: a page of it is shown once that is unfolded.
  function folded(box) {
    const SIZE = 50;
    const list = () => unpacked(box.dataset.pack);
    const place = make("div");
    const pages = pager(async (step) => { await show(page + step); box.scrollIntoView(); }, box.dataset.pack.replace("packed-", ""));
    let page = -1;
    const details = box.closest("details");
    const unfold = () => { if (details.open && page < 0) show(0); };
    box.replaceChildren(place, pages.nav);
    details?.addEventListener("toggle", unfold);

    async function show(wanted) {
      const { ids, html } = await list();
      page = wanted;
      const here = html.slice(page * SIZE, (page + 1) * SIZE);
      place.replaceChildren(...here.flatMap(grown));
      pages.show(page, here.length, ids.length, SIZE);
    }

    async function go(id) {
      const at = (await list()).ids.indexOf(id);
      if (at < 0) return false;
      for (let each = box; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
      await show(Math.floor(at / SIZE));
      document.getElementById(id).scrollIntoView();
      return true;
    }

    return { go, list, isOf: (what) => Boolean(box.closest(what)) };
  }

  // ---------------------------------------------------------------- rounds

  function roundStory() {
    const panel = one("#story");
    const cells = new Map();
    const plots = all(".plot").map((plot) => ({
      plot,
      cursor: plot.appendChild(make("div", { className: "cursor", hidden: true })),
      tip: plot.appendChild(make("div", { className: "tip", hidden: true })),
      links: all("a", plot).map((link) => ({ link, id: target(link) })),
    }));
    let rounds = all("article.round").map((node) => ({ id: node.id, time: Number(node.dataset.t), node }));
    let numbers = new Map(), brokers = [], told = -1, row = -1, isPinned = false;

    const index = () => { numbers = new Map(rounds.map((round, place) => [round.id, place])); };
    index();
    unpacked("packed-rounds").then((pack) => {
      if (!pack) return;
      rounds = rounds.concat(pack.ids.map((id, at) => ({ id, time: Number(/data-t="(\d+)"/.exec(pack.html[at])?.[1]), html: pack.html[at] })));
      index();
      start();
    });
    unpacked("packed-rows").then((pack) => { brokers = pack ?? []; });

    const nodeOf = (round) => { round.node ??= grown(round.html)[0]; return round.node; };

    function tell(place) {
      if (place < 0 || place >= rounds.length || place === told) return;
      told = place;
      const copy = nodeOf(rounds[place]).cloneNode(true);
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

    // The part of the drawing in which time runs and brokers stand: the largest of its grounds.
    function ground(plot) {
      const boxes = all("path.background", plot).map((each) => each.getBoundingClientRect()).filter((each) => each.height > 40);
      const lowest = boxes.reduce((best, each) => (each.bottom > best.bottom ? each : best), boxes[0]);
      return { left: lowest.left, width: lowest.width, top: lowest.top, height: lowest.height, above: Math.min(...boxes.map((each) => each.top)) };
    }

    const share = (plot, time) => (time - plot.dataset.start) / (plot.dataset.end - plot.dataset.start || 1);

    function point({ plot, cursor, links }) {
      const now = rounds[told];
      links.forEach(({ link, id }) => link.classList.toggle("on", id === now.id));
      cursor.hidden = !plot.offsetWidth || !Number.isFinite(now.time);
      if (cursor.hidden) return;
      const box = plot.getBoundingClientRect(), area = ground(plot);
      cursor.style.left = `${area.left - box.left + area.width * share(plot, now.time)}px`;
      cursor.style.top = `${area.above - box.top}px`;
      cursor.style.height = `${area.top + area.height - area.above}px`;
    }

    // The round that is nearest to a place of the time axis.
    function nearest(plot, x) {
      const area = ground(plot);
      const time = Number(plot.dataset.start) + ((x - area.left) / area.width) * (plot.dataset.end - plot.dataset.start);
      return rounds.reduce((best, each, place) =>
        best < 0 || Math.abs(each.time - time) < Math.abs(rounds[best].time - time) ? place : best, -1);
    }

    // Name the brokers of a row of the heat map, and read their usage out of its pixels.
    async function name(each, x, y) {
      const { plot, tip } = each, area = ground(plot), per = Number(plot.dataset.perRow) || 1;
      const across = (x - area.left) / area.width, down = (y - area.top) / area.height;
      tip.hidden = !brokers.length || across < 0 || across > 1 || down < 0 || down > 1;
      if (tip.hidden) return;
      const pixels = await pixelsOf(plot);
      row = Math.min(Math.floor(down * pixels.height), pixels.height - 1);
      const here = brokers.slice(row * per, (row + 1) * per);
      const at = 4 * (row * pixels.width + Math.min(Math.floor(across * pixels.width), pixels.width - 1));
      const usage = pixels.data[at + 3] ? `${Math.round(pixels.data[at] / 2.55)} %${here.length > 1 ? " at most" : ""}` : "not reported";
      const time = new Date(Number(plot.dataset.start) + across * (plot.dataset.end - plot.dataset.start));
      tip.replaceChildren(make("b", { textContent: here.map(([label]) => label).join(", ") }), ` ${usage} · ${time.toISOString().slice(11, 16)}`);
      const box = plot.getBoundingClientRect();
      tip.style.left = `${Math.max(0, Math.min(x - box.left + 14, box.width - tip.offsetWidth))}px`;
      tip.style.top = `${y - box.top - tip.offsetHeight - 10}px`;
    }

    async function pixelsOf(plot) {
      if (!cells.has(plot)) {
        const image = make("img", { src: one("image.cells", plot).getAttributeNS("http://www.w3.org/1999/xlink", "href") ?? one("image.cells", plot).getAttribute("href") });
        cells.set(plot, image.decode().then(() => {
          const canvas = make("canvas", { width: image.naturalWidth, height: image.naturalHeight });
          const brush = canvas.getContext("2d", { willReadFrequently: true });
          brush.drawImage(image, 0, 0);
          return brush.getImageData(0, 0, canvas.width, canvas.height);
        }));
      }
      return cells.get(plot);
    }

    function walk(each, step) {
      const area = ground(each.plot), per = Number(each.plot.dataset.perRow) || 1, rows = Math.ceil(brokers.length / per);
      row = Math.max(0, Math.min(row + step, rows - 1));
      name(each, area.left + area.width * Math.max(0, Math.min(share(each.plot, rounds[told].time), 1)), area.top + (area.height * (row + 0.5)) / rows);
    }

    for (const each of plots) {
      const { plot, tip, links } = each;
      const follow = (event) => {
        if (isPinned && event.type === "pointermove") return;
        tell(nearest(plot, event.clientX));
        name(each, event.clientX, event.clientY);
      };
      plot.addEventListener("pointermove", follow);
      plot.addEventListener("pointerdown", (event) => { isPinned = event.pointerType === "mouse" && !isPinned; follow(event); });
      plot.addEventListener("pointerleave", () => { if (!isPinned) tip.hidden = true; });
      plot.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: () => tell(told - 1), ArrowRight: () => tell(told + 1), ArrowUp: () => walk(each, -1), ArrowDown: () => walk(each, 1), Escape: () => { isPinned = false; tip.hidden = true; } }[event.key];
        const here = brokers[row * (Number(plot.dataset.perRow) || 1)];
        if (event.key === "Enter" && event.target === plot && here) visit(here[1]);
        if (!step || (event.target !== plot && event.key !== "Escape")) return;
        step();
        if (event.key.startsWith("Arrow") && (brokers.length || !/Up|Down/.test(event.key))) event.preventDefault();
      });
      links.filter(({ id }) => /^(?:round|nth-round)-/.test(id)).forEach(({ link, id }) => {
        const it = () => { if (numbers.has(id)) tell(numbers.get(id)); };
        link.addEventListener("focus", it);
        link.addEventListener("click", (event) => { event.preventDefault(); it(); });
      });
    }
    addEventListener("resize", () => { if (told >= 0) plots.forEach(point); });

    // The first round with a move that did no good, or else the first with any move.
    function start() {
      if (told >= 0 && isTelling(rounds[told], "useless")) return;
      const useless = rounds.findIndex((round) => isTelling(round, "useless"));
      const busy = rounds.findIndex((round) => isTelling(round, ""));
      told = -1;
      tell(useless >= 0 ? useless : Math.max(busy, 0));
    }

    const isTelling = (round, tone) => round.node
      ? Boolean(one(`.ties i${tone && `.${tone}`}`, round.node))
      : round.html.includes(`<p class="ties">`) && round.html.includes(`<i class="${tone}`);
    start();
    panel.setAttribute("aria-live", "polite");
    const title = (round) => (round.html ? plain(/<h3>(.*?)<\/h3>/.exec(round.html)[1]) : one("h3", round.node).textContent).replace(/\s+/g, " ");
    return { rounds: () => rounds, title, text: (round) => (round.text ??= (round.html ? plain(round.html) : round.node.textContent).toLowerCase()) };
  }

  // ---------------------------------------------------------------- search

  function search() {
    const field = one("#find"), found = one("#found");
    let asked = 0;
    one(".find").hidden = false;
    one(".find").addEventListener("submit", (event) => event.preventDefault());
    field.addEventListener("input", async () => {
      const turn = ++asked, wanted = words(field.value);
      if (!wanted.length) return found.replaceChildren();
      const hits = await hitsOf(wanted, field.value);
      if (turn === asked) found.replaceChildren(...(hits.length ? hits : [make("li", { textContent: "Nothing of that is in the report." })]));
    });

    function hit(kind, text, href) {
      const item = make("li"), link = make("a", { href: `#${href}`, textContent: text });
      item.append(make("span", { textContent: kind }), link);
      return item;
    }

    const few = (hits, kind) => (hits.length <= FOUND_MAX ? hits
      : [...hits.slice(0, FOUND_MAX), Object.assign(make("li"), { textContent: `and ${said(hits.length - FOUND_MAX)} more ${kind}` })]);

    async function hitsOf(wanted, typed) {
      const fits = (text) => wanted.every((word) => text.includes(word));
      const names = (await unpacked("packed-names")) ?? {};
      const hits = ["broker", "bundle"].flatMap((kind) =>
        few((names[kind] ?? []).filter(([, name]) => fits(name.toLowerCase())).map(([anchor, name]) => hit(kind, name, anchor)), `${kind}s`));
      const rows = moves ? moves.matches(typed, true) : [];
      if (rows.length) {
        const item = hit("moves", rows.length === 1 ? "1 move" : `${said(rows.length)} moves`, "moves");
        one("a", item).addEventListener("click", (event) => { event.preventDefault(); moves.find(typed); });
        hits.push(item);
      }
      const told = story ? story.rounds().filter((round) => fits(story.text(round))) : [];
      hits.push(...few(told.map((round) => hit("round", story.title(round), round.id)), "rounds"));
      const cards = all("article.finding").filter((card) => fits(card.textContent.toLowerCase()))
        .map((card) => hit("finding", one("h4", card).textContent, card.id));
      for (const each of folds.filter((fold) => fold.isOf("#why"))) {
        const { ids, html } = await each.list();
        html.forEach((card, at) => { if (fits(plain(card).toLowerCase())) cards.push(hit("finding", plain(/<h4>(.*?)<\/h4>/.exec(card)[1]), ids[at])); });
      }
      return [...hits, ...few(cards, "findings")];
    }
  }

  // ---------------------------------------------------------------- links and paper

  function target(link) {
    const to = link.getAttribute("href") ?? link.getAttributeNS("http://www.w3.org/1999/xlink", "href") ?? "";
    return named(to);
  }

  // What stands behind the sign of a link; nothing if it was not written by us.
  function named(hash) {
    try { return hash.startsWith("#") ? decodeURIComponent(hash.slice(1)) : ""; } catch { return ""; }
  }

  async function visit(id) {
    if (!id) return;
    await moves?.ready;
    if (moves?.go(id)) return;
    const place = document.getElementById(id);
    for (let each = place; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (place) return place.scrollIntoView();
    for (const each of folds) if (await each.go(id)) return;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a");
    if (!link || event.defaultPrevented || !target(link)) return;
    const id = target(link);
    if (location.hash === `#${id}`) visit(id);
  });
  addEventListener("hashchange", () => visit(named(location.hash)));
  if (location.hash) visit(named(location.hash));

  let closed = [];
  addEventListener("beforeprint", () => {
    if (!one("#paper").checked) return;
    moves?.unfold();
    closed = all("details:not([open])");
    closed.forEach((each) => { each.open = true; });
    all(".moves .more:not(.on)").forEach((each) => { each.classList.add("on"); closed.push(each); });
  });
  addEventListener("afterprint", () => {
    closed.forEach((each) => { if (each.tagName === "DETAILS") each.open = false; else each.classList.remove("on"); });
    closed = [];
    moves?.fold();
  });
})();
