// The replay of a group, step by step, and free play on a small model. Plain JavaScript of one file; asks nobody for anything.
// All that comes from the record is data in another element, and goes into the page as text alone.
(() => {
"use strict";

// ---- The model of free play. Pure functions: each takes a model, leaves it as it is, and gives the next one.
//
// Times are milliseconds. The session timeout is T; a client gives a silent connection up after 2/5 T and its session after
// 7/5 T; the server expires a session T after it last heard of it. A leader without a connection steps down at once
// (on-disconnect). One way of a message takes HOP. Expiry is exact here: real servers round it up to a tick.

const T = 1000, MISSED = 2 * T / 5, GIVEN_UP = 7 * T / 5, HOP = 1;
const STEPS_MAX = 400;
const SIZE = 5;

const copy = (model) => JSON.parse(JSON.stringify(model));
const called = (id) => "candidate " + "ABCDEFGHIJ"[id];
const sentence = (text) => text[0].toUpperCase() + text.slice(1);
const znode = (number) => "n_" + String(number).padStart(2, "0");
const lives = (m, session) => session !== null && m.alive.includes(session);
const plan = (m, delay, what, id, more) => m.due.push({ at: m.now + delay, order: m.order++, what, id, ...more });

// A group in which everybody is about to stand, one after the other.
function begin(recipe, size) {
  const m = { recipe, now: 0, order: 0, number: 0, sessions: 0, alive: [], znodes: [], candidates: [], due: [], told: [], text: "Nobody stands yet." };
  for (let id = 0; id < size; id++) {
    m.candidates.push({ process: "", cut: false, connected: true, session: null, node: null, watches: null, leads: false });
    plan(m, 50 + 50 * id, "join", id);
  }
  return m;
}

// What a user does to a candidate.
function act(before, action, id) {
  const m = copy(before);
  m.told = [];
  m.text = sentence(ACTIONS[action](m, m.candidates[id], id));
  return m;
}

// What comes next of itself, or null when the group has come to rest.
function next(before) {
  const m = copy(before);
  m.told = [];
  while (m.due.length > 0) {
    m.due.sort((a, b) => a.at - b.at || a.order - b.order);
    const due = m.due.shift();
    m.now = Math.max(m.now, due.at);
    const text = HAPPENS[due.what](m, m.candidates[due.id], due);
    if (text) {
      m.text = sentence(text);
      return m;
    }
  }
  return null;
}

// The model and all that follows from it.
function run(model) {
  const all = [model];
  for (let m = next(model); m && all.length < STEPS_MAX; m = next(m)) all.push(m);
  return all;
}

// What the candidate's process was about to do, or to hear, it does not any more. Its session's end is the servers' affair.
function silence(m, id) {
  m.due = m.due.filter((due) => due.id !== id || due.what === "expire" || due.what === "told");
}

// The servers hear no more of its session.
function runOut(m, id) {
  const session = m.candidates[id].session;
  if (lives(m, session) && !m.due.some((due) => due.session === session)) plan(m, T, "expire", id, { session });
}

const ACTIONS = {
  kill(m, c, id) {
    const led = c.leads;
    silence(m, id);
    runOut(m, id);
    Object.assign(c, { process: "killed", leads: false, watches: null, connected: false });
    return `${called(id)} is killed${led ? ": nobody leads" : ""}. Nobody tells the servers: its session lives until T is over.`;
  },
  start(m, c, id) {
    Object.assign(c, { process: "", session: null, node: null, connected: !c.cut });
    if (!c.cut) plan(m, HOP, "join", id);
    return `A new process runs as ${called(id)}, and is to stand anew.`;
  },
  stop(m, c, id) {
    silence(m, id);
    runOut(m, id);
    c.process = "stopped";
    return `${called(id)} is stopped and does not know it${c.leads ? ": it believes on, and does nothing" : ""}.`;
  },
  go(m, c, id) {
    c.process = "";
    if (c.cut) {
      plan(m, MISSED, "miss", id);
      plan(m, GIVEN_UP, "give up", id);
    } else {
      plan(m, HOP, "back", id);
    }
    const over = c.leads && !lives(m, c.session);
    return `${called(id)} goes on${over ? ", and still believes that it leads: until it is told better only a fence stops its writes" : ""}.`;
  },
  cut(m, c, id) {
    silence(m, id);
    runOut(m, id);
    c.cut = true;
    if (c.process === "") {
      plan(m, MISSED, "miss", id);
      plan(m, GIVEN_UP, "give up", id);
    }
    return `${called(id)} is cut off: no traffic passes on its link, and no connection is closed.`;
  },
  heal(m, c, id) {
    silence(m, id);
    c.cut = false;
    if (c.process === "") plan(m, HOP, "back", id);
    return `The link of ${called(id)} is whole again.`;
  },
};

const HAPPENS = {
  // It opens a session and creates its znode.
  join(m, c, due) {
    const session = ++m.sessions, number = m.number++;
    m.alive.push(session);
    m.znodes.push({ number, owner: due.id, session });
    Object.assign(c, { session, node: number, connected: true });
    plan(m, HOP, "look", due.id);
    return `${called(due.id)} stands: session ${session}, znode ${znode(number)}.`;
  },
  // It lists the znodes: the lowest leads, the others watch one.
  look(m, c, due) {
    const place = m.znodes.findIndex((z) => z.number === c.node && z.session === c.session);
    if (place < 0) return null;
    if (place === 0) {
      const text = c.leads ? "leads on" : "leads";
      Object.assign(c, { leads: true, watches: null });
      return `${called(due.id)} lists the znodes: the lowest is its own, and it ${text}.`;
    }
    const on = m.znodes[m.recipe === "naive" ? 0 : place - 1];
    Object.assign(c, { leads: false, watches: { number: on.number, owner: on.owner } });
    return `${called(due.id)} lists the znodes and watches ${znode(on.number)} of ${called(on.owner)}.`;
  },
  // The servers end a session, and delete its znode.
  expire(m, c, due) {
    if (!lives(m, due.session)) return null;
    m.alive = m.alive.filter((session) => session !== due.session);
    const gone = m.znodes.find((z) => z.session === due.session);
    m.znodes = m.znodes.filter((z) => z !== gone);
    if (c.session === due.session) Object.assign(c, { node: null, watches: null });
    const ids = m.candidates.map((_, id) => id).filter((id) => m.candidates[id].watches?.number === gone.number);
    if (ids.length > 0) plan(m, HOP, "told", due.id, { ids, number: gone.number });
    const watched = ids.length > 0 ? "" : " Nobody watches it.";
    return `T after they last heard of it the servers expire the session of ${called(due.id)}: ${znode(gone.number)} is deleted.${watched}`;
  },
  // Watches fire, once.
  told(m, _, due) {
    const fired = due.ids.filter((id) => m.candidates[id].watches?.number === due.number);
    for (const id of fired) m.candidates[id].watches = null;
    m.told = fired.filter((id) => m.candidates[id].process === "" && !m.candidates[id].cut);
    const deaf = fired.filter((id) => !m.told.includes(id));
    for (const id of m.told) plan(m, HOP, "look", id);
    const names = (ids) => ids.map(called).join(", ");
    const herd = m.told.length > 1 ? ": the herd" : "";
    const heard = m.told.length > 0
      ? `${m.told.length} of ${m.candidates.length - 1} others told that ${znode(due.number)} is gone${herd}: ${names(m.told)}.` : "";
    const missed = deaf.length > 0 ? `Not reached by the news that ${znode(due.number)} is gone: ${names(deaf)}.` : "";
    return [heard, missed].filter((text) => text).join(" ") || null;
  },
  miss(m, c, due) {
    const down = c.leads ? ", and steps down" : "";
    Object.assign(c, { connected: false, leads: false });
    return `${called(due.id)} has heard nothing for 2/5 T: it has no connection${down}.`;
  },
  "give up"(m, c, due) {
    Object.assign(c, { session: null, node: null, watches: null });
    return `${called(due.id)} has heard nothing for 7/5 T, and takes its session for expired.`;
  },
  // Its client speaks to a server again.
  back(m, c, due) {
    if (c.session === null) return HAPPENS.join(m, c, due);
    if (!lives(m, c.session)) {
      const led = c.leads ? " It believes no longer." : "";
      Object.assign(c, { session: null, node: null, watches: null, leads: false, connected: true });
      plan(m, HOP, "join", due.id);
      return `${called(due.id)} is told that its session has expired.${led}`;
    }
    m.due = m.due.filter((other) => other.session !== c.session);
    c.connected = true;
    plan(m, HOP, "look", due.id);
    return `${called(due.id)} reaches a server in time: its session lives on.`;
  },
};

// The model as the board shows it.
function board(m) {
  return {
    text: m.text,
    told: m.told,
    members: m.candidates.map((c, id) => ({
      name: called(id),
      node: c.node === null ? null : znode(c.node),
      session: c.session === null ? null : `session ${c.session}${lives(m, c.session) ? "" : ", expired"}`,
      leads: c.leads,
      watches: c.watches === null ? null : c.watches.owner,
      on: c.watches === null ? "" : znode(c.watches.number),
      left: m.znodes.filter((z) => z.owner === id && z.session !== c.session).map((z) => znode(z.number)).join(", "),
      process: c.process,
      link: c.cut ? "cut off" : "",
      connection: c.connected || c.process !== "" ? "" : "no connection",
    })),
  };
}

// ---- What is played: groups of the record, and free play. All of them can be asked the same.

const moment = (ms) => "+" + (ms / 1000).toFixed(3) + " s";

function recorded(story) {
  const blank = (name) => ({ name, node: null, session: null, leads: false, watches: null, on: "", process: "", link: "", connection: "" });
  return {
    ...story,
    free: false,
    count: () => story.steps.length,
    at: (k) => story.steps[k].at,
    when: (k) => story.steps[k].when,
    text: (k) => story.steps[k].text,
    scene(k) {
      const members = story.names.map(blank);
      for (const step of story.steps.slice(0, k + 1)) for (const [who, key, value] of step.set) members[who][key] = value;
      return { text: story.steps[k].text, told: story.steps[k].told, members };
    },
  };
}

function freePlay(recipe) {
  const born = run(begin(recipe, SIZE)), stood = born.length - 1;
  let models = born;
  return {
    title: "Free play: a model, not the record",
    about: "A model in this page, by the recipe's definition: T = 1 s, step-down on-disconnect, one way of a message 1 ms, expiry to the moment. Do something to a candidate at any step: what would have followed is played anew from there.",
    free: true,
    recipe,
    stood,
    more: "",
    count: () => models.length,
    at: (k) => models[k].now,
    when: (k) => moment(models[k].now),
    text: (k) => models[k].text,
    scene: (k) => board(models[k]),
    // Gives the step at which it is done.
    act(k, action, id) {
      models = models.slice(0, k + 1).concat(run(act(models[k], action, id)));
      return k + 1;
    },
    // Without all that was done.
    calm() {
      models = born;
    },
  };
}

// ---- The page.

const stage = document.getElementById("replay-stage");
const data = JSON.parse(document.getElementById("replay-data").textContent);

function make(tag, text, attributes) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  return element;
}

function button(text, todo, attributes) {
  const element = make("button", text, { type: "button", ...attributes });
  element.addEventListener("click", todo);
  return element;
}

function choice(label, options, todo) {
  const box = make("label", label + " "), select = make("select");
  options.forEach((text, value) => select.append(make("option", text, { value })));
  select.addEventListener("change", () => todo(Number(select.value)));
  box.append(select);
  return [box, select];
}

function range(label, todo) {
  const box = make("label", label + " "), input = make("input", "", { type: "range", min: 0 });
  input.addEventListener("input", () => todo(Number(input.value)));
  box.append(input);
  return [box, input];
}

const WALKS = [["join-and-elect", "Join and elect"], ["leader-dies", "Leader dies, no herd"], ["middle-dies", "A middle one dies"]];
const RECIPES = ["predecessor-watch", "naive"];
// How the steps follow each other: so many milliseconds each, or so many times as slow as they were.
const PACES = [["a step a second", null], ["as it happened", 1], ["ten times slower", 10], ["a thousand times slower", 1000]];

const sources = data.stories.map(recorded).concat(freePlay(RECIPES[0]));
let source = sources[0], place = 0, until = null, timer = null, pace = null;

const [showBox, show] = choice("Show", sources.map((one) => one.title), (k) => choose(k));
const [paceBox] = choice("Pace", PACES.map((one) => one[0]), (k) => { pace = PACES[k][1]; });
const [recipeBox, recipes] = choice("Recipe", RECIPES, (k) => { sources[sources.length - 1] = freePlay(RECIPES[k]); choose(sources.length - 1); });
const [stepBox, stepAt] = range("Step", (k) => { stop(); go(k); });
const [timeBox, timeAt] = range("Time", (t) => { stop(); go(lastBy(t)); });
const anew = button("Begin anew", () => { source.calm(); choose(sources.length - 1); });
const walks = WALKS.map(([kind, title]) => button(title, () => walk(kind), { "data-walk": kind }));
const playing = button("Play", toggle, { "data-do": "play" });
const back = button("Back", () => { stop(); go(place - 1); }, { "data-do": "back" });
const forth = button("Next", () => { stop(); go(place + 1); }, { "data-do": "next" });
const first = button("First", () => { stop(); go(0); }, { "data-do": "first" });
const last = button("Last", () => { stop(); go(source.count() - 1); }, { "data-do": "last" });
const about = make("p", "", { class: "about" }), more = make("p", "", { class: "about" });
const count = make("output", "", { class: "count" });
const onPaper = make("p", "", { class: "on-paper" });
const walking = make("p", "", { class: "walking" });
const says = make("p", "", { class: "says", "aria-live": "polite" });
const belief = make("p", "", { class: "belief" });
const rows = make("ol", "", { class: "queue" });
const SVG = "http://www.w3.org/2000/svg";
const arrows = document.createElementNS(SVG, "svg");
const inWords = make("details", "", { class: "plain" }), words = make("ol", "", { class: "words-of-steps" });

function group(label, ...parts) {
  const box = make("div", "", { role: "group", "aria-label": label, class: "controls" });
  box.append(...parts);
  return box;
}

function build() {
  const view = make("div", "", { class: "board", tabindex: 0, role: "region", "aria-label": "The group; left and right arrow keys step" });
  arrows.setAttribute("aria-hidden", "true");
  arrows.setAttribute("preserveAspectRatio", "none");
  view.append(arrows, rows);
  inWords.append(make("summary", "All steps in words"), words);
  stage.replaceChildren(
    group("What is shown", showBox, recipeBox, anew), about,
    group("Walk-throughs", make("span", "Walk-throughs:"), ...walks),
    group("Steps", first, back, playing, forth, last, paceBox),
    group("Where", stepBox, timeBox, count), onPaper, walking, says, belief, view, more, inWords);
  stage.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: source.count() - 1 }[event.key];
    if (to === undefined || ["INPUT", "SELECT"].includes(event.target.tagName) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    stop();
    go(to);
  });
}

