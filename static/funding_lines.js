/* The grid of lines of claims and invoices: products looked up by typing, prices of the day, sums to the cent,
   everything by keyboard. Without it the form saves as well: the server reads the same fields. */
"use strict";

/* --- amounts: whole numbers all the way, as floating point loses cents --------------------------------- */

const FUNDING_SCALE = 4;

/** "70.5" as 705000n, or null for what is no amount. */
function fundingUnits(text) {
    const found = /^\s*(-?)(\d{0,12})(?:\.(\d{0,4}))?\s*$/.exec(String(text).replace(/[\s,$]/g, ""));
    if (!found || (!found[2] && !found[3])) return null;
    const units = BigInt((found[2] || "0") + (found[3] || "").padEnd(FUNDING_SCALE, "0"));
    return found[1] ? -units : units;
}

/** Quantity times price in cents, half up. */
function fundingCents(quantity, price) {
    const product = quantity * price; // eight decimals
    const size = product < 0n ? -product : product;
    const cents = (size + 500000n) / 1000000n;
    return product < 0n ? -cents : cents;
}

/** 123450n cents as "1,234.50". */
function fundingMoney(cents) {
    const size = cents < 0n ? -cents : cents;
    const whole = String(size / 100n).replace(/\B(?=(\d{3})+$)/g, ",");
    return `${cents < 0n ? "−" : ""}${whole}.${String(size % 100n).padStart(2, "0")}`;
}

/* --- days ------------------------------------------------------------------------------------------------ */

/** What people type for a day, as [year, month, day]: 1/7, 1.7.25, 0107, 010725, 01072025, t. */
function fundingDay(text, today, ahead) {
    const [year, month, day] = today;
    if (/^t(oday)?$/i.test(text)) return today;
    const iso = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(text);
    if (iso) return fundingReal(+iso[1], +iso[2], +iso[3]);
    const found = /^(\d\d?)[/. -](\d\d?)(?:[/. -](\d{4}|\d\d))?$/.exec(text)
        || /^(\d\d)(\d\d)(\d{4}|\d\d)?$/.exec(text);
    if (!found) return null;
    const [, d, m, y] = found;
    if (y) return fundingReal(y.length === 2 ? 2000 + +y : +y, +m, +d);
    const later = +m > month || (+m === month && +d > day);
    return fundingReal(year + (ahead ? (later || (+m === month && +d === day) ? 0 : 1) : (later ? -1 : 0)), +m, +d);
}

function fundingReal(year, month, day) {
    const date = new Date(Date.UTC(year, month - 1, day));
    return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? [year, month, day] : null;
}

const fundingTwo = (number) => String(number).padStart(2, "0");
const fundingShown = ([year, month, day]) => `${fundingTwo(day)}/${fundingTwo(month)}/${year}`;
const fundingIso = ([year, month, day]) => `${year}-${fundingTwo(month)}-${fundingTwo(day)}`;

/** The day in a field; one that is due lies ahead, others lie behind. */
function fundingDayIn(input, today) {
    const text = input.value.trim();
    return text ? fundingDay(text, today, input.name === "due_date") : null;
}

/** Write a day as the server reads it, when its field is left. */
function fundingTidyDay(event) {
    if (!event.target.matches?.("input[data-day]")) return;
    const now = new Date();
    const known = document.querySelector("[data-today]")?.dataset.today.split("-").map(Number);
    const found = fundingDayIn(event.target, known || [now.getFullYear(), now.getMonth() + 1, now.getDate()]);
    if (!found || event.target.value === fundingShown(found)) return;
    event.target.value = fundingShown(found);
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
}

/* --- the grid -------------------------------------------------------------------------------------------- */

