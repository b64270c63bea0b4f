/* The fields in which records are looked up are called what their label says, and say what is wrong with them; select2
   calls them by their value alone, and hides the element that has the rest. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const KEYS = { add: "Alt+Enter", change: "Alt+Shift+Enter" };
    let count = 0;

    function labelField(container) {
        const select = container.previousElementSibling;
        const label = select?.labels?.[0];
        if (!label) return;
        label.id ||= `label-${count += 1}`;
        const value = container.querySelector(".select2-selection__rendered");
        value?.removeAttribute("role"); // a text box without a name of its own
        value?.removeAttribute("aria-readonly");
        const box = container.querySelector("[role=combobox]");
        box?.setAttribute("aria-labelledby", `${label.id} ${value?.id || ""}`.trim());
        for (const name of ["aria-invalid", "aria-describedby"]) if (select.hasAttribute(name)) box?.setAttribute(name, select.getAttribute(name));
        if (select.required) box?.setAttribute("aria-required", "true");
        const keys = Object.entries(KEYS).filter(([name]) => document.getElementById(`${name}_${select.id}`)).map(([, key]) => key);
        if (keys.length) box?.setAttribute("aria-keyshortcuts", keys.join(" "));
        container.querySelector(".select2-search__field")?.setAttribute("aria-labelledby", label.id);
    }

    function labelAll(element) {
        for (const container of element.querySelectorAll(".select2-container")) labelField(container);
    }

    // The menu beside the field is for the mouse, so that it takes no Tab of each field. Closed or open, the field is before its container.
    document.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || !event.altKey || !event.target.closest(".select2-container")) return;
        const container = document.querySelector(".select2-container--open") || event.target.closest(".select2-container");
        const select = container.previousElementSibling;
        const link = document.getElementById(`${event.shiftKey ? "change" : "add"}_${select?.id}`);
        if (!link) return;
        event.preventDefault();
        event.stopPropagation();
        if (!link.hasAttribute("href")) return; // of a field without a record there is nothing to change
        const typed = document.querySelector(".select2-container--open .select2-search__field")?.value.trim();
        const address = new URL(link.href);
        address.searchParams.delete("_name");
        if (typed && !event.shiftKey) address.searchParams.set("_name", typed); // what was looked up is not typed twice
        link.href = address;
        window.django.jQuery(select).select2("close"); // the cursor is in the field afterwards, and Tab leads to the next
        link.click();
    }, true);

    labelAll(document);
    new MutationObserver((changes) => {
        for (const change of changes) {
            for (const added of change.addedNodes) {
                if (added.nodeType === Node.ELEMENT_NODE) { if (added.matches(".select2-container")) labelField(added); else labelAll(added); }
            }
        }
    }).observe(document.body, { childList: true, subtree: true });
});