// Shows another group, or free play.
function choose(k) {
  stop();
  until = null;
  source = sources[k];
  show.value = String(k);
  recipeBox.hidden = anew.hidden = !source.free;
  if (source.free) recipes.value = String(RECIPES.indexOf(source.recipe));
  stage.classList.toggle("free", source.free);
  about.textContent = source.about;
  more.textContent = source.more;
  more.hidden = !source.more;
  rows.replaceChildren(...source.scene(0).members.map(row));
  renewed();
  go(source.free ? source.stood : 0);
}

// The steps are others than before.
function renewed() {
  const end = source.count() - 1;
  stepAt.max = String(end);
  timeAt.max = String(source.at(end));
  timeAt.step = String(Math.max(source.at(end) / 1000, 0.001));
  const told = [];
  for (let k = 0; k <= end; k++) told.push(make("li", source.when(k) + "  " + source.text(k)));
  words.replaceChildren(...told);
}

function row(member, id) {
  const item = make("li", "", { class: "row" });
  const who = make("div", "", { class: "who" });
  who.append(make("strong", member.name), make("code", ""), make("small", ""));
  const state = make("div", "", { class: "state" });
  item.append(who, state);
  if (source.free) {
    const doing = make("div", "", { class: "doing" });
    for (const of of ["process", "pause", "link"]) doing.append(button("", (event) => intervene(event.currentTarget, id), { "data-of": of }));
    item.append(doing);
  }
  return item;
}

