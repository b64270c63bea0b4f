/* Shows the fields of a form that are available: the origin follows the source, the outcome follows the stage.
   The server removes the values of hidden fields, so the form is right without this as well. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const fieldOf = (name) => document.getElementById(`id_${name}`);
    const source = fieldOf("source");
    const stage = fieldOf("stage");
    const outcome = fieldOf("outcome");

    const show = (names, visible) => {
        for (const name of names) {
            for (const row of document.querySelectorAll(`.field-${name}`)) row.hidden = !visible;
        }
    };

    const showAvailable = () => {
        const referral = source.value === "Referral";
        show(["source_details"], source.value !== "" && !referral);
        show(["referrer_email", "referrer_first_name", "referrer_last_name", "referrer_organisation"], referral);
        if (!outcome) return;
        const result = stage.value !== "" && stage.value === stage.dataset.result;
        const decided = result && ["SaleSuccessful", "SaleUnsuccessful"].includes(outcome.value);
        show(["outcome", "outcome_reasons"], result);
        show(["outcome_moment"], decided);
        show(["add_e_marketing_contact_list"], result && outcome.value !== "SaleSuccessful");
    };

    if (!source || !stage) return;
    for (const field of [source, stage, outcome]) if (field) field.addEventListener("change", showAvailable);
    showAvailable();
});
