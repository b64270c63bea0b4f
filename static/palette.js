/* Enter in the search (Ctrl+K) opens the result that is marked, once the results are those of what is typed; the
   library's own script fails where there is none, and opens one of the words before while their answer is awaited. */
"use strict";

{
    let answered = "";

    window.addEventListener("htmx:afterSwap", (event) => {
        const words = event.detail.requestConfig.parameters.s;
        if (event.target.id === "command-results") answered = words;
    });

    window.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.target.id !== "search-input-command") return;
        const results = document.getElementById("command-results-list");
        if (answered === event.target.value && results?.querySelector(".active")) return;
        event.preventDefault();
        event.stopPropagation();
    }, true);
}