function intervene(pressed, id) {
  stop();
  const to = source.act(place, pressed.dataset.action, id);
  renewed();
  until = null;
  go(to);
  play(source.count() - 1);
}

// Goes to a step, and draws it.
function go(k) {
  place = Math.min(Math.max(k, 0), source.count() - 1);
  const scene = source.scene(place), end = source.count() - 1;
  stepAt.value = String(place);
  stepAt.setAttribute("aria-valuetext", `${place + 1} of ${end + 1}`);
  timeAt.value = String(source.at(place));
  timeAt.setAttribute("aria-valuetext", source.when(place));
  count.textContent = `Step ${place + 1} of ${end + 1}, ${source.when(place)}`;
  onPaper.textContent = `${source.title}. ${count.textContent}.`;
  if (until !== null && (place < until.from || place > until.to)) until = null;
  if (until === null) walking.textContent = "";
  says.textContent = scene.text;
  belief.textContent = believers(scene);
  scene.members.forEach((member, id) => draw(rows.children[id], member, id, scene));
  point(scene);
  // What has the focus keeps it: nothing is disabled, the ends are only marked.
  first.setAttribute("aria-disabled", String(place === 0));
  back.setAttribute("aria-disabled", String(place === 0));
  forth.setAttribute("aria-disabled", String(place === end));
  last.setAttribute("aria-disabled", String(place === end));
}

