// The top of the page: the connection, and all throttles together.

class Header {
  constructor(page) {
    this.page = page;
    this.overall = new CallsChart(1);
    byId("overall").append(this.overall.node);
    page.readout.explain(this.overall.node, (age) => {
      const lines = momentOf(page.model, page.model.overall, age);
      return lines?.filter(([name]) => name !== "probability") ?? null;
    });
  }

  // connection tells how the stream is, in words.
  connection(state, words) {
    setAttribute(byId("state"), "data-state", state);
    setText(byId("state"), words);
    byId("main").classList.toggle("stale", state === "lost" || state === "connecting");
  }

  update(model) {
    const p = model.process, up = model.time - Date.parse(p.started);
    setText(byId("process"), [visible(p.command), visible(p.host), "pid " + p.pid, p.go, "up " + agoText(up)].join(" · "));
    setText(byId("clock"), clockText(model.time));
    const all = model.overall, shed = all.shedRate(), calls = shed === null ? null : all.admittedRate() + shed;
    setText(byId("calls"), rateText(calls));
    setText(byId("shed"), rateText(shed));
    setText(byId("share"), shareText(calls === null ? null : calls > 0 ? shed / calls : 0));
    this.overall.draw(model.times, model.time, all);
    const top = model.times.length === 0 ? 0 : Math.max(...all.admitted.map((v, i) => v + (all.shed?.[i] ?? 0)));
    setText(byId("peak"), top > 0 ? "peak " + rateText(top) + " /s" : "");
    this.summarise(model);
  }

  // summarise says who sheds. It is read aloud when it changes, so there are no numbers in it that change all the time, and it changes
  // every five seconds at most.
  summarise(model) {
    const rows = [...model.rows.values()], of = (state) => rows.filter((r) => r.state() === state);
    const shedding = of("shedding"), would = of("would");
    setText(byId("shedding"), `${shedding.length} of ${grouped.format(rows.length)}`);
    for (const id of ["shed-tile", "share-tile"]) setAttribute(byId(id), "data-level", shedding.length > 0 ? "shed" : "ok");
    const parts = [shedding.length === 0 ? "No throttle sheds calls." : names(shedding) + (shedding.length === 1 ? " sheds calls." : " shed calls.")];
    if (would.length > 0) parts.push(names(would) + " would, but " + (would.length === 1 ? "is" : "are") + " in shadow.");
    const said = rows.length === 0 ? "" : parts.join(" ");
    if (model.times.length > 0 && said !== this.said && !(model.time - this.saidAt < 5000)) {
      [this.said, this.saidAt] = [said, model.time];
      setText(byId("summary"), said);
    }
    document.title = (shedding.length > 0 ? `(${shedding.length} shedding) ` : "") + "Throttles · " + visible(model.process.command);
  }
}

// names lists some rows by name.
function names(rows) {
  const first = rows.map((r) => r.name).sort().slice(0, 3).map((n) => visible(n.length > 60 ? n.slice(0, 60) + "…" : n));
  const rest = rows.length - first.length;
  if (rest > 0) return first.join(", ") + " and " + grouped.format(rest) + " more";
  return first.length < 2 ? first.join("") : first.slice(0, -1).join(", ") + " and " + first[first.length - 1];
}
