// A card shows one row: the throttles of one name. Its lines exist only while it is in view.

const stateWords = { shedding: "sheds", would: "would shed", admitting: "admits all", idle: "idle" };

// The columns of the lines: class of the cells, heading, tooltip of the heading.
const columns = [
  ["priority", "Priority", "Priority of the calls"],
  ["rate", "Admitted /s", "Calls admitted per second, mean of 5 seconds"],
  ["rate", "Shed /s", "Calls shed by the throttle per second, mean of 5 seconds"],
  ["chart", "Calls, 5 min", "Calls admitted and shed per second, last 5 minutes"],
  ["chance", "Probability", "Probability that the next call is shed"],
  ["chart small", "Probability, 5 min", "Probability in the last 5 minutes, from 0 to 100 %"],
  ["cause", "Cause", "Cause of the probability: rejections of this priority (own) or of higher priorities (above); limit: calls are late, and too many are open; processor: requests wait for a processor; told: the backend says that it sheds such calls"],
  ["flight", "In flight", "Calls admitted and not yet ended"],
  ["window", "Accepted, rejected, shed", "Calls in the throttle's window, by outcome"],
];

function classOf(kind) { return "c-" + kind.split(" ").join(" c-"); }

function columnGroup() { return element("colgroup", {}, ...columns.map(([kind]) => element("col", { class: classOf(kind) }))); }

function headingRow() {
  const cells = columns.map(([kind, title, meaning]) => element("th", { class: classOf(kind), scope: "col", role: "columnheader", title: meaning }, title));
  const last = cells[cells.length - 1];
  last.replaceChildren(element("span", { class: "group" }, "In the window"), ...["accepted", "rejected", "shed"].map((word) => element("span", {}, word)));
  return element("tr", { role: "row" }, ...cells);
}

// cell returns a cell of a line. The label is shown where there are no column headings.
function cell(kind, label, ...children) {
  return element("td", { class: classOf(kind), role: "cell", "data-label": label }, ...children);
}

const windowKinds = ["accepted", "rejected", "shed"];

// Cells are the cells that the lines of priorities and of members share.
class Cells {
  constructor() {
    this.fill = element("i", { class: "fill" });
    this.chance = element("span", { class: "figure" });
    this.flight = element("span", { class: "figure" });
    this.window = windowKinds.map((kind) => element("span", { class: "figure " + kind }));
    this.parts = windowKinds.map((kind) => element("i", { class: kind }));
  }

  probabilityCell() {
    return cell("chance", "probability", element("span", { class: "bar", "aria-hidden": "true" }, this.fill), this.chance);
  }

  flightCell() { return cell("flight", "in flight", this.flight); }

  windowCell() {
    return cell("window", "window", ...this.window.flatMap((w, i) => [hidden(["accepted ", ", rejected ", ", shed "][i]), w]),
      element("span", { class: "parts", "aria-hidden": "true" }, ...this.parts));
  }

  // drawCells draws the probability, the calls in flight and the window.
  drawCells(probability, inFlight, window) {
    this.fill.style.width = 100 * probability + "%";
    this.figure(this.chance, percentText(probability));
    this.figure(this.flight, countText(inFlight));
    const all = window.accepted + window.rejected + window.shed;
    windowKinds.forEach((kind, i) => {
      this.figure(this.window[i], countText(window[kind]), kind);
      this.parts[i].style.width = (all === 0 ? 0 : 100 * window[kind] / all) + "%";
    });
  }

  // figure sets a number. Zero is grey.
  figure(node, text, kind = "") {
    setText(node, text);
    setAttribute(node, "class", ("figure " + (/^(0|0 %|–)$/.test(text) ? "nil" : kind)).trim());
  }
}

// Line shows one priority in a card.
class Line extends Cells {
  constructor(priority, tooltip, describe) {
    super();
    this.admitted = element("span", { class: "figure" });
    this.shed = element("span", { class: "figure" });
    this.would = element("span", { class: "tag" }, "would");
    this.cause = element("span");
    this.calls = new CallsChart(3);
    this.chances = new ProbabilityChart(3);
    tooltip.attach(this.calls.node, describe);
    tooltip.attach(this.chances.node, describe);
    this.node = element("tr", { role: "row" },
      element("th", { class: "c-priority", scope: "row", role: "rowheader" }, priority.name),
      cell("rate admitted", "admitted /s", this.admitted),
      cell("rate shed", "shed /s", this.would, this.shed),
      cell("chart", "calls, 5 min", this.calls.node),
      this.probabilityCell(),
      cell("chart small", "probability, 5 min", this.chances.node),
      cell("cause", "cause", this.cause),
      this.flightCell(),
      this.windowCell(),
    );
  }

  update(priority, limit, { times, time, causes }) {
    const shed = priority.shedRate(), would = priority.wouldShedRate(), inShadow = would > 0 && !(shed > 0);
    const shown = inShadow ? would : shed;
    setAttribute(this.node, "class", priority.used() ? "" : "unused");
    this.figure(this.admitted, rateText(priority.admittedRate()));
    this.figure(this.shed, rateText(shown), shown > 0 ? (inShadow ? "would" : "shed") : "");
    this.would.hidden = !inShadow;
    setText(this.cause, priority.probability > 0 ? causes[priority.cause] : limit > 0 ? "limit" : "");
    this.drawCells(priority.probability, priority.inFlight, priority.window);
    this.calls.draw(times, time, priority);
    this.chances.draw(times, time, priority);
  }
}