function believers(scene) {
  const leading = scene.members.filter((member) => member.leads);
  const named = leading.map((member) => member.name + (member.process === "stopped" ? " (stopped: it does nothing)" : ""));
  if (named.length === 0) return `Believes to lead: nobody${source.more ? " that is shown" : ""}.`;
  return `Believes to lead: ${named.join(" and ")}.` + (named.length > 1 ? " More than one at once." : "");
}

function draw(item, member, id, scene) {
  const told = scene.told.includes(id);
  item.className = "row" + (member.leads ? " leads" : "") + (told ? " told" : "") + (member.process ? " out" : "") + (member.link ? " cut" : "");
  const [who, state, doing] = item.children;
  who.children[1].textContent = member.node || "no znode";
  who.children[2].textContent = member.session || "";
  const chips = [];
  const chip = (text, kind) => chips.push(make("span", text, { class: "tag " + kind }));
  if (member.leads) chip(member.process === "stopped" ? "believes to lead, latent" : "believes to lead", "leading");
  if (member.owns) chip("owns the lead", "plain-tag");
  if (told) chip("told", "woken");
  if (member.process) chip(member.process, "harm");
  if (member.link) chip(member.link, "harm");
  if (member.connection) chip(member.connection, "harm");
  if (member.left) chip(`its old ${member.left} is still there`, "plain-tag");
  if (member.watches !== null) {
    const on = scene.members[member.watches];
    chip("watches " + (on ? on.name + (member.on ? ", " + member.on : "") : "one that is not shown"), "watching");
  }
  if (chips.length === 0) chip(member.session ? "no watch" : "does not stand", "plain-tag");
  state.replaceChildren(...chips);
  if (doing) offers(member).forEach(([text, action], k) => offer(doing.children[k], text, action, member.name));
}

