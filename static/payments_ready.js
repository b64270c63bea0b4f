/* Ready to pay: what a run of the ticked payees would pay, less what is set off, with those of other pages. */
"use strict";

(() => {
    const form = document.querySelector("[data-ready]");
    const output = form?.querySelector("[data-chosen]");
    if (!output) return; // nothing is ready, or somebody looks who may not make a run
    const cents = (text) => Math.round(Number(text) * 100);
    const sumOf = (boxes) => boxes.reduce((sum, box) => sum + cents(box.dataset.amount), 0);

    function showChosen() {
        const payees = [...form.querySelectorAll("[name=payee]:checked:enabled")];
        const owed = payees.flatMap((box) => [...box.closest("tr").querySelectorAll("[name=set_off]:checked")]);
        const count = Number(form.dataset.elsewhere) + payees.length;
        const sum = cents(form.dataset.elsewhereAmount) + sumOf(payees) - sumOf(owed);
        const amount = (sum / 100).toLocaleString("en-AU", { minimumFractionDigits: 2 });
        output.textContent = count ? `Pays ${amount} to ${count.toLocaleString("en-AU")} ${count === 1 ? "payee" : "payees"}` : "Nobody is ticked";
    }

    form.addEventListener("change", showChosen);
    window.addEventListener("pageshow", showChosen); // a browser that goes back restores ticks after the script ran
})();
