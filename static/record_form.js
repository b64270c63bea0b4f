/* Forms of records: a second press of a button sends nothing, and a form that was sent when the session had ended comes
   back after signing in. It is kept in this tab until the answer is there. What is typed replaces a zero. */
"use strict";

(() => {
    const SENT = "record-form-sent";

    function keepSent(form) {
        const passwords = new Set([...form.querySelectorAll("input[type=password]")].map((input) => input.name));
        const fields = [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string" && !passwords.has(name));
        const staff = document.querySelector("[data-staff]").dataset.staff;
        const sent = { staff, address: window.location.pathname + window.location.search, fields };
        try { sessionStorage.setItem(SENT, JSON.stringify(sent)); } catch { /* larger than the browser keeps: not kept */ }
    }

    /** Send the fields again, to a page that shows them and saves nothing. */
    function showAgain(sent) {
        const token = document.querySelector("[name=csrfmiddlewaretoken]");
        if (!token) return;
        const form = document.createElement("form");
        form.method = "post";
        form.action = sent.address;
        for (const [name, value] of [...sent.fields, ["_restored", "1"], ["csrfmiddlewaretoken", token.value]]) {
            const input = document.createElement("input");
            Object.assign(input, { type: "hidden", name, value });
            form.append(input);
        }
        document.body.append(form);
        form.submit();
    }

    document.addEventListener("submit", (event) => {
        const form = event.target;
        if (event.defaultPrevented || form.method !== "post") return;
        if (form.dataset.sent) { event.preventDefault(); return; }
        form.dataset.sent = "yes";
        if (form.matches(".warn-unsaved-form")) keepSent(form);
    });

    // The cursor of a click would stand behind it: 0.0010000.
    document.addEventListener("click", ({ target }) => { if (target.matches("input") && /^0(\.0+)?$/.test(target.value)) target.select(); });

    window.addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });

    // A form that was not saved: the cursor is at its warnings, one Tab from their button, or at the first invalid field.
    // After Django's own script, which goes to the first field of all. The forms of bills look after theirs.
    window.addEventListener("load", () => {
        if (document.querySelector(".fu-head")) return;
        // Where records are looked up, a box stands in place of the hidden element.
        const invalid = "input[aria-invalid=true]:not([type=hidden]), textarea[aria-invalid=true], select[aria-invalid=true]:not([aria-hidden]), [role=combobox][aria-invalid=true]";
        (document.getElementById("warnings") || document.querySelector(invalid))?.focus();
    });

    document.addEventListener("DOMContentLoaded", () => {
        const sent = JSON.parse(sessionStorage.getItem(SENT) || "null");
        if (!sent) return;
        const staff = document.querySelector("[data-staff]")?.dataset.staff;
        if (!staff) { // a page to sign in
            sessionStorage.setItem(SENT, JSON.stringify({ ...sent, isSignedOut: true }));
            return;
        }
        sessionStorage.removeItem(SENT);
        if (sent.isSignedOut && sent.staff === staff) showAgain(sent);
    });
})();
