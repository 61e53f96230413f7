// The table of what is not a throttle.

const levelMarks = { ok: "●", warn: "▲", bad: "■" };

class Sources {
  constructor() {
    this.section = byId("sources");
    this.body = byId("sources-body");
    this.tile = byId("sources-tile");
    this.total = byId("sources-state");
    this.lines = new Map(); // id to what was drawn and its node
  }

  update(model) {
    const sources = [...model.sources.values()].sort((a, b) => compare(a.kind, b.kind) || compare(a.name, b.name) || a.id - b.id);
    this.section.hidden = this.tile.hidden = sources.length === 0;
    for (const [id, line] of this.lines) {
      if (!model.sources.has(id)) {
        line.node.remove();
        this.lines.delete(id);
      }
    }
    sources.forEach((source, i) => {
      const line = this.lines.get(source.id) ?? { node: element("tr") };
      this.lines.set(source.id, line);
      if (line.drawn !== source) this.draw(line, source);
      if (this.body.children[i] !== line.node) this.body.insertBefore(line.node, this.body.children[i] ?? null);
      for (const { node, at } of line.ages) setText(node, agoText(model.time - at) + " ago");
    });
    const bad = sources.filter((s) => s.level === "bad").length, warn = sources.filter((s) => s.level === "warn").length;
    setText(this.total, bad > 0 ? `${bad} bad` : warn > 0 ? `${warn} to watch` : "all well");
    setAttribute(this.tile, "data-level", bad > 0 ? "bad" : warn > 0 ? "warn" : "ok");
  }

  draw(line, source) {
    line.drawn = source;
    line.ages = [];
    const cell = (label, ...children) => element("td", { "data-label": label }, ...children);
    const state = element("span", { class: "level " + source.level }, element("i", { "aria-hidden": "true" }, levelMarks[source.level] ?? "■"),
      visible(source.error ? source.state || "no answer" : source.state || "unknown"));
    const figures = source.figures.map((f) => element("span", { class: "pair" }, element("span", {}, visible(f.name) + " "),
      element("b", {}, plainText(f.value)), f.unit && f.value !== null ? " " + visible(f.unit) : ""));
    const complaint = source.error ? [element("span", { class: "complaint" }, visible(source.error))] : [];
    const changes = source.transitions.slice(-3).reverse().map((t) => this.change(line, t));
    const name = element("bdi", {}, visible(source.name));
    line.node.replaceChildren(cell("state", state), cell("kind", visible(source.kind)),
      element("th", { scope: "row", "data-label": "name", title: visible(source.name) }, name), cell("figures", ...complaint, ...figures),
      cell("last", ...changes));
  }

  change(line, t) {
    const at = Date.parse(t.time), age = element("time", { class: "age", datetime: t.time });
    if (!Number.isNaN(at)) line.ages.push({ node: age, at });
    return element("span", { class: "change" }, t.from ? visible(t.from) + " → " : "→ ", element("b", {}, visible(t.to)), " ", age);
  }
}
