// The top of the page: the connection, the totals of all throttles, and the processors of the process.

class Header {
  constructor(page) {
    this.page = page;
    this.overall = new CallsChart(1);
    byId("overall").append(this.overall.node);
    page.tooltip.attach(this.overall.node, (age) => {
      const lines = valuesAt(page.model, page.model.overall, age);
      return lines?.filter(([name]) => name !== "probability") ?? null;
    });
  }

  // setConnection shows the state of the stream.
  setConnection(state, words) {
    setAttribute(byId("state"), "data-state", state);
    setText(byId("state"), words);
    byId("main").classList.toggle("stale", state === "lost" || state === "connecting");
  }

  update(model) {
    const p = model.process, up = model.time - Date.parse(p.started);
    setText(byId("process"), [printable(p.command), printable(p.host), "pid " + p.pid, p.go, "up " + agoText(up)].join(" · "));
    setText(byId("clock"), clockText(model.time));
    const all = model.overall, shed = all.shedRate(), calls = shed === null ? null : all.admittedRate() + shed;
    setText(byId("calls"), rateText(calls));
    setText(byId("shed"), rateText(shed));
    setText(byId("share"), percentText(calls === null ? null : calls > 0 ? shed / calls : 0));
    this.overall.draw(model.times, model.time, all);
    const top = model.times.length === 0 ? 0 : Math.max(...all.admitted.map((v, i) => v + (all.shed?.[i] ?? 0)));
    setText(byId("peak"), top > 0 ? "peak " + rateText(top) + " /s" : "");
    this.drawProcessor(p.processor, [...model.rows.values()].filter((r) => r.processor_wait_seconds > 0));
    this.summarise(model);
  }

  // drawProcessor shows how long requests wait for a processor, and what is shed for it. Of is absent
  // before the process has served calls. Servers are the rows that serve them.
  drawProcessor(of, servers) {
    byId("processor").hidden = !of;
    if (!of) return;
    const other = of.floor_seconds >= 0.001 ? ", " + durationText(of.floor_seconds) + " for other work" : "";
    const shadow = servers.length > 0 && servers.every((r) => r.mode === "shadow");
    setAttribute(byId("processor"), "data-level", of.share > 0 ? "shed" : "ok");
    setText(byId("processor-verb"), shadow ? "would be shed for it" : "shed for it");
    setText(byId("processor-wait"), durationText(of.wait_seconds));
    setText(byId("processor-aim"), of.aim_seconds > 0 ? "aim " + durationText(of.aim_seconds) + other : "");
    setText(byId("processor-runnable"), grouped.format(of.runnable));
    setText(byId("processor-count"), "on " + plural(of.processors, "processor"));
    setText(byId("processor-share"), percentText(of.share));
    const byPriority = Object.entries(of.probabilities).map(([name, v]) => name + " " + percentText(v));
    setText(byId("processor-priorities"), of.share > 0 ? byPriority.join(", ") : "");
  }

  // summarise names the throttles that shed. Screen readers read each change aloud. So the text has
  // no numbers that change all the time, and changes every five seconds at most.
  summarise(model) {
    const rows = [...model.rows.values()], of = (state) => rows.filter((r) => r.state() === state);
    const shedding = of("shedding"), would = of("would");
    setText(byId("shedding"), `${shedding.length} of ${grouped.format(rows.length)}`);
    for (const id of ["shed-tile", "share-tile"]) setAttribute(byId(id), "data-level", shedding.length > 0 ? "shed" : "ok");
    const parts = [shedding.length === 0 ? "No throttle sheds calls." : names(shedding) + (shedding.length === 1 ? " sheds calls." : " shed calls.")];
    if (would.length > 0) parts.push(names(would) + " would shed calls, but " + (would.length === 1 ? "is" : "are") + " in Shadow mode.");
    const text = rows.length === 0 ? "" : parts.join(" ");
    if (model.times.length > 0 && text !== this.summary && !(Math.abs(model.time - this.summaryAt) < 5000)) {
      [this.summary, this.summaryAt] = [text, model.time];
      setText(byId("summary"), text);
    }
    document.title = (shedding.length > 0 ? `(${shedding.length} shedding) ` : "") + "Throttles · " + printable(model.process.command);
  }
}

// names lists the first three rows by name.
function names(rows) {
  const first = rows.map((r) => r.name).sort().slice(0, 3).map((n) => printable(n.length > 60 ? n.slice(0, 60) + "…" : n));
  const rest = rows.length - first.length;
  if (rest > 0) return first.join(", ") + " and " + grouped.format(rest) + " more";
  return first.length < 2 ? first.join("") : first.slice(0, -1).join(", ") + " and " + first[first.length - 1];
}
