// The progress bar of an import, and forms that are sent once however often their button is pressed.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  // The library's mark: else it looks for a text field beside each file, and fails where there is none.
  for (const input of document.querySelectorAll("input[type=file]")) input.hasChangeListener = true;
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.once) event.preventDefault();
      form.dataset.once = "sent";
    });
  }
  takeDroppedFiles();
  lookAgainWhileFilesAreRead();

  const box = document.querySelector("[data-progress]");
  if (!box) return;
  const bar = box.querySelector("progress");
  const text = box.querySelector("span");

  async function look() {
    let pause = 700;
    try {
      const answer = await fetch(box.dataset.progress, { headers: { Accept: "application/json" } });
      // A lost session answers with the login page, which is shown in place of this one.
      if (!answer.ok || answer.redirected) return location.reload();
      const { running, done, total } = await answer.json();
      if (!running) return location.reload();
      if (total) {
        bar.max = total;
        bar.value = done;
        text.textContent = `${done.toLocaleString("en-AU")} of ${total.toLocaleString("en-AU")} rows`;
      }
    } catch {
      pause = 5000; // no network, or a restart of the server
    }
    setTimeout(look, pause);
  }
  setTimeout(look, 500);
});

// Files that are dropped anywhere on the page are chosen; of most kinds one at a time.
function takeDroppedFiles() {
  const picker = document.querySelector(".rs-import input[name=file]");
  if (!picker) return;
  const kinds = picker.form.elements.kind;
  const setMultiple = () => { picker.multiple = kinds.selectedOptions[0].hasAttribute("data-many"); };
  setMultiple();
  kinds.addEventListener("change", setMultiple);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // else the browser would open the file and leave the form
      picker.classList.toggle("rs-over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) picker.files = event.dataTransfer.files;
    });
  }
}

// The list of files that were read in one go shows how far they are. Only texts of cells are replaced: the
// messages above the list and what is selected stay.
function lookAgainWhileFilesAreRead() {
  const list = document.querySelector("#result_list");
  if (!list || !new URLSearchParams(location.search).has("guid__in")) return;
  const column = list.querySelector(".field-status_label").cellIndex;
  const isRunning = (row) => /^(Reading|Checking|Importing)$/.test(row.cells[column].textContent.trim());

  async function look() {
    if (![...list.rows].some(isRunning)) return;
    try {
      const answer = await fetch(location.href);
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      page.querySelectorAll("#result_list tbody tr").forEach((row, number) => {
        const shown = list.tBodies[0].rows[number].cells;
        for (const cell of [...row.cells].slice(1)) shown[cell.cellIndex].innerHTML = cell.innerHTML;
      });
    } catch {
      // no network, or a restart of the server
    }
    setTimeout(look, 1500);
  }
  setTimeout(look, 1000);
}

// A page out of the browser's memory of its history shows an old status.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
