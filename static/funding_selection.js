/* Number and sum of what is ticked: of the rows of a list, with their warnings, beside those of all that its filters
   leave; and of the records with warnings on the page that shows what an action will do, with those without. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const sums = document.querySelector("[data-list-sums]");
    const form = document.querySelector("#changelist-form, .rs-question");
    if (!sums || !form) return;
    const output = form.querySelector("[data-selected]");
    if (!output) return; // who may not change anything selects nothing
    const isReview = "review" in sums.dataset;
    const cents = (text) => BigInt(text.replace(/[.,]/g, ""));

    function formatCents(amount) {
        const digits = String(amount < 0n ? -amount : amount).padStart(3, "0");
        const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",");
        return `${amount < 0n ? "−" : ""}${whole}.${digits.slice(-2)}`;
    }

    const sumOf = (rows) => rows.map((row) => row.querySelector("[data-amount]")?.textContent || "0.00").reduce((total, amount) => total + cents(amount), 0n);

    function showSelected() {
        const rows = [...form.querySelectorAll("input.action-select:checked")].map((box) => box.closest("tr") || box.closest("tbody"));
        const isAll = form.querySelector("input.select-across")?.value === "1";
        const count = isAll ? Number(sums.dataset.count) : rows.length;
        const sum = isAll ? cents(sums.dataset.sum) : sumOf(rows);
        const warned = isAll ? 0 : rows.filter((row) => row.querySelector("[data-warnings]")).length;
        output.hidden = count === 0;
        output.textContent = `Total ${formatCents(sum)}${warned ? `, ${warned} with warnings` : ""}`;
    }

    function showTicked() {
        const rows = [...form.querySelectorAll("[name=ticked]:checked")].map((box) => box.closest("tr"));
        output.hidden = rows.length === 0;
        output.textContent = `With the ${rows.length} ticked: ${Number(sums.dataset.count) + rows.length}, total ${formatCents(cents(sums.dataset.sum) + sumOf(rows))}`;
    }

    if (isReview) {
        const all = form.querySelector("[data-tick-all]");
        all.hidden = false;
        all.addEventListener("change", (event) => { for (const box of form.querySelectorAll("[name=ticked]")) box.checked = event.target.checked; });
        form.addEventListener("change", showTicked);
        showTicked();
        return;
    }
    // The library sets the boxes of all rows itself, after the click on its own box or link.
    for (const kind of ["change", "click"]) document.addEventListener(kind, () => setTimeout(showSelected));
});
