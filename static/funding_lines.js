/* The grid of lines of claims and invoices: products looked up by typing, prices of the day, sums to the cent,
   everything by keyboard. Without it the form saves as well: the server reads the same fields. */
"use strict";

(() => {
    /* --- amounts: whole numbers all the way, as floating point loses cents --------------------------------- */

    const DECIMALS = 4;
    /** As the server takes. */
    const LINES_AT_ONCE = 50;

    /** "70.5" as 705000n, or null for what is no amount. */
    function parseUnits(text) {
        const plain = String(text).replace(/[\s$]/g, "");
        const found = /^(-?)(\d{1,3}(?:,\d{3}){1,3}|\d{0,12})(?:\.(\d{0,4}))?$/.exec(plain);
        if (!found || (!found[2] && !found[3])) return null;
        const units = BigInt((found[2] || "0").replaceAll(",", "") + (found[3] || "").padEnd(DECIMALS, "0"));
        return found[1] ? -units : units;
    }

    /** A quantity; hours and minutes as the server reads them, "1:20" as 13333n. */
    function parseQuantity(text) {
        const found = /^\s*(\d{1,3}):([0-5]\d)\s*$/.exec(text);
        if (!found) return parseUnits(text);
        return ((BigInt(found[1]) * 60n + BigInt(found[2])) * 10000n + 30n) / 60n;
    }

    /** Quantity times price in cents, half up. */
    function lineCents(quantity, price) {
        const product = quantity * price; // eight decimals
        const size = product < 0n ? -product : product;
        const cents = (size + 500000n) / 1000000n;
        return product < 0n ? -cents : cents;
    }

    /** 123450n cents as "1,234.50". */
    function formatCents(cents) {
        const size = cents < 0n ? -cents : cents;
        const whole = String(size / 100n).replace(/\B(?=(\d{3})+$)/g, ",");
        return `${cents < 0n ? "−" : ""}${whole}.${String(size % 100n).padStart(2, "0")}`;
    }

    /* --- days ------------------------------------------------------------------------------------------------ */

    /** What people type for a day, as [year, month, day]: 1/7, 1.7.25, 0107, 010725, 01072025, t. */
    function parseDay(text, today, ahead) {
        const [year, month, day] = today;
        if (/^t(oday)?$/i.test(text)) return today;
        const iso = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(text);
        if (iso) return existingDay(+iso[1], +iso[2], +iso[3]);
        const found = /^(\d\d?)[/. -](\d\d?)(?:[/. -](\d{4}|\d\d))?$/.exec(text)
            || /^(\d\d)(\d\d)(\d{4}|\d\d)?$/.exec(text);
        if (!found) return null;
        const [, d, m, y] = found;
        if (y) return existingDay(y.length === 2 ? 2000 + +y : +y, +m, +d);
        const later = +m > month || (+m === month && +d > day);
        return existingDay(year + (ahead ? (later || (+m === month && +d === day) ? 0 : 1) : (later ? -1 : 0)), +m, +d);
    }

    function existingDay(year, month, day) {
        const date = new Date(Date.UTC(year, month - 1, day));
        return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? [year, month, day] : null;
    }

    const twoDigits = (number) => String(number).padStart(2, "0");
    const formatDay = ([year, month, day]) => `${twoDigits(day)}/${twoDigits(month)}/${year}`;
    const isoDay = ([year, month, day]) => `${year}-${twoDigits(month)}-${twoDigits(day)}`;

    /** The day in a field; one that is due lies ahead, others lie behind. */
    function dayOfField(input, today) {
        const text = input.value.trim();
        return text ? parseDay(text, today, input.name === "due_date") : null;
    }

    /** Write a day as the server reads it, when its field is left. */
    function normaliseDay(event) {
        if (!event.target.matches?.("input[data-day]")) return;
        const now = new Date();
        const today = document.querySelector("[data-today]")?.dataset.today.split("-").map(Number);
        const found = dayOfField(event.target, today || [now.getFullYear(), now.getMonth() + 1, now.getDate()]);
        if (!found || event.target.value === formatDay(found)) return;
        event.target.value = formatDay(found);
        event.target.dispatchEvent(new Event("input", { bubbles: true }));
    }

    /* --- cells of a spreadsheet ------------------------------------------------------------------------------ */

    /** The rows and cells of a copied range; a cell with a tab, a line or a quote in it is quoted. */
    function parseCells(text) {
        const rows = [[]];
        const cells = /(?:"((?:[^"]|"")*)"(?=[\t\r\n]|$)|([^\t\r\n]*))(\t|\r\n|\n|\r|$)/g;
        for (const [, quoted, plain, end] of text.replace(/(\r\n|\n|\r)$/, "").matchAll(cells)) {
            rows.at(-1).push((quoted === undefined ? plain : quoted.replaceAll('""', '"')).trim());
            if (end === "") break;
            if (end !== "\t") rows.push([]);
        }
        return rows;
    }

    /** The columns that a pasted range begins with where it has no headers, and the words of headers. */
    const COLUMNS = ["product", "from_date", "to_date", "quantity", "price"];
    const HEADERS = {
        product: /^(product|item|support item|code|item code|item number|support item number|product code)$/,
        from_date: /^(from|from date|date|start|start date|service date|supports delivered from)$/,
        to_date: /^(to|to date|end|end date|supports delivered to)$/,
        quantity: /^(quantity|qty|units?|hours|hrs)$/,
        price: /^(price|rate|unit price|hourly rate)$/,
        claim_type: /^(type|claim type)$/,
        cancellation_reason: /^(cancellation reason|why cancelled)$/,
        tax_choice: /^(tax|gst|gst code)$/,
        notes: /^(notes?|description|comments?)$/,
    };

    /** The column of each cell of a row of headers, or null when it is none: two at least are known. */
    function columnsOfHeaders(cells) {
        const columns = cells.map((cell) => Object.keys(HEADERS).find((name) => HEADERS[name].test(cell.toLowerCase().replace(/[_.]/g, " "))));
        return columns.filter(Boolean).length >= 2 ? columns : null;
    }

    /* --- the grid -------------------------------------------------------------------------------------------- */

    class LineGrid {
        constructor(grid) {
            this.grid = grid;
            this.form = grid.closest("form");
            this.rowsElement = grid.querySelector("[data-rows]");
            this.blank = grid.querySelector("[data-blank]");
            this.total = grid.querySelector("[name$=TOTAL_FORMS]");
            this.nextNumber = this.rows().length;
            this.limit = Number(grid.dataset.limit);
            this.today = grid.dataset.today.split("-").map(Number);
            this.responses = new Map(); // of the server, by address
            grid.querySelector("[data-keys]").hidden = false;
            this.addListeners();
            if (!this.rows().length) this.addRow();
            for (const row of this.rows()) this.prepareRow(row);
            this.renumberRows();
            this.showTotals();
            this.loadPrices(this.rows());
            this.focusFirst();
        }

        rows() { return [...this.rowsElement.querySelectorAll("[data-row]")]; }

        cell(row, name) { return row.querySelector(`[name$="-${name}"]`); }

        isBlank(row) {
            return ["product", "quantity", "price", "notes"].every((name) => !this.cell(row, name).value.trim());
        }

        /* --- what happens */

        addListeners() {
            this.grid.addEventListener("keydown", (event) => this.handleKey(event));
            this.grid.addEventListener("input", (event) => this.handleInput(event.target));
            this.grid.addEventListener("change", (event) => this.handleChange(event.target));
            this.grid.addEventListener("focusout", (event) => this.handleFocusOut(event));
            this.grid.addEventListener("paste", (event) => this.handlePaste(event));
            this.grid.addEventListener("click", (event) => this.handleClick(event));
            this.grid.addEventListener("mousedown", (event) => {
                if (!event.target.closest("[data-options]")) return;
                event.preventDefault(); // the cell keeps the cursor, and the list stays while it is scrolled by its bar
                const option = event.target.closest("[data-option]");
                if (option && event.button === 0) this.chooseProduct(option.closest("[data-row]"), Number(option.dataset.option));
            });
            this.form.addEventListener("submit", () => this.removeBlankRows());
            this.form.addEventListener("input", (event) => { if (event.target.name === "invoice_total") this.showTotals(); });
            document.addEventListener("file:stored", () => this.focusFirst());
            this.form.addEventListener("keydown", (event) => {
                if (this.grid.dataset.lastLines && event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "l") {
                    event.preventDefault();
                    this.repeatLastLines();
                }
                if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.target.matches(".fu-head input")) {
                    event.preventDefault();
                    this.focusRow(this.rows()[0]);
                }
            });
            this.form.addEventListener("focusout", (event) => {
                if (event.target.name === "start_date") this.followStart(event.target.value);
                if (event.target.matches("input[data-day]")) this.followBillDays();
            });
            const contact = this.form.querySelector("[name=contact]");
            if (contact && window.django) window.django.jQuery(contact).on("change", () => this.loadPrices(this.rows()));
            this.followBillDays();
        }

        handleKey(event) {
            const row = event.target.closest("[data-row]");
            if (!row) return;
            const { key } = event;
            if (event.ctrlKey && event.shiftKey && (key === "ArrowDown" || key === "Backspace")) {
                event.preventDefault();
                if (key === "ArrowDown") this.copyRow(row); else this.removeRow(row);
                return;
            }
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            if (this.shownOptions(row).length && event.target === this.cell(row, "product")) {
                if (key === "ArrowDown" || key === "ArrowUp") { event.preventDefault(); this.moveSelection(row, key === "ArrowDown" ? 1 : -1); return; }
                if (key === "Enter" || key === "Tab") {
                    if (key === "Enter") event.preventDefault();
                    this.chooseProduct(row, this.selectedIndex(row));
                    if (key === "Enter") this.cell(row, "from_date").focus();
                    return;
                }
                if (key === "Escape") { event.stopPropagation(); this.closeOptions(row); return; }
            }
            if (key === "ArrowDown" && event.target === this.cell(row, "product")) { event.preventDefault(); this.searchProducts(row); return; }
            if (key === "Enter" && event.target.matches("input, select")) { event.preventDefault(); this.focusNextRow(row); return; }
            if (key === "Tab" && !event.shiftKey && this.isLastCell(row, event.target) && !this.isBlank(row)) {
                event.preventDefault();
                this.focusNextRow(row);
            }
        }

        /** From this row on to the next; from an empty last one to the button that saves. */
        focusNextRow(row) {
            const rows = this.rows();
            const next = rows[rows.indexOf(row) + 1];
            if (next) return this.cell(next, "product").focus();
            if (this.isBlank(row)) return saveButton()?.focus();
            const added = this.addRow();
            if (added) this.cell(added, "product").focus();
            else saveButton()?.focus();
        }

        isLastCell(row, target) {
            const cells = [...row.querySelectorAll("input:not([type=hidden]), select")].filter((cell) => cell.offsetParent);
            return row === this.rows().at(-1) && cells.at(-1) === target;
        }

        handleInput(target) {
            const row = target.closest("[data-row]");
            if (!row) return;
            if (target === this.cell(row, "product")) {
                delete row.dataset.code;
                row.querySelector("[data-name]").textContent = "";
                clearTimeout(row.searchTimer);
                row.searchTimer = setTimeout(() => this.searchProducts(row), 120);
            }
            this.showTotals();
        }

        handleChange(target) {
            const row = target.closest("[data-row]");
            if (!row) return;
            if (target === this.cell(row, "claim_type")) this.showCancellationReason(row);
            if (target === this.cell(row, "price_book")) this.loadPrices([row]);
            this.showTotals();
        }

        handleFocusOut(event) {
            const row = event.target.closest("[data-row]");
            if (!row) return;
            if (event.target.matches("[data-day]")) this.loadPrices([row]);
            if (event.target === this.cell(row, "product")) {
                clearTimeout(row.searchTimer);
                this.closeOptions(row);
                if (row.dataset.code !== event.target.value.trim()) this.loadPrices([row]);
            }
            if (event.target === this.cell(row, "quantity") || event.target === this.cell(row, "price")) this.showTotals();
        }

        handleClick(event) {
            const row = event.target.closest("[data-row]");
            if (event.target.closest("[data-add]")) this.focusRow(this.addRow());
            else if (event.target.closest("[data-repeat]")) this.repeatLastLines();
            else if (row && event.target.closest("[data-copy]")) this.copyRow(row);
            else if (row && event.target.closest("[data-remove]")) this.removeRow(row);
        }

        focusRow(row) { if (row) this.cell(row, "product").focus(); }

        /* --- a range of a spreadsheet */

        /** Fill the lines from this one on, and add those that are missing; one cell is pasted as ever. */
        handlePaste(event) {
            const row = event.target.closest("[data-row]");
            const pasted = parseCells(event.clipboardData?.getData("text/plain") || "");
            if (!row || (pasted.length === 1 && pasted[0].length === 1)) return;
            if (event.target === this.cell(row, "notes") && pasted.every((cells) => cells.length === 1)) return; // lines of text
            event.preventDefault();
            const headed = columnsOfHeaders(pasted[0]);
            const first = COLUMNS.indexOf(event.target.name.split("-").at(-1));
            const columns = headed || COLUMNS.slice(Math.max(first, 0));
            const lines = (headed ? pasted.slice(1) : pasted).filter((cells) => cells.some(Boolean));
            this.fillRows(this.rows().indexOf(row), columns, lines, "pasted");
        }

        fillRows(start, columns, lines, done) {
            const room = this.limit - start;
            this.addRows(start + Math.min(lines.length, room) - this.rows().length);
            const filled = this.rows().slice(start, start + lines.length);
            filled.forEach((each, at) => this.pasteLine(each, columns, lines[at]));
            this.followBillDays();
            this.showTotals();
            this.loadPrices(filled);
            const left = lines.length - filled.length;
            this.showNote(`${filled.length} lines ${done}.${left > 0 ? ` ${left} did not fit: ${this.limit} lines are the most.` : ""}`);
        }

        showNote(text) {
            const note = this.grid.querySelector("[data-paste-note]");
            note.hidden = false;
            note.textContent = text;
        }

        /** The lines of the last claim of this participant and provider, behind those that are there. */
        async repeatLastLines() {
            const provider = this.form.querySelector("[name=provider]")?.value || "";
            if (!this.contact() || !provider) return this.showNote("Choose the participant and the provider first.");
            const found = await this.fetchJson(this.grid.dataset.lastLines, new URLSearchParams({ contact: this.contact(), provider }));
            if (!found?.lines.length) return this.showNote("There is no earlier claim of this participant and provider.");
            const columns = Object.keys(found.lines[0]);
            const rows = this.rows();
            const start = this.isBlank(rows.at(-1)) ? rows.length - 1 : rows.length;
            this.fillRows(start, columns, found.lines.map((line) => columns.map((name) => line[name])), `of claim ${found.claim}; days and prices are those of this one`);
            const first = this.rows()[start];
            if (first) { this.cell(first, "quantity").focus(); this.cell(first, "quantity").select(); }
        }

        pasteLine(row, columns, cells) {
            columns.forEach((name, at) => {
                const cell = name && this.cell(row, name);
                const text = cells[at];
                if (!cell || text === undefined) return;
                if (cell.matches("select")) {
                    const option = [...cell.options].find((each) => [each.value, each.textContent].some((label) => label.trim().toLowerCase() === text.toLowerCase()));
                    if (option) cell.value = option.value;
                } else if (cell.matches("[data-day]")) {
                    const day = parseDay(text, this.today, false);
                    cell.value = day ? formatDay(day) : text;
                } else cell.value = text.replace(/\s*[\r\n]+\s*/g, " ");
            });
            delete row.dataset.code;
            this.showCancellationReason(row);
        }

        /* --- rows */

        addRow(after = null, from = null) {
            if (this.rows().length >= this.limit) return null;
            const row = this.insertRow(this.rows().at(-1), after, from);
            this.renumberRows();
            this.followBillDays();
            return row;
        }

        /** Many at the end; they are counted once. */
        addRows(count) {
            let last = this.rows().at(-1);
            for (let added = 0; added < count; added += 1) last = this.insertRow(last);
            this.renumberRows();
        }

        insertRow(last, after = null, from = null) {
            const container = document.createElement("div");
            container.innerHTML = this.blank.innerHTML.replaceAll("__prefix__", String(this.nextNumber));
            this.nextNumber += 1;
            const row = container.firstElementChild;
            if (after) after.after(row); else this.rowsElement.append(row);
            if (from) this.copyCells(row, from);
            else if (last && this.cell(last, "price_book").value) this.cell(row, "price_book").value = this.cell(last, "price_book").value;
            this.prepareRow(row);
            return row;
        }

        copyCells(row, from) {
            for (const cell of row.querySelectorAll("input:not([type=hidden]), select")) {
                const name = cell.name.split("-").at(-1);
                const other = this.cell(from, name);
                if (cell.type === "checkbox") cell.checked = other.checked; else cell.value = other.value;
            }
            row.querySelector("[data-name]").textContent = from.querySelector("[data-name]").textContent;
            for (const name of ["code", "auto", "cap", "current"]) if (name in from.dataset) row.dataset[name] = from.dataset[name];
        }

        copyRow(row) {
            const copy = this.addRow(row, row);
            if (!copy) return;
            this.showCap(copy);
            this.showLeft(copy, row.querySelector("[data-left]").textContent);
            this.showTotals();
            this.cell(copy, "from_date").focus();
            this.cell(copy, "from_date").select();
        }

        removeRow(row) {
            const rows = this.rows();
            const at = rows.indexOf(row);
            row.remove();
            if (rows.length === 1) this.addRow();
            this.renumberRows();
            this.showTotals();
            this.focusRow(this.rows()[Math.min(at, this.rows().length - 1)]);
        }

        prepareRow(row) {
            const box = row.querySelector("[data-options]");
            const product = this.cell(row, "product");
            box.id = `${product.id}-options`;
            for (const [name, value] of [["aria-controls", box.id], ["aria-expanded", "false"], ["aria-autocomplete", "list"], ["placeholder", "Code or name"]]) product.setAttribute(name, value);
            this.showCancellationReason(row);
        }

        showCancellationReason(row) {
            const cancelled = this.cell(row, "claim_type").value === "Cancellation";
            const reason = this.cell(row, "cancellation_reason");
            row.querySelector("[data-only-cancelled]").hidden = !cancelled && !row.querySelector("[data-only-cancelled] .errorlist");
            if (!cancelled && !row.querySelector("[data-only-cancelled] .errorlist")) reason.value = "";
        }

        renumberRows() {
            this.rows().forEach((row, at) => {
                row.querySelector("[data-number]").textContent = at + 1;
                row.setAttribute("aria-label", `Line ${at + 1}`);
            });
            this.total.value = Math.max(Number(this.total.value), this.nextNumber);
            this.grid.querySelector("[data-add]").disabled = this.rows().length >= this.limit;
        }

        /** Before the form is sent: rows in their order, without blank ones. */
        removeBlankRows() {
            const blank = this.rows().filter((row) => this.isBlank(row));
            if (blank.length === this.rows().length) blank.shift(); // it says that a line is needed
            for (const row of blank) row.remove();
            const rows = this.rows();
            const renumbered = (text, at) => text.replace(/^((?:id_)?lines-)\d+-/, `$1${at}-`);
            rows.forEach((row, at) => {
                for (const cell of row.querySelectorAll("[name]")) cell.name = renumbered(cell.name, at);
            });
            this.total.value = rows.length;
        }

        /* --- products */

        dayOfRow(row) {
            const own = dayOfField(this.cell(row, "from_date"), this.today);
            const start = this.form.querySelector("[name=start_date]");
            const found = own || (start && dayOfField(start, this.today)) || this.today;
            return isoDay(found);
        }

        contact() { return this.form.querySelector("[name=contact]")?.value || ""; }

        async searchProducts(row) {
            const product = this.cell(row, "product");
            const book = this.cell(row, "price_book").value;
            if (!book) return this.showOptions(row, null, "Choose a price book first.");
            const query = new URLSearchParams({ book, q: product.value.trim(), contact: this.contact(), on: this.dayOfRow(row) });
            const found = await this.fetchJson(this.grid.dataset.products, query, row);
            if (found && document.activeElement === product) this.showOptions(row, found.products, "No product of this price book has this code or name.");
        }

        async fetchJson(address, query, row) {
            const key = `${address}?${query}`;
            if (this.responses.has(key)) return this.responses.get(key);
            row?.request?.abort();
            const request = new AbortController();
            if (row) row.request = request;
            try {
                const answer = await fetch(key, { signal: request.signal, headers: { Accept: "application/json" } });
                if (!answer.ok) return null;
                const data = await answer.json();
                this.responses.set(key, data);
                return data;
            } catch {
                return null; // aborted by the next key, or no network: the server checks what is sent
            }
        }

        showOptions(row, products, emptyText) {
            const box = row.querySelector("[data-options]");
            row.products = products || [];
            box.replaceChildren(...row.products.map((each, at) => this.createOption(box, each, at)));
            if (!row.products.length) {
                const message = document.createElement("p");
                message.className = "fu-no-options";
                message.textContent = emptyText;
                box.append(message);
            }
            box.hidden = false;
            this.cell(row, "product").setAttribute("aria-expanded", "true");
            if (row.products.length) this.selectOption(row, 0);
            this.showAboveButtons(box);
        }

        /** In a low window the list would open below the bar of buttons. */
        showAboveButtons(box) {
            box.style.maxHeight = "";
            box.scrollIntoView({ block: "nearest" });
            const bar = document.getElementById("submit-row")?.getBoundingClientRect().top ?? window.innerHeight;
            const { top, bottom } = box.getBoundingClientRect();
            if (bottom > bar) box.style.maxHeight = `${Math.max(bar - top - 8, 120)}px`;
        }

        createOption(box, each, at) {
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

        shownOptions(row) {
            const box = row.querySelector("[data-options]");
            return box.hidden ? [] : [...box.querySelectorAll("[data-option]")];
        }

        selectedIndex(row) { return this.shownOptions(row).findIndex((option) => option.getAttribute("aria-selected") === "true"); }

        moveSelection(row, by) {
            const count = this.shownOptions(row).length;
            this.selectOption(row, (this.selectedIndex(row) + by + count) % count);
        }

        selectOption(row, at) {
            this.shownOptions(row).forEach((option, number) => {
                option.setAttribute("aria-selected", String(number === at));
                if (number === at) {
                    option.scrollIntoView({ block: "nearest" });
                    this.cell(row, "product").setAttribute("aria-activedescendant", option.id);
                }
            });
        }

        closeOptions(row) {
            row.querySelector("[data-options]").hidden = true;
            this.cell(row, "product").setAttribute("aria-expanded", "false");
            this.cell(row, "product").removeAttribute("aria-activedescendant");
        }

        chooseProduct(row, at) {
            const product = row.products?.[at];
            this.closeOptions(row);
            if (!product) return;
            this.cell(row, "product").value = product.code;
            this.cell(row, "product").dispatchEvent(new Event("change", { bubbles: true }));
            this.showProduct(row, product);
            this.showTotals();
        }

        /* --- prices */

        /** Load the prices of the lines on their days, of so many at once as an address has room for. */
        async loadPrices(rows) {
            const named = rows.filter((row) => this.cell(row, "product").value.trim());
            for (let at = 0; at < named.length; at += LINES_AT_ONCE) await this.loadSomePrices(named.slice(at, at + LINES_AT_ONCE), named.length === 1);
            if (named.length) this.showTotals();
        }

        async loadSomePrices(rows, isOne) {
            const words = new URLSearchParams({ contact: this.contact(), bill: this.grid.dataset.bill });
            for (const row of rows) words.append("line", [this.cell(row, "price_book").value, this.cell(row, "product").value.trim(), this.dayOfRow(row)].join("|"));
            const found = await this.fetchJson(this.grid.dataset.prices, words, isOne ? rows[0] : null);
            if (!found) return;
            rows.forEach((row, at) => {
                if (found.lines[at]) this.showProduct(row, found.lines[at]);
                else if (document.activeElement !== this.cell(row, "product")) {
                    row.querySelector("[data-name]").textContent = "No product has this code.";
                }
            });
        }

        showProduct(row, product) {
            row.dataset.code = product.code;
            row.querySelector("[data-name]").textContent = [product.name, product.unit].filter(Boolean).join(" · ");
            row.dataset.cap = product.price || "";
            row.dataset.current = product.current ? "yes" : "";
            this.showLeft(row, product.left || "");
            const price = this.cell(row, "price");
            const same = (one, other) => parseUnits(one) !== null && parseUnits(one) === parseUnits(other);
            if (product.price && (!price.value.trim() || same(price.value, row.dataset.auto || "") || same(price.value, product.price))) {
                price.value = product.price;
                row.dataset.auto = product.price;
            }
            this.showCap(row);
        }

        /** What the funding period of the line's day has left. */
        showLeft(row, words) {
            const output = row.querySelector("[data-left]");
            output.textContent = words;
            output.classList.toggle("fu-over-cap", / 0\.00 of |: -|has no funding period/.test(words));
        }

        showCap(row) {
            const output = row.querySelector("[data-cap]");
            output.classList.remove("fu-over-cap");
            if (!row.dataset.code) { output.textContent = ""; return; }
            if (!row.dataset.current) { output.textContent = "no price that day"; output.classList.add("fu-over-cap"); return; }
            if (!row.dataset.cap) { output.textContent = "quoted"; return; }
            const cap = parseUnits(row.dataset.cap);
            const price = parseUnits(this.cell(row, "price").value);
            if (price !== null && price > cap) {
                output.textContent = `${formatCents((price - cap) / 100n)} over ${row.dataset.cap}`;
                output.classList.add("fu-over-cap");
            } else output.textContent = `cap ${row.dataset.cap}`;
        }

        /* --- sums */

        showTotals() {
            let sum = 0n;
            for (const row of this.rows()) {
                const quantity = parseQuantity(this.cell(row, "quantity").value);
                const price = parseUnits(this.cell(row, "price").value);
                const output = row.querySelector("[data-total]");
                this.showCap(row);
                if (quantity === null || price === null) { output.textContent = "–"; continue; }
                const cents = lineCents(quantity, price) * (this.cell(row, "is_credit_item")?.checked ? -1n : 1n);
                output.textContent = formatCents(cents);
                sum += cents;
            }
            this.grid.querySelector("[data-sum]").textContent = formatCents(sum);
            const invoice = this.grid.querySelector("[data-invoice-total]");
            if (!invoice) return;
            const entered = this.form.querySelector("[name=invoice_total]");
            const total = parseUnits(entered ? entered.value : invoice.dataset.invoiceTotal);
            const difference = total === null ? 0n : sum - total / 100n;
            if (entered) invoice.textContent = total === null ? "–" : formatCents(total / 100n);
            this.grid.querySelector("[data-difference-row]").hidden = difference === 0n;
            this.grid.querySelector("[data-difference]").textContent = formatCents(difference);
        }

        /* --- days */

        /** Most bills are for one day: its last one is the first, until another is entered. */
        followStart(day) {
            const end = this.form.querySelector("[name=end_date]");
            if (!end || (end.value && end.value !== this.filledEnd)) return;
            end.value = this.filledEnd = day;
        }

        /** Lines without days of their own have the bill's. */
        followBillDays() {
            const [start, end] = ["start_date", "end_date"].map((name) => this.form.querySelector(`[name=${name}]`));
            for (const row of this.rows()) {
                this.cell(row, "from_date").placeholder = start?.value || "";
                this.cell(row, "to_date").placeholder = this.cell(row, "from_date").value || end?.value || "";
            }
            const day = start?.value || "";
            if (this.startDay !== undefined && this.startDay !== day) this.loadPrices(this.rows().filter((row) => !this.cell(row, "from_date").value));
            this.startDay = day;
        }

        /* --- the page around */

        /** Where the cursor starts: at the warnings, at an invalid field, at the first line of a bill with a complete head. */
        focusFirst() {
            const warnings = document.querySelector("[data-warnings]");
            if (warnings) { warnings.focus(); return; } // one Tab from the button, so that nobody stores unread
            const invalidField = this.form.querySelector(":is(.fu-row [aria-invalid=true], .errors :is(input, select))");
            if (invalidField) { focusField(invalidField); return; }
            const isNew = !this.form.querySelector("[name=opened_version]")?.value;
            if (!isNew) return;
            const picker = document.querySelector("[data-form-file] input[type=file]");
            const isNewInvoice = (picker || new URLSearchParams(window.location.search).has("document")) && !this.form.querySelector("[name=provider_invoice]").value;
            if (picker && isNewInvoice && !this.form.querySelector("[name=file]").value) return picker.focus();
            const names = ["contact", "provider", "provider_invoice_reference", "start_date", "end_date", "invoice_claim_type", isNewInvoice ? "invoice_total" : "provider_invoice"];
            const first = [...this.form.querySelectorAll(".fu-head select, .fu-head input:not([type=hidden])")].find((field) => !field.value && names.includes(field.name));
            if (!first) return this.focusRow(this.rows()[0]);
            focusField(first);
        }
    }

    /* --- the head -------------------------------------------------------------------------------------------- */

    /** Typing on a closed field to look something up opens it, as it opens for Enter. */
    function openSelectByTyping(event) {
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
    function focusFirstField() {
        const form = document.querySelector("form.warn-unsaved-form");
        if (!form || form.querySelector("[name=opened_version]")?.value) return;
        const first = form.querySelector(".errors select, .errors input") || [...form.querySelectorAll(".fu-head select, .fu-head input:not([type=hidden])")].find((field) => !field.value);
        if (first) focusField(first);
    }

    /** The button that goes on: to the next one, to the claim, or to what was saved. */
    function saveButton() {
        for (const name of ["_next", "_continue", "_claim", "_addanother", "_save"]) {
            const button = document.querySelector(`#submit-row [name=${name}]`);
            if (button) return button;
        }
        return null;
    }

    /** Save from anywhere in a form. */
    function saveByKey(event) {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        const button = saveButton();
        if (!button?.form) return;
        event.preventDefault();
        document.activeElement?.blur(); // so that a day that was just typed is normalised
        button.form.requestSubmit(button);
    }

    /** Into a field, or into the box that replaces it where records are looked up. */
    function focusField(field) {
        if (field.matches("select.admin-autocomplete")) setTimeout(() => document.querySelector(`[aria-labelledby~="select2-${field.id}-container"]`)?.focus(), 50);
        else field.focus();
    }

    /** The browser's message about a PDF that it cannot read takes the cursor; whoever clicks on it has the mouse above. */
    function keepCursor() {
        let focused = null;
        document.addEventListener("focusin", (event) => { if (!event.target.matches("iframe")) focused = event.target; });
        window.addEventListener("blur", () => setTimeout(() => {
            if (document.activeElement?.matches("iframe:not(:hover)")) focused?.focus();
        }));
    }

    document.addEventListener("DOMContentLoaded", () => {
        keepCursor();
        document.addEventListener("focusout", normaliseDay, true); // before the handlers that read the day
        document.addEventListener("keydown", openSelectByTyping);
        document.addEventListener("keydown", saveByKey);
        // Adding to what is looked up is for the mouse: one Tab leads from field to field.
        for (const link of document.querySelectorAll(".fu-head .related-widget-wrapper :is(a, button)")) link.tabIndex = -1;
        const grid = document.querySelector("[data-grid]");
        if (grid) new LineGrid(grid);
        else focusFirstField();
        const invoice = document.querySelector("select[name=provider_invoice]");
        if (!invoice || !window.django) return;
        // What the chosen invoice says fills the form: the server knows how.
        invoice.dataset.leadsOn = "";
        window.django.jQuery(invoice).on("select2:select", () => {
            const address = new URL(window.location.href);
            address.searchParams.set("provider_invoice", invoice.value);
            window.location.assign(address);
        });
    });
})();