class FundingGrid {
    constructor(grid) {
        this.grid = grid;
        this.form = grid.closest("form");
        this.rowsBox = grid.querySelector("[data-rows]");
        this.blank = grid.querySelector("[data-blank]");
        this.total = grid.querySelector("[name$=TOTAL_FORMS]");
        this.made = this.rows().length;
        this.limit = Number(grid.dataset.limit);
        this.today = grid.dataset.today.split("-").map(Number);
        this.known = new Map(); // what searches answered
        grid.querySelector("[data-keys]").hidden = false;
        this.listen();
        if (!this.rows().length) this.add();
        for (const row of this.rows()) this.dress(row);
        this.renumber();
        this.sum();
        this.ask(this.rows());
        this.begin();
    }

    rows() { return [...this.rowsBox.querySelectorAll("[data-row]")]; }

    cell(row, name) { return row.querySelector(`[name$="-${name}"]`); }

    isBlank(row) {
        return ["product", "quantity", "price", "notes"].every((name) => !this.cell(row, name).value.trim());
    }

    /* --- what happens */

    listen() {
        this.grid.addEventListener("keydown", (event) => this.press(event));
        this.grid.addEventListener("input", (event) => this.typed(event.target));
        this.grid.addEventListener("change", (event) => this.changed(event.target));
        this.grid.addEventListener("focusout", (event) => this.left(event));
        this.grid.addEventListener("click", (event) => this.clicked(event));
        this.grid.addEventListener("mousedown", (event) => {
            const option = event.target.closest("[data-option]");
            if (!option) return;
            event.preventDefault(); // the cell keeps the cursor
            this.take(option.closest("[data-row]"), Number(option.dataset.option));
        });
        this.form.addEventListener("submit", () => this.prune());
        this.form.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.target.matches(".fu-head input")) {
                event.preventDefault();
                this.focusOn(this.rows()[0]);
            }
        });
        this.form.addEventListener("focusout", (event) => { if (event.target.matches("input[data-day]")) this.follow(); });
        const contact = this.form.querySelector("[name=contact]");
        if (contact && window.django) window.django.jQuery(contact).on("change", () => this.ask(this.rows()));
        this.follow();
    }

    press(event) {
        const row = event.target.closest("[data-row]");
        if (!row) return;
        const { key } = event;
        if (event.ctrlKey && event.shiftKey && (key === "ArrowDown" || key === "Backspace")) {
            event.preventDefault();
            if (key === "ArrowDown") this.copy(row); else this.remove(row);
            return;
        }
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (this.options(row).length && event.target === this.cell(row, "product")) {
            if (key === "ArrowDown" || key === "ArrowUp") { event.preventDefault(); this.point(row, key === "ArrowDown" ? 1 : -1); return; }
            if (key === "Enter" || key === "Tab") {
                if (key === "Enter") event.preventDefault();
                this.take(row, this.pointed(row));
                if (key === "Enter") this.cell(row, "from_date").focus();
                return;
            }
            if (key === "Escape") { event.stopPropagation(); this.close(row); return; }
        }
        if (key === "ArrowDown" && event.target === this.cell(row, "product")) { event.preventDefault(); this.search(row); return; }
        if (key === "Enter" && event.target.matches("input, select")) { event.preventDefault(); this.onward(row); return; }
        if (key === "Tab" && !event.shiftKey && this.isLast(row, event.target) && !this.isBlank(row)) {
            event.preventDefault();
            this.onward(row);
        }
    }

    /** From this row on to the next; from an empty last one to the button that saves. */
    onward(row) {
        const rows = this.rows();
        const next = rows[rows.indexOf(row) + 1];
        if (next) return this.cell(next, "product").focus();
        if (this.isBlank(row)) return this.saver()?.focus();
        const added = this.add();
        if (added) this.cell(added, "product").focus();
        else this.saver()?.focus();
    }

    isLast(row, target) {
        const cells = [...row.querySelectorAll("input:not([type=hidden]), select")].filter((cell) => cell.offsetParent);
        return row === this.rows().at(-1) && cells.at(-1) === target;
    }

    typed(target) {
        const row = target.closest("[data-row]");
        if (!row) return;
        if (target === this.cell(row, "product")) {
            delete row.dataset.code;
            row.querySelector("[data-name]").textContent = "";
            clearTimeout(row.waiting);
            row.waiting = setTimeout(() => this.search(row), 120);
        }
        this.sum();
    }

    changed(target) {
        const row = target.closest("[data-row]");
        if (!row) return;
        if (target === this.cell(row, "claim_type")) this.showReason(row);
        if (target === this.cell(row, "price_book")) this.ask([row]);
        this.sum();
    }

    left(event) {
        const row = event.target.closest("[data-row]");
        if (!row) return;
        if (event.target.matches("[data-day]")) this.ask([row]);
        if (event.target === this.cell(row, "product")) {
            clearTimeout(row.waiting);
            this.close(row);
            if (row.dataset.code !== event.target.value.trim()) this.ask([row]);
        }
        if (event.target === this.cell(row, "quantity") || event.target === this.cell(row, "price")) this.sum();
    }

    clicked(event) {
        const row = event.target.closest("[data-row]");
        if (event.target.closest("[data-add]")) this.focusOn(this.add());
        else if (row && event.target.closest("[data-copy]")) this.copy(row);
        else if (row && event.target.closest("[data-remove]")) this.remove(row);
    }

    focusOn(row) { if (row) this.cell(row, "product").focus(); }

    /* --- rows */

    add(after = null, from = null) {
        if (this.rows().length >= this.limit) return null;
        const last = this.rows().at(-1);
        const holder = document.createElement("div");
        holder.innerHTML = this.blank.innerHTML.replaceAll("__prefix__", String(this.made));
        this.made += 1;
        const row = holder.firstElementChild;
        if (after) after.after(row); else this.rowsBox.append(row);
        if (from) this.fill(row, from);
        else if (last && this.cell(last, "price_book").value) this.cell(row, "price_book").value = this.cell(last, "price_book").value;
        this.dress(row);
        this.renumber();
        this.follow();
        return row;
    }

    fill(row, from) {
        for (const cell of row.querySelectorAll("input:not([type=hidden]), select")) {
            const name = cell.name.split("-").at(-1);
            const other = this.cell(from, name);
            if (cell.type === "checkbox") cell.checked = other.checked; else cell.value = other.value;
        }
        row.querySelector("[data-name]").textContent = from.querySelector("[data-name]").textContent;
        for (const name of ["code", "auto", "cap", "current"]) if (name in from.dataset) row.dataset[name] = from.dataset[name];
    }

    copy(row) {
        const made = this.add(row, row);
        if (!made) return;
        this.showCap(made);
        this.sum();
        this.cell(made, "from_date").focus();
        this.cell(made, "from_date").select();
    }

    remove(row) {
        const rows = this.rows();
        const at = rows.indexOf(row);
        row.remove();
        if (rows.length === 1) this.add();
        this.renumber();
        this.sum();
        this.focusOn(this.rows()[Math.min(at, this.rows().length - 1)]);
    }

    dress(row) {
        const box = row.querySelector("[data-options]");
        const product = this.cell(row, "product");
        box.id = `${product.id}-options`;
        for (const [name, value] of [["aria-controls", box.id], ["aria-expanded", "false"], ["aria-autocomplete", "list"], ["placeholder", "Code or name"]]) product.setAttribute(name, value);
        this.showReason(row);
    }

    showReason(row) {
        const cancelled = this.cell(row, "claim_type").value === "Cancellation";
        const reason = this.cell(row, "cancellation_reason");
        row.querySelector("[data-only-cancelled]").hidden = !cancelled && !row.querySelector("[data-only-cancelled] .errorlist");
        if (!cancelled && !row.querySelector("[data-only-cancelled] .errorlist")) reason.value = "";
    }

    renumber() {
        this.rows().forEach((row, at) => {
            row.querySelector("[data-number]").textContent = at + 1;
            row.setAttribute("aria-label", `Line ${at + 1}`);
        });
        this.total.value = Math.max(Number(this.total.value), this.made);
        this.grid.querySelector("[data-add]").disabled = this.rows().length >= this.limit;
    }

    /** Send rows in their order, without empty ones. */
    prune() {
        this.rows().filter((row) => this.isBlank(row)).forEach((row) => row.remove());
        const rows = this.rows();
        const fresh = (text, at) => text.replace(/^((?:id_)?lines-)\d+-/, `$1${at}-`);
        rows.forEach((row, at) => {
            for (const cell of row.querySelectorAll("[name]")) cell.name = fresh(cell.name, at);
        });
        this.total.value = rows.length;
    }

    /* --- products */

    day(row) {
        const own = this.dayIn(this.cell(row, "from_date"));
        const start = this.form.querySelector("[name=start_date]");
        const found = own || (start && this.dayIn(start)) || this.today;
        return fundingIso(found);
    }

    contact() { return this.form.querySelector("[name=contact]")?.value || ""; }

    async search(row) {
        const product = this.cell(row, "product");
        const book = this.cell(row, "price_book").value;
        if (!book) return this.offer(row, null, "Choose a price book first.");
        const query = new URLSearchParams({ book, q: product.value.trim(), contact: this.contact(), on: this.day(row) });
        const found = await this.get(this.grid.dataset.products, query, row);
        if (found && document.activeElement === product) this.offer(row, found.products, "No product of this price book is called so.");
    }

    async get(address, query, row) {
        const key = `${address}?${query}`;
        if (this.known.has(key)) return this.known.get(key);
        row?.asking?.abort();
        const asking = new AbortController();
        if (row) row.asking = asking;
        try {
            const answer = await fetch(key, { signal: asking.signal, headers: { Accept: "application/json" } });
            if (!answer.ok) return null;
            const data = await answer.json();
            this.known.set(key, data);
            return data;
        } catch {
            return null; // overtaken by the next key, or no network: the server judges what is sent
        }
    }

    offer(row, products, otherwise) {
        const box = row.querySelector("[data-options]");
        row.offered = products || [];
        box.replaceChildren(...row.offered.map((each, at) => this.option(box, each, at)));
        if (!row.offered.length) {
            const nothing = document.createElement("p");
            nothing.className = "fu-nothing";
            nothing.textContent = otherwise;
            box.append(nothing);
        }
        box.hidden = false;
        this.cell(row, "product").setAttribute("aria-expanded", "true");
        if (row.offered.length) this.mark(row, 0);
    }

    option(box, each, at) {
        const option = document.createElement("div");
        option.id = `${box.id}-${at}`;
        option.setAttribute("role", "option");
        option.dataset.option = at;
        for (const [name, text] of [["code", each.code], ["name", each.name], ["price", each.price ? `${each.price} ${each.unit && `/ ${each.unit}`}` : each.current ? "quoted" : "not current"]]) {
            const part = document.createElement("span");
            part.className = `fu-option-${name}`;
            part.textContent = text;
            option.append(part);
        }
        return option;
    }

    options(row) {
        const box = row.querySelector("[data-options]");
        return box.hidden ? [] : [...box.querySelectorAll("[data-option]")];
    }

    pointed(row) { return this.options(row).findIndex((option) => option.getAttribute("aria-selected") === "true"); }

    point(row, by) {
        const count = this.options(row).length;
        this.mark(row, (this.pointed(row) + by + count) % count);
    }

    mark(row, at) {
        this.options(row).forEach((option, number) => {
            option.setAttribute("aria-selected", String(number === at));
            if (number === at) {
                option.scrollIntoView({ block: "nearest" });
                this.cell(row, "product").setAttribute("aria-activedescendant", option.id);
            }
        });
    }

    close(row) {
        row.querySelector("[data-options]").hidden = true;
        this.cell(row, "product").setAttribute("aria-expanded", "false");
        this.cell(row, "product").removeAttribute("aria-activedescendant");
    }

    take(row, at) {
        const product = row.offered?.[at];
        this.close(row);
        if (!product) return;
        this.cell(row, "product").value = product.code;
        this.cell(row, "product").dispatchEvent(new Event("change", { bubbles: true }));
        this.show(row, product);
        this.sum();
    }

    /* --- prices */

    /** Ask what the lines cost on their days, all at once. */
    async ask(rows) {
        const named = rows.filter((row) => this.cell(row, "product").value.trim());
        if (!named.length) return;
        const words = new URLSearchParams({ contact: this.contact() });
        for (const row of named) words.append("line", [this.cell(row, "price_book").value, this.cell(row, "product").value.trim(), this.day(row)].join("|"));
        const found = await this.get(this.grid.dataset.prices, words, named.length === 1 ? named[0] : null);
        if (!found) return;
        named.forEach((row, at) => {
            if (found.lines[at]) this.show(row, found.lines[at]);
            else if (document.activeElement !== this.cell(row, "product")) {
                row.querySelector("[data-name]").textContent = "No product has this code.";
            }
        });
        this.sum();
    }

    show(row, product) {
        row.dataset.code = product.code;
        row.querySelector("[data-name]").textContent = [product.name, product.unit].filter(Boolean).join(" · ");
        row.dataset.cap = product.price || "";
        row.dataset.current = product.current ? "yes" : "";
        const price = this.cell(row, "price");
        const same = (one, other) => fundingUnits(one) !== null && fundingUnits(one) === fundingUnits(other);
        if (product.price && (!price.value.trim() || same(price.value, row.dataset.auto || "") || same(price.value, product.price))) {
            price.value = product.price;
            row.dataset.auto = product.price;
        }
        this.showCap(row);
    }

    showCap(row) {
        const output = row.querySelector("[data-cap]");
        output.classList.remove("fu-over");
        if (!row.dataset.code) { output.textContent = ""; return; }
        if (!row.dataset.current) { output.textContent = "no price that day"; output.classList.add("fu-over"); return; }
        if (!row.dataset.cap) { output.textContent = "quoted"; return; }
        const cap = fundingUnits(row.dataset.cap);
        const price = fundingUnits(this.cell(row, "price").value);
        if (price !== null && price > cap) {
            output.textContent = `${fundingMoney((price - cap) / 100n)} over ${row.dataset.cap}`;
            output.classList.add("fu-over");
        } else output.textContent = `cap ${row.dataset.cap}`;
    }

    /* --- sums */

    sum() {
        let sum = 0n;
        for (const row of this.rows()) {
            const quantity = fundingUnits(this.cell(row, "quantity").value);
            const price = fundingUnits(this.cell(row, "price").value);
            const output = row.querySelector("[data-total]");
            this.showCap(row);
            if (quantity === null || price === null) { output.textContent = "–"; continue; }
            const cents = fundingCents(quantity, price) * (this.cell(row, "is_credit_item")?.checked ? -1n : 1n);
            output.textContent = fundingMoney(cents);
            sum += cents;
        }
        this.grid.querySelector("[data-sum]").textContent = fundingMoney(sum);
        const invoice = this.grid.querySelector("[data-invoice-total]");
        if (!invoice) return;
        const difference = sum - fundingUnits(invoice.dataset.invoiceTotal) / 100n;
        this.grid.querySelector("[data-difference-row]").hidden = difference === 0n;
        this.grid.querySelector("[data-difference]").textContent = fundingMoney(difference);
    }

    /* --- days */

    dayIn(input) { return fundingDayIn(input, this.today); }

    /** Lines without days of their own have the bill's. */
    follow() {
        const [start, end] = ["start_date", "end_date"].map((name) => this.form.querySelector(`[name=${name}]`));
        for (const row of this.rows()) {
            this.cell(row, "from_date").placeholder = start?.value || "";
            this.cell(row, "to_date").placeholder = this.cell(row, "from_date").value || end?.value || "";
        }
        const day = start?.value || "";
        if (this.followed !== undefined && this.followed !== day) this.ask(this.rows().filter((row) => !this.cell(row, "from_date").value));
        this.followed = day;
    }

    /* --- the page around */

    saver() { return fundingSaver(); }

    /** Where the cursor starts: at the warnings, at a fault, at the first line of a bill whose head is filled. */
    begin() {
        const warnings = document.querySelector("[data-warnings]");
        if (warnings) { warnings.focus(); return; } // one Tab from the button, so that nobody stores unread
        const fault = this.form.querySelector(".fu-invalid .errorlist")?.closest(".fu-field")?.querySelector("input, select")
            || this.form.querySelector(".errors input, .errors select");
        if (fault) { fundingFocus(fault); return; }
        const isNew = !this.form.querySelector("[name=opened_version]")?.value;
        if (!isNew) return;
        const first = [...this.form.querySelectorAll(".fu-head select, .fu-head input:not([type=hidden])")].find((field) => !field.value && ["provider_invoice", "contact", "provider", "provider_invoice_reference", "start_date", "end_date", "invoice_claim_type"].includes(field.name));
        if (!first) return this.focusOn(this.rows()[0]);
        fundingFocus(first);
    }
}

