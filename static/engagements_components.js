/* The grid of a plan's components and periods: sums and differences while they are entered, even division, pasted amounts. */
"use strict";

(() => {
    const form = document.querySelector("[data-component-grid]");
    if (!form) return;
    const rows = [...form.querySelectorAll("[data-component]")];
    const inputs = (row) => [...row.querySelectorAll("td [data-amount-cell]")];
    const budget = (row) => row.querySelector('[name$="-budget"]:not([type=hidden])');
    const periods = (row) => [...row.querySelectorAll("[data-period] input")];
    const ownPeriods = (row) => row.querySelector(".en-own textarea");
    // In cents: sums of fractions would be off by what nobody has entered.
    const cents = (text) => Math.round((Number(text.replace(/[\s,$]/g, "")) || 0) * 100);
    const amount = (value) => (value / 100).toLocaleString("en-AU", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    const total = cents(form.dataset.total);
    /** The parts that a row's amount was divided into last: only those are divided again. */
    const divided = new WeakMap();

    function evenParts(value, number) {
        const part = Math.floor(value / number);
        return Array.from({ length: number }, (_, index) => index < number - 1 ? part : value - part * (number - 1));
    }

    /** What the lines of a text release: the last amount of each. */
    function releasedByText(text) {
        return text.split("\n").reduce((sum, line) => sum + cents(line.match(/(?:^|[\s,])\$?\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s*$/)?.[1] ?? ""), 0);
    }

    function released(row) {
        const text = ownPeriods(row).value.trim();
        return text ? releasedByText(text) : periods(row).reduce((sum, cell) => sum + cents(cell.value), 0);
    }

    const hasPeriods = (row) => Boolean(ownPeriods(row).value.trim()) || periods(row).some((cell) => cell.value.trim());
    // An amount that is left empty becomes the sum of the periods.
    const amountOf = (row) => budget(row).value.trim() ? cents(budget(row).value) : released(row);

    function show(output, difference, before, after) {
        output.textContent = difference ? `${before} ${amount(Math.abs(difference))} ${difference > 0 ? "more" : "less"}${after}` : "";
        output.classList.toggle("en-negative", Boolean(difference));
    }

    function showSums() {
        for (const row of rows) {
            show(row.querySelector("[data-difference]"), hasPeriods(row) ? released(row) - amountOf(row) : 0, "Periods release", "");
        }
        const sum = rows.reduce((all, row) => all + amountOf(row), 0);
        form.querySelector("[data-sum]").textContent = amount(sum);
        show(form.querySelector("[data-total-difference]"), sum && total ? sum - total : 0, "Components have", ` than the plan’s ${amount(total)}`);
        form.querySelectorAll("[data-period-sum]").forEach((output, index) => {
            const column = rows.reduce((all, row) => all + cents(periods(row)[index]?.value ?? ""), 0);
            output.textContent = column ? amount(column) : "";
        });
    }

    /** Divide an amount that was changed, unless somebody has written other parts. */
    function divide(row) {
        const cells = periods(row);
        if (!cells.length || ownPeriods(row).value.trim()) return;
        const before = divided.get(row);
        const isOwn = cells.some((cell, index) => cell.value.trim() && cents(cell.value) !== before?.[index]);
        if (isOwn) return;
        const value = cents(budget(row).value);
        const parts = evenParts(value, cells.length);
        cells.forEach((cell, index) => { cell.value = value ? (parts[index] / 100).toFixed(2) : ""; });
        divided.set(row, parts);
    }

    for (const row of rows) {
        const parts = evenParts(cents(budget(row).value), periods(row).length || 1);
        if (periods(row).every((cell, index) => cents(cell.value) === parts[index])) divided.set(row, parts);
    }

    form.addEventListener("input", (event) => {
        const row = event.target.closest("[data-component]");
        if (row && event.target === budget(row)) divide(row);
        showSums();
    });

    form.addEventListener("paste", (event) => {
        const cell = event.target.closest("[data-amount-cell]");
        const lines = event.clipboardData.getData("text").replace(/\r/g, "").split("\n").filter((line) => line.trim()).map((line) => line.split("\t"));
        if (!cell || (lines.length === 1 && lines[0].length === 1)) return;
        event.preventDefault();
        const first = cell.closest("[data-component]");
        const column = inputs(first).indexOf(cell);
        lines.forEach((line, index) => {
            const row = rows[rows.indexOf(first) + index];
            if (row) inputs(row).slice(column, column + line.length).forEach((input, at) => { input.value = line[at].trim(); });
        });
        form.dispatchEvent(new Event("change", { bubbles: true }));
        showSums();
    });
    showSums();
})();