// What can be done to a candidate as it is.
function offers(member) {
  const process = member.process === "killed" ? ["Start again", "start"] : ["Kill", "kill"];
  const pause = member.process === "stopped" ? ["Continue", "go"] : ["Pause", "stop"];
  const link = member.link ? ["Reconnect", "heal"] : ["Cut off", "cut"];
  return member.process === "killed" ? [process, [null], [null]] : [process, pause, link];
}

function offer(element, text, action, name) {
  element.hidden = text === null;
  element.textContent = text || "";
  element.setAttribute("aria-label", `${text} ${name}`);
  element.dataset.action = action || "";
}

// An arrow from everybody who waits to whom it watches.
function point(scene) {
  const ROW = 72, all = [];
  arrows.setAttribute("viewBox", `0 0 60 ${ROW * scene.members.length}`);
  scene.members.forEach((member, id) => {
    if (member.watches === null || !scene.members[member.watches]) return;
    const from = ROW * (id + 0.5) - 6, to = ROW * (member.watches + 0.5) + 6;
    const x = 46 - Math.min(42, 12 + 9 * Math.abs(member.watches - id));
    all.push(shape("path", { d: `M58 ${from} C${x} ${from} ${x} ${to} 50 ${to}` }), shape("polygon", { points: `50,${to - 5} 59,${to} 50,${to + 5}` }));
  });
  arrows.replaceChildren(...all);
}

