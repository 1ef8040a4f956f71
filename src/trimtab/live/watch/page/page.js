"use strict";
// Shows what `state` says, which is asked for again and again; all of it is taken as text.
(() => {
  const EVERY_MS = 2000, HIDDEN_MS = 15000, GIVEN_UP_MS = 10000, ROWS = 50, SETTLED_MS = 800;
  const by = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en");
  const clock = (s) => new Date(1000 * s).toISOString().slice(11, 19) + "Z";
  const percent = (value) => (value === null ? "unknown" : `${value.toFixed(1)} %`);
  const range = (ends) => (ends ? `${ends[0]} to ${ends[1]}\u00a0%` : "anything");
  const age = (s) => (s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`);
  const left = (s) => (s < 60 ? `${Math.round(s)} s` : `${Math.ceil(s / 60)} min`);
  let page = 0, last = null, digest = "", since = 0, answered = 0;

  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const flag = (node, is) => { if (node.hidden === is) node.hidden = !is; };
  // Lists keep their nodes, so that whoever reads or selects in them is not thrown out.
  const list = (parent, items, make, fill) => {
    while (parent.children.length > items.length) parent.lastElementChild.remove();
    items.forEach((item, i) => fill(parent.children[i] ?? parent.appendChild(make()), item));
  };
  const element = (name, kind) => {
    const node = document.createElement(name);
    if (kind) node.className = kind;
    return node;
  };
  const lines = (parent, texts) => list(parent, texts, () => element("li"), put);

  // ------------------------------------------------------------------ brokers
  const row = () => {
    const tr = element("tr"), head = element("th"), cell = element("td");
    head.scope = "row";
    head.append(element("bdi"), element("small"));
    const track = element("span", "track");
    track.setAttribute("aria-hidden", "true");
    for (const kind of ["band", "now", "ahead", "mean", "bar"]) track.append(element("i", kind));
    cell.append(element("span", "value"), track);
    tr.append(head, cell);
    return tr;
  };
  const span = (node, low, high) => {
    flag(node, low !== null);
    if (low === null) return;
    const [from, to] = [low, high].map((each) => Math.min(100, Math.max(0, each)));
    node.style.left = `${from}%`;
    node.style.width = `${Math.max(0.6, to - from)}%`;
  };
  const mark = (node, at) => {
    flag(node, at !== null && at !== undefined);
    if (at !== null && at !== undefined) node.style.left = `${Math.min(100, at)}%`;
  };
  const fill = (band, leader) => (tr, [name, now, low, high, from, to, rate, traffic, bundles, old]) => {
    const [title, small] = tr.firstElementChild.children;
    put(title, name);
    put(small, `${name === leader ? "leads · " : ""}${number.format(rate)} msg/s · ${traffic} MB/s · ${number.format(bundles)} bundle${bundles === 1 ? "" : "s"} · ${age(old)} ago`);
    const [value, track] = tr.lastElementChild.children;
    put(value, percent(now) + (from === null ? "" : `, then ${from} to ${to} %`));
    span(track.children[0], low, high);
    span(track.children[1], 0, now);
    span(track.children[2], from, to);
    mark(track.children[3], band?.mean);
    mark(track.children[4], band?.bar);
  };
  const ORDERS = {
    busy: (a, b) => (b[1] ?? -1) - (a[1] ?? -1) || (a[0] < b[0] ? -1 : 1),
    idle: (a, b) => (a[1] ?? 101) - (b[1] ?? 101) || (a[0] < b[0] ? -1 : 1),
    name: (a, b) => (a[0] < b[0] ? -1 : 1),
  };
  const brokers = ({ brokers, band, head }) => {
    const wanted = by("filter").value.trim().toLowerCase();
    const listed = brokers.filter(([name]) => name.toLowerCase().includes(wanted));
    listed.sort(ORDERS[by("order").value]);
    const pages = Math.max(1, Math.ceil(listed.length / ROWS));
    page = Math.min(page, pages - 1);
    list(by("brokers"), listed.slice(page * ROWS, (page + 1) * ROWS), row, fill(band, head.leader));
    flag(by("pages"), pages > 1);
    put(by("page"), `${page * ROWS + 1} to ${Math.min(listed.length, (page + 1) * ROWS)} of ${number.format(listed.length)}`);
    by("before").disabled = page === 0;
    by("after").disabled = page + 1 === pages;
    flag(by("bar-key"), band !== null && band.bar !== null);
    flag(by("ahead-key"), brokers.some((each) => each[4] !== null));
  };

  // ------------------------------------------------------------------- course
  const course = (points, now) => {
    flag(by("course-figure"), points.length > 1);
    if (points.length < 2) return;
    const start = points[0][0], width = Math.max(1, now - start);
    const at = (point, i) => `${((600 * (point[0] - start)) / width).toFixed(1)} ${(160 - 1.6 * Math.min(100, point[i])).toFixed(1)}`;
    const area = (low, high) => `M${points.map((p) => at(p, high)).join("L")}L${points.map((p) => at(p, low)).reverse().join("L")}Z`;
    const [all, most, mean] = by("course").children;
    all.setAttribute("d", area(1, 5));
    most.setAttribute("d", area(2, 4));
    mean.setAttribute("d", `M${points.map((p) => at(p, 6)).join("L")}`);
    const end = points.at(-1);
    by("course").setAttribute("aria-label", `Usage of all brokers from ${clock(start)} on; now from ${percent(end[1])} to ${percent(end[5])}, mean ${percent(end[6])}`);
    put(by("course-from"), clock(start));
  };

  // -------------------------------------------------------------------- moves
  const move = () => {
    const item = element("li");
    item.append(element("bdi"), element("small"), element("span"));
    return item;
  };
  const moves = ({ count, rows }) => {
    put(by("moves-note"), count ? `${number.format(count)} so far${count > rows.length ? `, the last ${rows.length} below` : ""}` : "None so far.");
    list(by("moves"), rows, move, (item, each) => {
      const [what, who, verdict] = item.children;
      put(what, `${clock(each.time)} ${each.bundle}`);
      put(who, `${each.source} → ${each.target}, by ${each.by}`);
      put(verdict, each.verdict || "its effect is not measured yet");
      verdict.className = each.tone;
    });
  };

  // ------------------------------------------------------------------- beside
  // What most look for; the others lie folded below.
  const CHIEF = ["peak_percent", "end_spread_points", "excess_spread_points", "unloads", "disconnected_topics", "unavailability_s"];
  const UNITS = { percent: "%", points: "points", min: "min", s: "s" };
  const named = (measure) => {
    const words = measure.split("_"), unit = UNITS[words.at(-1)];
    return unit ? `${words.slice(0, -1).join(" ")}, ${unit}` : words.join(" ");
  };
  const beside = ({ round, time, would, guessed, reasons, scores, unloads, verdicts }, head) => {
    const compared = Object.entries(verdicts).filter(([, n]) => n).map(([name, n]) => `${n} ${name}`).join(", ");
    put(by("beside"), round === null ? "No round has been decided yet." : `Round ${round}, ${clock(time)}: ${head.beside} would unload ${would}. So far it would have unloaded ${unloads[1]} bundles, Pulsar ${unloads[0]}. Rounds beside the leader's log: ${compared || "none"}.`);
    put(by("beside-doubt"), [guessed, ...reasons].filter(Boolean).join("; "));
    const chief = scores.filter(([measure]) => CHIEF.includes(measure));
    outcomes("scores", chief);
    outcomes("more-scores", scores.filter((each) => !chief.includes(each)));
    flag(by("more"), scores.length > chief.length);
  };
  const outcomes = (id, scores) => {
    flag(by(id), scores.length > 0);
    list(by(id).tBodies[0], scores, () => {
      const tr = element("tr"), th = element("th");
      th.scope = "row";
      tr.append(th, element("td"), element("td"));
      return tr;
    }, (tr, [measure, pulsar, shadow, ends]) => {
      put(tr.children[0], named(measure));
      put(tr.children[1], pulsar === null ? "unknown" : `${pulsar}`);
      put(tr.children[2], shadow === null ? "unknown" : `${shadow}${ends.length && ends[0] !== ends[1] ? ` (${ends[0] ?? "?"} to ${ends[1] ?? "?"})` : ""}`);
    });
  };
  const acting = (told) => {
    flag(by("acting-part"), told !== null);
    if (!told) return;
    const moved = Object.entries(told.moved).map(([state, n]) => `${n} ${state === "open" ? "not made" : state}`).join(", ");
    put(by("acting"), `Up to ${told.allowed} move${told.allowed === 1 ? "" : "s"} a round; so far ${moved || "nothing moved"}.${told.why ? ` Nothing is begun: ${told.why}.` : ""}`);
    lines(by("signs"), told.signs.length ? told.signs.map((sign) => `not well: ${sign}`) : ["no bad sign"]);
    by("signs").className = told.signs.length ? "bad" : "";
  };

  // --------------------------------------------------------------------- plan
  const fate = ({ state, remark }, is_over) => {
    const words = state === "open" ? (is_over ? "not made" : "not made yet") : state;
    return remark ? `${words}; ${remark}` : words;
  };
  const tone = (state) => (state === "verified" ? "good" : state === "astray" ? "bad" : "");
  const planned = () => {
    const item = element("li");
    item.append(element("bdi"), element("small"), element("small"), element("small"), element("span"));
    return item;
  };
  const plan = (told) => {
    flag(by("plan"), told !== null);
    if (!told) return;
    if (told.digest !== digest) [digest, since] = [told.digest, performance.now()];
    const n = `${told.moves.length} move${told.moves.length === 1 ? "" : "s"}`;
    put(by("plan-title"), told.waits ? `${n} of round ${told.round}: waiting for your answer` : told.ended === null ? `${n} of round ${told.round}: under way` : `Plan of round ${told.round}: ${told.ended || "done"}`);
    put(by("plan-note"), `Plan ${told.digest}, of the state at ${clock(told.made)}.`);
    put(by("plan-news"), told.waits ? `It is withdrawn in ${left(told.left_s)}; every move is checked once more before it is made.` : told.wait ? `Waiting: ${told.wait}` : told.answer ?? "");
    by("plan").className = told.waits ? "card waits" : "card";
    flag(by("plan-buttons"), told.waits);
    // A plan that has just appeared below a finger is not what was meant.
    for (const id of ["approve", "refuse"]) by(id).disabled = performance.now() < Math.max(since, answered) + SETTLED_MS;
    put(by("approve"), `Approve ${n}`);
    list(by("plan-moves"), told.moves, planned, (item, each) => {
      const [what, why, source, target, state] = item.children;
      const came = (i) => (each.came[i] === null ? "" : `; came: ${percent(each.came[i])}`);
      put(what, `${each.bundle}: ${each.source} → ${each.target}`);
      put(why, `${each.reason || "no reason given"}${each.traffic ? `; ${each.traffic} MB/s` : ""}`);
      put(source, `source ${range(each.expected[0][0])}, expected ${range(each.expected[0][1])}${came(0)}`);
      put(target, `destination ${range(each.expected[1][0])}, expected ${range(each.expected[1][1])}${came(1)}`);
      put(state, told.waits ? "" : fate(each, told.ended !== null));
      state.className = tone(each.state);
    });
    flag(by("plan-journal"), told.entries.length > 0);
    lines(by("plan-entries"), told.entries);
  };
  // Whoever has approved a plan sees what came of it, even if the next one waits already.
  const past = (plans) => {
    flag(by("past-part"), plans.length > 0);
    list(by("past"), plans, () => {
      const item = element("li");
      const journal = element("details"), summary = element("summary");
      summary.textContent = "Journal";
      journal.append(summary, element("ol"));
      item.append(element("bdi"), element("ol"), journal);
      return item;
    }, (item, { round, made, ended, moves, entries }) => {
      const [title, fates, journal] = item.children;
      flag(journal, entries.length > 0);
      lines(journal.lastElementChild, entries);
      put(title, `Round ${round}, of the state at ${clock(made)}: ${ended || "done"}`);
      list(fates, moves, () => {
        const row = element("li");
        row.append(element("bdi"), element("small"), element("span"));
        return row;
      }, (row, each) => {
        const [what, came, state] = row.children;
        put(what, `${each.bundle}: ${each.source} → ${each.target}`);
        const [source, target] = each.came;
        put(came, source === null && target === null ? "" : `came: source ${percent(source)}, destination ${percent(target)}`);
        put(state, fate(each, true));
        state.className = tone(each.state);
      });
    });
  };
  const answer = async (approve) => {
    answered = performance.now();
    for (const id of ["approve", "refuse"]) by(id).disabled = true;
    try {
      const response = await fetch("answer", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ plan: digest, approve }),
      });
      const words = { 200: approve ? "Approved." : "Refused.", 409: "This plan does not wait any more." };
      put(by("plan-news"), words[response.status] ?? `The answer was not taken: ${response.status}.`);
    } catch {
      put(by("plan-news"), "Nobody took the answer: the watch does not reply.");
    }
    await look();
  };

  // --------------------------------------------------------------------- whole
  const show = ({ view, plan: told, past: ended }) => {
    plan(told);
    past(ended);
    if (!view) return;
    const { head, band } = view;
    put(by("head"), `${head.pulsar} of ${head.release}, beside it ${head.beside} · ${head.leader ? `${head.leader} leads` : "nobody is known to lead"} · ${head.rounds} round${head.rounds === 1 ? "" : "s"}`);
    const usages = view.brokers.map((each) => each[1]).filter((each) => each !== null);
    put(by("answer"), usages.length ? `${number.format(usages.length)} broker${usages.length === 1 ? " stands" : "s stand"} at ${band.mean} % on average, from ${Math.min(...usages)} to ${Math.max(...usages)} %.` : "No broker's usage is known yet.");
    put(by("ahead"), `Predicted: ${view.ahead}.`);
    course(view.course, view.now);
    brokers(view);
    moves(view.moves);
    beside(view.beside, head);
    acting(view.acting);
    lines(by("unread"), view.unread.length ? view.unread : ["Everything could be read."]);
    lines(by("said"), view.lines);
  };
  const timed = (told) => {
    const start = performance.now();
    show(told);
    document.documentElement.dataset.frameMs = (performance.now() - start).toFixed(1);
  };
  const look = async () => {
    try {
      const response = await fetch("state", { cache: "no-store", signal: AbortSignal.timeout(GIVEN_UP_MS) });
      if (!response.ok) throw new Error(String(response.status));
      last = await response.json();
      timed(last);
      put(by("link"), last.view ? `live, as of ${clock(last.view.now)}` : "live, nothing seen yet");
      by("link").className = "";
    } catch {
      put(by("link"), `No answer from the watch${last?.view ? `: this is of ${clock(last.view.now)}` : ""}.`);
      by("link").className = "broken";
    }
  };
  const again = async () => {
    await look();
    setTimeout(again, document.hidden ? HIDDEN_MS : EVERY_MS);
  };
  const turn = (by_) => () => { page += by_; if (last?.view) brokers(last.view); };
  by("before").addEventListener("click", turn(-1));
  by("after").addEventListener("click", turn(1));
  by("filter").addEventListener("input", () => { page = 0; turn(0)(); });
  by("order").addEventListener("change", () => { page = 0; turn(0)(); });
  by("approve").addEventListener("click", () => answer(true));
  by("refuse").addEventListener("click", () => answer(false));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  again();
})();
