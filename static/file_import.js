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

// A page out of the browser's memory of its history shows an old status.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