class Card {
  constructor(row, page) {
    this.page = page;
    this.row = row;
    this.visible = false;
    this.lines = null;
    this.members = null;
    this.details = null;
    const id = "t" + row.id;
    this.name = element("h2", { id, class: "name" }, element("bdi"));
    this.badges = element("p", { class: "badges" });
    this.overrides = element("ul", { class: "overrides" });
    this.overridden = "[]";
    this.state = element("span", { class: "word" });
    this.sum = element("span");
    this.more = element("button", { type: "button", class: "more", "aria-expanded": "false", "aria-controls": "d" + row.id }, "Details");
    this.more.addEventListener("click", () => this.toggle());
    this.body = element("tbody", { role: "rowgroup" });
    this.table = element("table", { class: "lines", role: "table", "aria-labelledby": id }, columnGroup(),
      element("thead", { class: "hidden", role: "rowgroup" }, headingRow()), this.body);
    this.node = element("article", { class: "card", "aria-labelledby": id },
      element("div", { class: "title" }, this.name, element("p", { class: "now" }, this.state, this.sum),
        element("div", { class: "foot" }, this.badges, this.more), this.overrides),
      element("div", { class: "hold" }));
    this.hold = this.node.lastChild;
    this.drawHead();
  }

  // drawHead draws the name and the badges, and reserves the height of the lines.
  drawHead() {
    const row = this.row;
    this.head = row.head;
    this.limited = row.slow?.closed ?? false;
    this.greedy = row.tenants?.above ?? 0;
    setText(this.name.firstChild, row.label);
    setAttribute(this.name, "title", row.label);
    setAttribute(this.more, "aria-label", "Details of " + row.label.slice(0, 80));
    const badges = [badge(row.mode, row.mode), badge(row.policy, "policy")];
    if (row.instances > 1) badges.push(badge(plural(row.instances, "instance"), "instances"));
    if (row.alert !== "none") badges.push(badge("alert: " + row.alert, "alert"));
    if (this.limited) badges.push(badge("slow: limit", "alert"));
    if (this.greedy > 0) badges.push(badge(plural(this.greedy, "tenant") + " above", "alert"));
    if (row.mixed) badges.push(badge("settings differ", "mixed"));
    this.badges.replaceChildren(...badges);
    this.node.style.setProperty("--lines", row.priorities.length);
    if (this.lines && this.lines.length !== row.priorities.length) this.drawLines();
  }

  // drawLines creates the lines.
  drawLines() {
    this.lines = this.row.priorities.map((priority, p) => new Line(priority, this.page.tooltip, (age) => valuesAt(this.page.model, this.row.priorities[p], age)));
    this.body.replaceChildren(...this.lines.map((line) => line.node));
    this.members = new Members(this.row);
    this.hold.replaceChildren(this.table, this.members.node);
  }

  setVisible(visible) {
    this.visible = visible;
    if (visible) return this.update();
    this.lines = this.members = null;
    this.hold.replaceChildren();
  }

  update() {
    if (!this.visible) return;
    const { row, page: { model } } = this;
    if (this.head !== row.head || this.limited !== (row.slow?.closed ?? false) || this.greedy !== (row.tenants?.above ?? 0)) this.drawHead();
    if (!this.lines) this.drawLines();
    const state = row.state();
    setAttribute(this.node, "data-state", state);
    setText(this.state, stateWords[state]);
    setText(this.sum, this.sumText(state));
    row.priorities.forEach((priority, p) => this.lines[p].update(priority, row.limit(p), model));
    this.node.style.setProperty("--members-height", this.members.update(row, this.details !== null, model.time));
    this.drawOverrides();
    this.details?.update(row);
  }

  // drawOverrides shows the settings that are not those of the code.
  drawOverrides() {
    const texts = overrideTexts(this.page.control.overridden(this.row.name)), drawn = JSON.stringify(texts);
    if (drawn === this.overridden) return;
    this.overridden = drawn;
    this.overrides.replaceChildren(...texts.map((text) => element("li", {}, text)));
  }

  sumText(state) {
    const calls = this.row.calls();
    if (state === "idle") return "";
    const share = state === "shedding" ? this.row.shed() / calls : state === "would" ? this.row.wouldShed() / calls : null;
    return (share === null ? "of " : percentText(share) + " of ") + rateText(calls) + " /s";
  }

  toggle() {
    const open = this.details === null;
    setAttribute(this.more, "aria-expanded", String(open));
    this.node.classList.toggle("open", open);
    if (!open) {
      this.details.node.remove();
      this.details = null;
    } else {
      this.details = new Details(this.row, this.page.model, this.page.control);
      this.node.append(this.details.node);
    }
    this.update();
  }
}

function badge(text, kind) { return element("span", { class: "badge " + kind }, text); }
