/* Forms of records: a second press of a button sends nothing. What was sent is kept in this tab until it is saved, or
   another page is opened: when the session had ended, it comes back after signing in; after warnings, faults or no
   answer at all, by the browser's Back or Reload. A changed form asks before it is left. What is typed replaces a zero.
   Ctrl+Enter saves, from anywhere in a form; among records to tick it leads to what is done with them. */
"use strict";

(() => {
    const SENT = "record-form-sent";

    /** The form of this page, where it shows what was sent and not saved. */
    const unsavedForm = () => document.querySelector("[data-unsaved]")?.form;

    function keepSent(form, button) {
        const passwords = new Set([...form.querySelectorAll("input[type=password]")].map((input) => input.name));
        const fields = [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string" && !passwords.has(name));
        const isRecord = "_opened_by" in form.elements; // else the button may be what saves it, whatever is sent besides
        if (isRecord && button?.name) fields.push([button.name, button.value]); // which page follows
        const staff = document.querySelector("[data-staff]").dataset.staff;
        const sent = { staff, address: window.location.pathname + window.location.search, fields };
        sessionStorage.removeItem(SENT); // what was sent before
        try { sessionStorage.setItem(SENT, JSON.stringify(sent)); } catch { /* larger than the browser keeps: not kept */ }
    }

    /** Send the fields again, to a page that shows them and saves nothing. */
    function showAgain(sent, reason) {
        const token = document.querySelector("[name=csrfmiddlewaretoken]");
        if (!token) return;
        const form = document.createElement("form");
        form.method = "post";
        form.action = sent.address;
        for (const [name, value] of [...sent.fields, ["_restored", reason], ["csrfmiddlewaretoken", token.value]]) {
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
        if (form.matches(".warn-unsaved-form")) keepSent(form, event.submitter);
    });

    // The first click into a figure, a day or the code of a product selects it, as the Tab key does: what is typed would come within it.
    let entered = null;
    document.addEventListener("mousedown", ({ target }) => { entered = target === document.activeElement ? null : target; });
    document.addEventListener("click", ({ target }) => {
        const isEntered = target === entered && target.matches("input:is([inputmode=decimal], [inputmode=numeric], [data-day], .vDateField, [role=combobox])");
        if (isEntered && target.selectionStart === target.selectionEnd) target.select();
    });

    // On the window, behind the documents: the forms of bills have buttons of their own to save by.
    window.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
        const save = document.querySelector("#submit-row [name=_save]");
        const goal = [...document.querySelectorAll("#changelist-actions-wrapper :is(select, button), [data-goal] :is(input, button)")].find((each) => each.getClientRects().length);
        if (!(save?.form || goal) || event.target === goal) return;
        event.preventDefault();
        if (save?.form) save.form.requestSubmit(save);
        else goal.focus();
    });

    // The cursor of a click would stand behind it: 0.0010000.
    document.addEventListener("click", ({ target }) => { if (target.matches("input") && /^0(\.0+)?$/.test(target.value)) target.select(); });

    // A form that was changed asks before it is left, whatever changed it: the library knows of what is typed, not of
    // what is chosen, pasted, dropped or taken out. What leads to another page itself does not count.
    let untouched = null;

    function contentOf(form) {
        const leading = new Set([...form.querySelectorAll("[data-leads-on]")].map((field) => field.name));
        const entries = [...new FormData(form)].map(([name, value]) => [name, typeof value === "string" ? value : value.name]);
        return JSON.stringify(entries.filter(([name, value]) => value && !leading.has(name) && !name.endsWith("-TOTAL_FORMS")));
    }

    for (const kind of ["pointerdown", "keydown", "dragenter"]) {
        document.addEventListener(kind, () => {
            const form = document.querySelector(".warn-unsaved-form");
            if (form) untouched ??= contentOf(form);
        }, true);
    }

    // A browser asks nobody who has done nothing on the page.
    window.addEventListener("beforeunload", (event) => {
        const form = document.querySelector(".warn-unsaved-form");
        if (!form || form.dataset.sent) return;
        const isChanged = unsavedForm() ? navigator.userActivation?.hasBeenActive ?? true : untouched !== null && contentOf(form) !== untouched;
        if (isChanged) event.preventDefault();
    });

    window.addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });

    // A form that was not saved: the cursor is at its warnings, one Tab from their button, or at the first invalid field;
    // of a new one, and of one's account, at the first field of all, where Django's own script or the browser came before
    // there was one to be seen. The forms of bills look after theirs.
    window.addEventListener("load", () => {
        if (document.querySelector(".fu-head")) return;
        // Where records are looked up, a box stands in place of the hidden element.
        const fields = ":is(input:not([type=hidden]), textarea, select:not([aria-hidden]), [role=combobox])";
        const isLost = document.activeElement === document.body;
        const isNew = document.querySelector("#django-admin-form-add-constants[data-model-name]");
        const entered = `[autofocus], .rs-account form ${fields}${isNew ? `, .warn-unsaved-form ${fields}` : ""}`;
        const first = isLost ? [...document.querySelectorAll(entered)].find((field) => field.offsetParent && !field.disabled && !field.readOnly) : null;
        (document.getElementById("warnings") || document.querySelector(`${fields}[aria-invalid=true]`) || first)?.focus();
    });

    document.addEventListener("DOMContentLoaded", () => {
        // Of a page that answers what was sent a browser would ask, on the way back to it, whether to send that again.
        if (document.querySelector("[data-unsaved], .rs-question, #paste")) window.history.replaceState(null, "", window.location.href);
        const sent = JSON.parse(sessionStorage.getItem(SENT) || "null");
        if (!sent) return;
        const staff = document.querySelector("[data-staff]")?.dataset.staff;
        if (unsavedForm()) return;
        if (!staff) { // a page to sign in
            sessionStorage.setItem(SENT, JSON.stringify({ ...sent, isSignedOut: true }));
            return;
        }
        const isReturn = ["back_forward", "reload"].includes(performance.getEntriesByType("navigation")[0]?.type) && sent.address === window.location.pathname + window.location.search;
        if (sent.staff !== staff || !(sent.isSignedOut || isReturn)) {
            sessionStorage.removeItem(SENT);
            return;
        }
        sessionStorage.setItem(SENT, JSON.stringify({ ...sent, isSignedOut: false }));
        showAgain(sent, sent.isSignedOut ? "signed-out" : "returned");
    });
})();
