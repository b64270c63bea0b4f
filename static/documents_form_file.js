/* The file of a form: stored as soon as it is chosen or dropped, and shown beside the form. The field `file` keeps
   its token, so that a form with errors does not lose it. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const panel = document.querySelector("[data-form-file]");
    const field = document.querySelector("input[name=file]");
    if (!panel || !field) return;
    const picker = panel.querySelector("input[type=file]");
    const name = panel.querySelector("[data-file-name]");
    const error = panel.querySelector("[data-file-error]");
    const preview = panel.querySelector("[data-file-preview]");
    let request = null;
    picker.hasChangeListener = true; // else the interface library looks for its own text field beside it

    function showFile(file) {
        field.value = file.token;
        name.textContent = file.name;
        panel.classList.add("rs-has-file");
        preview.toggleAttribute("sandbox", file.kind === "image"); // Chromium shows no PDF in a sandbox
        preview.hidden = !file.preview;
        preview.src = file.preview + (file.kind === "pdf" ? "#navpanes=0&view=FitH" : "");
        document.dispatchEvent(new CustomEvent("file:stored"));
    }

    function showError(text) {
        name.textContent = field.value ? name.textContent : "";
        error.textContent = text;
    }

    async function storeFile(file) {
        error.textContent = "";
        if (file.size > Number(panel.dataset.bytes)) return showError(`${file.name} is too large.`);
        request?.abort();
        const current = request = new AbortController();
        const data = new FormData();
        data.append("file", file);
        data.append("csrfmiddlewaretoken", document.querySelector("[name=csrfmiddlewaretoken]").value);
        panel.setAttribute("aria-busy", "true");
        try {
            const answer = await fetch(panel.dataset.address, { method: "POST", body: data, signal: current.signal });
            const isJson = answer.headers.get("Content-Type")?.startsWith("application/json");
            const stored = isJson ? await answer.json() : { message: "The file could not be stored. Sign in again in another tab, then choose it again." };
            if (answer.ok && isJson) showFile(stored); else showError(stored.message);
        } catch {
            if (current === request) showError("The service could not be reached. Choose the file again.");
        }
        if (current === request) panel.removeAttribute("aria-busy");
    }

    picker.addEventListener("change", () => { if (picker.files[0]) storeFile(picker.files[0]); picker.value = ""; });
    for (const kind of ["dragover", "dragleave", "drop"]) {
        document.addEventListener(kind, (event) => {
            if (!event.dataTransfer?.types.includes("Files")) return;
            event.preventDefault(); // else the browser would open the file and leave the form
            panel.querySelector(".rs-drop").classList.toggle("rs-over", kind === "dragover");
            if (kind === "drop" && event.dataTransfer.files[0]) storeFile(event.dataTransfer.files[0]);
        });
    }
    if (field.value) panel.classList.add("rs-has-file");
});
