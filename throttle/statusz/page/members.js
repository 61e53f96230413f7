// The members of a Group, worst first. A closed card lists only the members that shed calls.

const membersInterval = 3000; // milliseconds between two updates, so that rows do not change places all the time

// MemberLine shows one member. Its cells are in the columns of the lines above.
class MemberLine extends Cells {
  constructor() {
    super();
    this.key = element("bdi");
    this.head = element("th", { class: "c-key", scope: "row", role: "rowheader", colspan: "4" }, this.key);
    this.node = element("tr", { role: "row" }, this.head, this.probabilityCell(),
      cell("chart small", ""), cell("cause", ""), this.flightCell(), this.windowCell());
  }

  update(member) {
    const key = printable(member.key);
    setText(this.key, key);
    setAttribute(this.head, "title", key);
    this.drawCells(member.probability, member.in_flight, member.window);
  }
}

class Members {
  constructor(row) {
    this.caption = element("td", { title: "Members of the throttle.Group. The probability is the highest of all priorities; in flight and window are sums.", colspan: "8", role: "cell" });
    this.rest = element("td", { colspan: "8", role: "cell" });
    this.restLine = element("tr", { class: "notes", role: "row" }, this.rest);
    this.body = element("tbody", { role: "rowgroup" });
    this.node = element("table", { class: "lines members", role: "table", "aria-label": "Members of " + row.label.slice(0, 80) }, columnGroup(),
      element("thead", { role: "rowgroup" }, element("tr", { class: "notes", role: "row" }, this.caption)), this.body);
    this.lines = [];
    this.drawnAt = this.drawn = null;
    this.height = "0rem";
  }

  // update draws the members and returns the height of the table in CSS.
  update(row, open, time) {
    const shedding = row.members.filter((m) => m.probability > 0 || m.window.shed > 0).length;
    const listed = open ? row.members.length : shedding;
    const state = [row.members.length, listed, shedding].join();
    if (state === this.drawn && Math.abs(time - this.drawnAt) < membersInterval) return this.height;
    [this.drawn, this.drawnAt] = [state, time];
    this.draw(row, listed, shedding);
    return this.height;
  }

  draw(row, listed, shedding) {
    const total = row.members.length + row.members_omitted, rest = total - listed;
    this.node.hidden = total === 0;
    while (this.lines.length < listed) this.lines.push(new MemberLine());
    this.lines.length = listed;
    this.lines.forEach((line, i) => line.update(row.members[i]));
    setText(this.caption, plural(total, "member") + (shedding > 0 ? ", worst first" : ", no calls shed"));
    setText(this.rest, `and ${grouped.format(rest)} more` + (shedding < row.members.length ? " without shed calls" : ""));
    const hasRest = listed > 0 && rest > 0;
    this.body.replaceChildren(...this.lines.map((line) => line.node), ...(hasRest ? [this.restLine] : []));
    this.height = total === 0 ? "0rem" : `calc(${listed} * var(--member-height) + ${hasRest ? 2 : 1} * var(--note-height) + .25rem)`;
  }
}