function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function lastBy(t) {
  let k = 0;
  while (k + 1 < source.count() && source.at(k + 1) <= t) k++;
  return k;
}

function toggle() {
  if (timer !== null) return stop();
  if (place === source.count() - 1) go(0);
  play(source.count() - 1);
}

// Plays until a step.
function play(to) {
  if (place >= to) return;
  playing.textContent = "Pause";
  const wait = pace === null ? 1000 : (source.at(place + 1) - source.at(place)) * pace;
  timer = setTimeout(() => {
    go(place + 1);
    timer = null;
    if (place < to) play(to);
    else stop();
  }, wait);
}

function stop() {
  clearTimeout(timer);
  timer = null;
  playing.textContent = "Play";
}

// Goes to the part of the record that shows it, of the group that is shown where it has one; else the model plays it.
function walk(kind) {
  stop();
  const part = (one) => one.free ? null : one.walks.find((walk) => walk.kind === kind && !(kind === "leader-dies" && one !== source && walk.title !== WALKS[1][1]));
  let k = part(source) ? sources.indexOf(source) : sources.findIndex((one) => part(one));
  if (source.free || k < 0) k = sources.length - 1;
  if (sources[k] !== source) choose(k);
  const way = source.free ? onModel(kind) : part(source);
  until = way;
  go(way.from);
  walking.textContent = `Walk-through: ${way.title}, ${source.free ? "on the model" : "from the record"}, steps ${way.from + 1} to ${way.to + 1}.`;
  play(way.to);
}

function onModel(kind) {
  source.calm();
  if (kind !== "join-and-elect") source.act(source.stood, "kill", kind === "leader-dies" ? 0 : 2);
  renewed();
  const title = kind === "leader-dies" && source.recipe === "naive" ? "Leader dies, the herd" : WALKS.find((one) => one[0] === kind)[1];
  return { title, from: kind === "join-and-elect" ? 0 : source.stood, to: source.count() - 1 };
}

build();
choose(0);
})();
