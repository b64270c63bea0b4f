/* The grid of a plan's budgets: amounts pasted from a spreadsheet, and what is not allocated yet. */
"use strict";

(() => {
    const form = document.querySelector("[data-budget-grid]");
    if (!form) return;
    const rows = [...form.querySelectorAll("tbody tr")];
    const cells = (row) => [...row.querySelectorAll("[data-amount-cell]")];
    const amount = (text) => Number(text.replace(/[\s,$]/g, "")) || 0;
    const isAmount = (text) => /^[\s$,.\d-]*$/.test(text);

    function showUnallocated() {
        const allocated = rows.reduce((sum, row) => sum + amount(cells(row)[0].value), 0);
        const left = Number(form.dataset.total) - allocated;
        form.querySelector("[data-unallocated]").textContent = left.toLocaleString("en-AU", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    }

    /** The row of "15 Improved Daily Living Skills", "15" in a column of its own, or the name alone. */
    function rowOf(label) {
        const number = label.trim().match(/^0*(\d{1,2})(?![\d.,])/)?.[1];
        const name = label.trim().toLowerCase();
        return rows.find((row) => number ? row.dataset.category === number : name && row.querySelector("th").textContent.toLowerCase().includes(name));
    }

    function fill(row, column, texts) {
        const from = cells(row).slice(column);
        texts.slice(0, from.length).forEach((text, index) => { from[index].value = text.trim(); });
    }

    form.addEventListener("paste", (event) => {
        const cell = event.target.closest("[data-amount-cell]");
        const lines = event.clipboardData.getData("text").replace(/\r/g, "").split("\n").filter((line) => line.trim()).map((line) => line.split("\t"));
        if (!cell || (lines.length === 1 && lines[0].length === 1)) return;
        event.preventDefault();
        const first = cell.closest("tr");
        const column = cells(first).indexOf(cell);
        const byCategory = lines.some((line) => line.length > 1 && !isAmount(line[0]));
        lines.forEach((line, index) => {
            if (!byCategory) {
                const row = rows[rows.indexOf(first) + index];
                if (row) fill(row, column, line);
                return;
            }
            const row = rowOf(line[0]);
            if (row) fill(row, 0, line.slice(1).filter((text) => text.trim() && isAmount(text)));
        });
        form.dispatchEvent(new Event("input", { bubbles: true }));
        form.dispatchEvent(new Event("change", { bubbles: true }));
    });
    form.addEventListener("input", showUnallocated);
})();
