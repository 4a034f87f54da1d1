"use strict";
// Opens and shuts what can be expanded; the page is whole without it.
(() => {
  const all = () => [...document.querySelectorAll("#report details")];
  const turns = () => [...document.querySelectorAll("#debate details")];

  for (const [selector, open] of [["[data-open]", true], ["[data-shut]", false]]) {
    const button = document.querySelector(selector);
    if (!button) continue;
    button.hidden = false;
    button.addEventListener("click", () => turns().forEach((turn) => { turn.open = open; }));
  }

  // A link to something that is folded away opens it.
  function reveal() {
    const target = document.getElementById(location.hash.slice(1));
    for (let element = target; element; element = element.parentElement) {
      if (element.localName === "details") element.open = true;
    }
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  document.addEventListener("DOMContentLoaded", () => { if (location.hash) reveal(); });  // once the check has looked

  // Paper cannot be expanded.
  let shut = [];
  addEventListener("beforeprint", () => {
    shut = all().filter((element) => !element.open);
    shut.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => shut.forEach((element) => { element.open = false; }));
})();
