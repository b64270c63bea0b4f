// A row for each chosen file with its name, category and client. Without this script all files of an upload
// get the same values.
"use strict";

(() => {
  const form = document.getElementById("upload-form");
  const picker = document.getElementById("upload-files");
  picker.hasChangeListener = true; // else the interface library looks for its own text field beside it
  const rows = document.getElementById("upload-rows");
  const drop = form.querySelector(".rs-drop");
  const errorBox = document.getElementById("upload-error");
  const progress = document.getElementById("upload-progress");
  const limits = JSON.parse(document.getElementById("upload-limits").textContent);
  const template = document.getElementById("upload-row");
  const forAll = { DocumentCategoryGuidList: "id_category", ClientGuidList: "id_client" };
  let counter = 0;

  const formatBytes = (bytes) =>
    bytes < 1024 * 1024 ? `${Math.max(1, Math.round(bytes / 1024))} kB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;

  function cloneSelect(source, name) {
    // A select of the row, with the same look-up as the one for all files.
    const copy = source.cloneNode(true);
    copy.id = `${source.id}_${++counter}`;
    copy.name = name;
    copy.required = false;
    for (const attribute of ["data-select2-id", "aria-hidden", "tabindex"]) copy.removeAttribute(attribute);
    copy.classList.remove("select2-hidden-accessible");
    copy.value = source.value;
    copy.addEventListener("change", () => { copy.dataset.chosen = "yes"; });
    return copy;
  }

  function enableLookup(select) {
    if (!select.classList.contains("admin-autocomplete") || !window.django?.jQuery) return;
    const field = window.django.jQuery(select);
    field.djangoAdminSelect2();
    field.on("select2:select select2:clear", () => { select.dataset.chosen = "yes"; });
  }

  function addRow(file) {
    const row = template.content.firstElementChild.cloneNode(true);
    row.file = file;
    row.querySelector(".rs-upload-name").textContent = file.name;
    row.querySelector(".rs-upload-size").textContent = formatBytes(file.size);
    row.querySelector("[name=Names]").placeholder = file.name;
    row.querySelector(".rs-upload-remove").addEventListener("click", () => { row.remove(); checkCount(); });
    rows.append(row);
    for (const [name, id] of Object.entries(forAll)) {
      const select = cloneSelect(document.getElementById(id), name);
      row.querySelector(`[data-clone=${id}]`).replaceWith(select);
      enableLookup(select);
    }
    showIssue(row, findIssue(file));
  }

  function findIssue(file) {
    if (file.size > limits.bytes) return `The file is larger than ${formatBytes(limits.bytes)}.`;
    return file.size === 0 ? "The file is empty." : "";
  }

  function showIssue(row, text) {
    const element = row.querySelector(".rs-upload-issue");
    element.textContent = text;
    element.hidden = !text;
    row.classList.toggle("rs-invalid", Boolean(text));
  }

  function showError(text) {
    errorBox.textContent = text;
    errorBox.hidden = !text;
  }

  function checkCount() {
    const fileCount = rows.children.length;
    showError(fileCount > limits.files ? `At most ${limits.files} files can be added at once; you chose ${fileCount}.` : "");
    return fileCount > 0 && fileCount <= limits.files;
  }

  function addFiles(files) {
    for (const file of files) addRow(file);
    picker.value = "";
    picker.required = false;
    checkCount();
  }

  function showIssues(response) {
    let message = response.message || "The files could not be added.";
    for (const row of rows.children) showIssue(row, "");
    for (const each of response.issues || []) {
      const row = each.row === null ? null : rows.children[each.row];
      if (!row) { message += `\n${each.message}`; continue; }
      const before = row.querySelector(".rs-upload-issue").textContent;
      showIssue(row, `${before ? `${before}\n` : ""}${each.message}`);
    }
    showError(message);
    form.scrollIntoView();
  }

  function upload() {
    const data = new FormData();
    data.append("csrfmiddlewaretoken", form.querySelector("[name=csrfmiddlewaretoken]").value);
    data.append("contact", form.querySelector("[name=contact]").value);
    for (const row of rows.children) {
      data.append("Files", row.file);
      for (const field of row.querySelectorAll("[name]")) data.append(field.name, field.value);
    }
    const request = new XMLHttpRequest();
    request.open("POST", form.action || location.href);
    request.setRequestHeader("Accept", "application/json");
    request.responseType = "json";
    request.upload.addEventListener("progress", (at) => { progress.value = at.loaded / at.total; });
    const done = () => { progress.hidden = true; form.querySelector("[type=submit]").disabled = false; };
    request.addEventListener("error", () => { done(); showError("The service could not be reached. Nothing was added."); });
    request.addEventListener("load", () => {
      done();
      if (request.status === 200) { rows.replaceChildren(); location.assign(request.response.url); return; }
      showIssues(request.response || {});
    });
    progress.hidden = false;
    form.querySelector("[type=submit]").disabled = true;
    request.send(data);
  }

  for (const [name, id] of Object.entries(forAll)) {
    const source = document.getElementById(id);
    const copyToRows = () => {
      for (const select of rows.querySelectorAll(`[name=${name}]`)) {
        if (select.dataset.chosen) continue;
        if (![...select.options].some((option) => option.value === source.value)) {
          select.append(source.selectedOptions[0].cloneNode(true));
        }
        select.value = source.value;
        if (window.django?.jQuery) window.django.jQuery(select).trigger("change.select2");
      }
    };
    source.addEventListener("change", copyToRows);
    if (window.django?.jQuery) window.django.jQuery(source).on("select2:select select2:clear", copyToRows);
  }

  picker.addEventListener("change", () => addFiles([...picker.files]));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // else the browser would open the file and leave the page
      drop.classList.toggle("rs-over", kind === "dragover");
      if (kind === "drop") addFiles([...event.dataTransfer.files]);
    });
  }
  window.addEventListener("beforeunload", (event) => { if (rows.children.length) event.preventDefault(); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!rows.children.length) { showError("Choose a file first."); return; }
    if (checkCount()) upload();
  });
})();