/* --- the head -------------------------------------------------------------------------------------------- */

/** Typing on a closed field to look something up opens it, as it opens for Enter. */
function fundingOpenByTyping(event) {
    if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey || event.key === " ") return;
    const field = event.target.closest(".select2-selection--single");
    if (!field || !window.django) return;
    const select = field.closest(".select2-container").previousElementSibling;
    if (!select?.matches("select.admin-autocomplete") || select.disabled) return;
    window.django.jQuery(select).select2("open");
    // The library moves the cursor too late for the key that opened it: the first letter would be lost.
    const search = document.querySelector(".select2-container--open .select2-search__field");
    if (!search) return;
    event.preventDefault();
    search.value = event.key;
    search.focus();
    window.django.jQuery(search).trigger("input");
}

/** Put the cursor into the first field of a form that adds something. */
function fundingBegin() {
    const form = document.querySelector("form.warn-unsaved-form");
    if (!form || form.querySelector("[name=opened_version]")?.value) return;
    const first = form.querySelector(".errors select, .errors input") || [...form.querySelectorAll(".fu-head select, .fu-head input:not([type=hidden])")].find((field) => !field.value);
    if (first) fundingFocus(first);
}

/** The button that goes on: to the next one, to the claim, or to what was saved. */
function fundingSaver() {
    for (const name of ["_next", "_continue", "_claim", "_addanother", "_save"]) {
        const button = document.querySelector(`#submit-row [name=${name}]`);
        if (button) return button;
    }
    return null;
}

