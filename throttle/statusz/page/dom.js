// Creates and changes nodes. Data from the process always becomes text, never markup.

function byId(id) { return document.getElementById(id); }

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function svgElement(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// hidden returns text that only screen readers show.
function hidden(text) { return element("span", { class: "hidden" }, text); }

// setText sets a node's text if it differs, so that unchanged nodes are not drawn again.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}
