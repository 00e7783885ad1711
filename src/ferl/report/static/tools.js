// What all parts of the page share: the data, elements, numbers as text. Text that comes from the table or the model is
// set as text, never as markup.
"use strict";

const ferlTools = (() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const byId = (id) => document.getElementById(id);

  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in made && name !== "list") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function drawing(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // A bar of parts, each a width between 0 and 1 and a class, one over the other.
  function bar(text, ...layers) {
    const rectangles = [[1, "track"], ...layers].map(([width, look]) =>
      drawing("rect", { width: 100 * Math.min(Math.max(width, 0), 1), height: 10, class: look }));
    return drawing("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": text }, ...rectangles);
  }

  const fixed = (value, digits = 2) => value.toFixed(digits);
  const amount = (value) =>
    !isFinite(value) ? "beyond all numbers" : value < 100 ? fixed(value) : value < 1e4 ? fixed(value, 0) : value.toPrecision(3);
  // Four significant digits, or all digits of a whole number, as number_text in Python.
  const short = (value) =>
    String(Math.abs(value) >= 1e15 ? Number(value.toPrecision(4)) : Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4)));
  const signed = (value) => (Math.abs(value) < 0.005 ? "0.00" : `${value < 0 ? "-" : "+"}${fixed(Math.abs(value))}`);
  // 0 and 100 only of what is 0 or 1, as in Python.
  const percent = (value) =>
    value > 0 && value < 0.005 ? "less than 1 %" : value >= 0.995 && value < 1 ? "more than 99 %" : `${fixed(100 * value, 0)} %`;
  const listed = (words, last = "and") =>
    words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words[words.length - 1]}`;
  const tint = (c) => `c${c % 8}`;

  // A number in the page; its full value for who wants to read it exactly.
  function figure(value, text, key) {
    return element("span", { className: "num", "data-value": String(value), "data-key": key }, text);
  }

  // A word that the glossary explains.
  function term(word, text = word) {
    if (!(word in data.glossary)) return element("span", {}, text);
    return element("dfn", { className: "term", tabIndex: 0, "data-term": word, "aria-describedby": `term-${word.replaceAll(" ", "-")}` }, text);
  }

  // Days since the beginning of 1970 as a date, with as much of the time of day as there is; as date_text in Python.
  const isoText = (days) => {
    const moment = new Date(Math.round(days * 86400000));
    return Number.isNaN(moment.getTime()) ? "" : moment.toISOString();
  };
  function dateText(days, isZoned) {
    const iso = isoText(days), seconds = iso.slice(11, 19);
    if (!iso) return `${short(days)} days after 1970-01-01`;
    const time = seconds === "00:00:00" ? "" : ` ${seconds.endsWith(":00") ? seconds.slice(0, 5) : seconds}`;
    return `${iso.slice(0, 10)}${time}${isZoned ? " UTC" : ""}`;
  }

  return { isoText, dateText, data, byId, element, drawing, bar, fixed, amount, short, signed, percent, listed, tint, figure, term };
})();
