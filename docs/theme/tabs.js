/* tabs.js - the language that a reader chose in one group of tabs (see the aliases tabs, tab and endtabs in Doxyfile.in)
 * is chosen in all of them, on this page and the next. Without this script each group is chosen by itself. */
(function () {
  "use strict";
  if (window.synfireTabs) return; /* every group of a page brings its own <script> */
  window.synfireTabs = true;
  const key = "synfire-language";
  const choose = (language) => {
    document.querySelectorAll(".tabs > input").forEach((input) => {
      if (input.value === language) input.checked = true;
    });
  };
  document.addEventListener("change", (event) => {
    if (!event.target.matches(".tabs > input")) return;
    /* The group that was clicked stays where it is on the screen, though groups above it may change their height. */
    const before = event.target.parentElement.getBoundingClientRect().top;
    choose(event.target.value);
    const moved = event.target.parentElement.getBoundingClientRect().top - before;
    (document.getElementById("doc-content") || document.scrollingElement).scrollTop += moved;
    try {
      localStorage.setItem(key, event.target.value);
    } catch (refused) {
      /* a browser that stores nothing for files */
    }
  });
  try {
    choose(localStorage.getItem(key));
  } catch (refused) {
    /* as above */
  }
})();