/** Save from anywhere in a form. */
function fundingSave(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const button = fundingSaver();
    if (!button?.form) return;
    event.preventDefault();
    document.activeElement?.blur(); // a day that was just typed is tidied first
    button.form.requestSubmit(button);
}

/** Into a field, or into the box that replaces it where records are looked up. */
function fundingFocus(field) {
    if (field.matches("select.admin-autocomplete")) setTimeout(() => document.querySelector(`[aria-labelledby="select2-${field.id}-container"]`)?.focus(), 50);
    else field.focus();
}

document.addEventListener("DOMContentLoaded", () => {
    document.addEventListener("focusout", fundingTidyDay, true); // before those who ask what the day is
    document.addEventListener("keydown", fundingOpenByTyping);
    document.addEventListener("keydown", fundingSave);
    // Adding to what is looked up is for the mouse: one Tab leads from field to field.
    for (const link of document.querySelectorAll(".fu-head .related-widget-wrapper :is(a, button)")) link.tabIndex = -1;
    const grid = document.querySelector("[data-grid]");
    if (grid) new FundingGrid(grid);
    else fundingBegin();
    const invoice = document.querySelector("select[name=provider_invoice]");
    if (!invoice || !window.django) return;
    // What the chosen invoice says fills the form: the server knows how.
    window.django.jQuery(invoice).on("select2:select", () => {
        window.onbeforeunload = null;
        const address = new URL(window.location.href);
        address.searchParams.set("provider_invoice", invoice.value);
        window.location.assign(address);
    });
});
