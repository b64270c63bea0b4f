/* Number, sum and warnings of the selected rows of a list, beside those of all that its filters leave. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const sums = document.querySelector("[data-list-sums]");
    const form = document.querySelector("#changelist-form");
    if (!sums || !form) return;
    const output = form.querySelector("[data-selected]");
    if (!output) return; // who may not change anything selects nothing
    const cents = (text) => BigInt(text.replace(/[.,]/g, ""));

    function formatCents(amount) {
        const digits = String(amount < 0n ? -amount : amount).padStart(3, "0");
        const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",");
        return `${amount < 0n ? "−" : ""}${whole}.${digits.slice(-2)}`;
    }

    function showSelected() {
        const rows = [...form.querySelectorAll("input.action-select:checked")].map((box) => box.closest("tr") || box.closest("tbody"));
        const isAll = form.querySelector("input.select-across")?.value === "1";
        const count = isAll ? Number(sums.dataset.count) : rows.length;
        const amounts = rows.map((row) => row.querySelector("[data-amount]")?.textContent || "0.00");
        const sum = isAll ? cents(sums.dataset.sum) : amounts.reduce((total, amount) => total + cents(amount), 0n);
        const warned = isAll ? 0 : rows.filter((row) => row.querySelector("[data-warnings]")).length;
        output.hidden = count === 0;
        output.textContent = `Total ${formatCents(sum)}${warned ? `, ${warned} with warnings` : ""}`;
    }

    // The library sets the boxes of all rows itself, after the click on its own box or link.
    for (const kind of ["change", "click"]) document.addEventListener(kind, () => setTimeout(showSelected));
});
