"use strict";
// Derives the embedded ledger again, and compares what the page shows with it. What that can and cannot show stands in
// export/html.py; the rules of the ledger in hall/canonical.py and hall/ledger.py.
(() => {
  const LINE = "entry hash text salt erased_by";
  const MEMBERS = "schema thread_id head plan ledger";
  const GREEN = "verified", RED = "broken", GREY = "unchecked";

  class Fault extends Error {}
  const require = (holds, why) => { if (!holds) throw new Fault(why); };
  const keys = (value) => Object.keys(value).join(" ");

  async function sha256(...lines) {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(lines.join("\n")));
    return "sha256:" + Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // ------------------------------------------------------------------------------------------------------ the ledger

  // JSON has many spellings of one value; a page is written in one, so that no changed byte passes for the same.
  const spelled = (data) => JSON.stringify(data).replace(/[<>&\u2028\u2029]/g,
    (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

  function read(source) {
    const data = JSON.parse(source);
    require(spelled(data) === source && keys(data) === MEMBERS, "the embedded ledger is not as it was written");
    require(data.schema === "debate-hall/debate/v1", "the embedded ledger is of another version");
    return data;
  }

  function parsed(line) {
    try { return JSON.parse(line.entry); } catch { return {}; }
  }

  async function checkLedger(data, entries) {
    const tombstones = new Map();  // where they stand, by the entry whose text they deleted
    for (const [seq, entry] of entries.entries()) if (entry.kind === "tombstoned") tombstones.set(entry.target, seq);
    let head;
    for (const [seq, line] of data.ledger.entries()) {
      try {
        await checkEntry(data, line, entries[seq], seq, head);
        await checkText(line, entries[seq], tombstones.get(seq), entries);
      } catch (fault) {
        throw new Fault(`entry ${seq}: ${fault.message}`);
      }
      head = line.hash;
    }
    require(data.head === head, `entry ${entries.length}: it is missing, or the head is not that of this ledger`);
    const pinned = data.plan === null ? undefined : await sha256("debate-hall/plan/v1", data.plan);
    require(entries[0].plan === pinned, "entry 0: the plan is not the one that was pinned");
  }

  async function checkEntry(data, line, entry, seq, head) {
    require(keys(line) === LINE, "it is not as an export writes it");
    require(line.hash === await sha256("debate-hall/entry/v1", line.entry), "its hash is not the hash of its bytes");
    require(entry.v === 1 && entry.seq === seq, "another entry stands in its place");
    require(entry.thread_id === data.thread_id, "it belongs to another debate");
    require(entry.prev === head, "it does not follow the entry before it");
  }

  async function checkText(line, entry, tombstone, entries) {
    if (entry.kind === "tombstoned") {
      require(entries[entry.target].digest === entry.original, "it does not name the text that was redacted");
    }
    if (tombstone !== undefined || entry.digest === undefined) {
      require(line.text === null && line.salt === null, "a text stands where there is none");
      require(line.erased_by === (tombstone ?? null), "its redaction names another tombstone");
      return;
    }
    require(line.erased_by === null && /^[0-9a-f]{64}$/.test(line.salt), "its text or salt is missing");
    require(entry.digest === await sha256("debate-hall/text/v1", line.salt, line.text),
      "its text is not the text that was written");
  }

  // ------------------------------------------------------------------------------------------------ what the page shows

  // As wording.visible does: what steers a terminal or reorders a line is shown as a sign.
  const visible = (text) => text.replaceAll("\r\n", "\n").replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (sign) => sign < " " ? String.fromCharCode(0x2400 + sign.charCodeAt(0)) : sign === "\u007f" ? "\u2421" : "\ufffd");

  const FORMS = {
    plain: (value) => visible(String(value)),
    count: (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ","),
    dollars: (value) => "$" + value,
    time: (value) => value.slice(0, 19).replace("T", " ") + " UTC",
    turn: (value) => "T" + (value + 1),
  };

  // The words of an element without the marks behind broken citations.
  function wordsOf(element) {
    const copy = element.cloneNode(true);
    for (const added of copy.querySelectorAll("[data-added]")) {
      require(/^ \(broken: .*\)$/s.test(added.textContent), "words stand in a text that are not its own");
      added.remove();
    }
    return copy.textContent;
  }

  function checkShown(data, entries) {
    const told = new Set();
    const shown = document.querySelectorAll("[data-of]");
    for (const element of shown) {
      const [seq, path, how] = element.dataset.of.split(" ");
      const line = data.ledger[seq];
      const member = path && path.split(".").reduce((value, name) => value[name], {...entries[seq], hash: line.hash});
      const expected = path ? FORMS[how || "plain"](member) : visible(line.text);
      require(wordsOf(element) === expected, `entry ${seq}: ${path || "its text"} is shown otherwise than it stands`);
      if (!path) told.add(Number(seq));
    }
    for (const [seq, line] of data.ledger.entries()) {
      require(line.text === null || told.has(seq), `entry ${seq}: its text is not shown`);
    }
    return shown.length;
  }

  function checkEvidence(data) {
    const shown = document.querySelectorAll("[data-line]");
    const pieces = shown.length ? JSON.parse(data.plan).evidence.map((piece) => piece.text.split("\n")) : [];
    for (const element of shown) {
      const [piece, number] = element.dataset.line.split(" ");
      require(element.textContent === visible(pieces[piece][number - 1]),
        `line ${number} of a piece of evidence is shown otherwise than it was pinned`);
    }
    return shown.length;
  }

  function outline(nodes, parts) {
    for (const node of nodes) {
      if (node.nodeType === Node.TEXT_NODE) parts.push(node.data);
      if (node.nodeType !== Node.ELEMENT_NODE || node.hasAttribute("data-live")) continue;
      const told = [...node.attributes].filter(({name}) => name !== "open").map(({name, value}) => `\u0002${name}=${value}`);
      parts.push("\u0001" + node.localName, ...told.sort(), "\u0003");
      outline(node.childNodes, parts);
      parts.push("\u0004");
    }
    return parts;
  }

  async function check(embedded, whole) {
    const data = read(embedded.textContent);
    const entries = data.ledger.map(parsed);
    const compared = () => checkShown(data, entries) + checkEvidence(data);
    await checkLedger(data, entries);
    const count = compared();
    require(embedded.dataset.checksum === await sha256(whole), "the report is not as it was written");
    return {entries: entries.length, compared: count, head: data.head, thread: data.thread_id};
  }

  // ------------------------------------------------------------------------------------------------- what is said of it

  function put(parent, name, text, kind) {
    const element = document.createElement(name);
    element.textContent = text;
    if (kind) element.className = kind;
    parent.append(element);
    return element;
  }

  function say(kind, first, then) {
    const box = document.getElementById("check");
    box.replaceChildren();
    box.className = kind;
    const line = put(box, "p", "");
    put(line, "strong", first);
    line.append(" " + then);
    return box;
  }

  function sayVerified({entries, compared, head, thread}) {
    const command = `debate-hall verify ${thread} --head ${head}`;
    const box = say(GREEN, "✓ Verified here.",
      `The ${entries} entries of the ledger follow from one another, and ${compared} texts and facts on this page are theirs.`);
    const row = put(box, "p", "", "head");
    row.append("Head ");
    put(row, "code", head);
    copying(row, "Copy head", head);
    copying(row, "Copy command", command);
    const more = put(box, "details", "");
    put(more, "summary", "What this cannot show");
    put(more, "p", "A page that was rewritten as a whole, this check included, would say the same. Compare the head with "
      + "one that was kept elsewhere, or ask the hall that held the debate:");
    put(more, "p", "").append(put(more, "code", command));
    put(more, "p", "Outcomes, options and counts are derived from the ledger. A checksum shows that they are as they "
      + "were written; debate-hall export --format html derives them again.");
  }

  function copying(row, label, text) {
    const button = put(row, "button", label);
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Copying is not allowed here";
      }
    });
  }

  async function main() {
    if (!globalThis.crypto || !crypto.subtle) {
      say(GREY, "Not checked.", "This browser offers no Web Crypto to this page, so its ledger could not be checked here.");
      return;
    }
    try {
      const embedded = document.getElementById("ledger");
      const before = [...document.querySelectorAll("title, style, script:not([type])")].map((part) => part.textContent);
      const whole = [...before, ...outline([document.getElementById("report")], [])].join("");
      sayVerified(await check(embedded, whole));
    } catch (problem) {
      const why = problem instanceof Fault ? problem.message : `the embedded ledger cannot be read (${problem.message})`;
      say(RED, "✗ This page does not verify.", `It is not what was written: ${why}. Do not rely on it.`);
    }
  }

  document.addEventListener("DOMContentLoaded", main);
})();
