// The table of sources: breakers, buckets and backoffs.

const levelMarks = { ok: "●", warn: "▲", bad: "■" };

class Sources {
  constructor() {
    this.section = byId("sources");
    this.body = byId("sources-body");
    this.tile = byId("sources-tile");
    this.total = byId("sources-state");
    this.lines = new Map(); // id to { node, drawn, ages }
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
    setText(this.total, bad > 0 ? `${bad} bad` : warn > 0 ? plural(warn, "warning") : "all OK");
    setAttribute(this.tile, "data-level", bad > 0 ? "bad" : warn > 0 ? "warn" : "ok");
  }

  draw(line, source) {
    line.drawn = source;
    line.ages = [];
    const cell = (label, ...children) => element("td", { "data-label": label }, ...children);
    const state = element("span", { class: "level " + source.level }, element("i", { "aria-hidden": "true" }, levelMarks[source.level] ?? "■"),
      printable(source.error ? source.state || "no status" : source.state || "unknown"));
    const figures = source.figures.map((f) => element("span", { class: "pair" }, element("span", {}, printable(f.name) + " "),
      element("b", {}, plainText(f.value)), f.unit && f.value !== null ? " " + printable(f.unit) : ""));
    const error = source.error ? [element("span", { class: "error" }, printable(source.error))] : [];
    const changes = source.transitions.slice(-3).reverse().map((t) => this.change(line, t));
    const name = element("bdi", {}, printable(source.name));
    line.node.replaceChildren(cell("state", state), cell("kind", printable(source.kind)),
      element("th", { scope: "row", "data-label": "name", title: printable(source.name) }, name), cell("figures", ...error, ...figures),
      cell("last", ...changes));
  }

  change(line, t) {
    const at = Date.parse(t.time), age = element("time", { class: "age", datetime: t.time });
    if (!Number.isNaN(at)) line.ages.push({ node: age, at });
    return element("span", { class: "change" }, t.from ? printable(t.from) + " → " : "→ ", element("b", {}, printable(t.to)), " ", age);
  }
}
