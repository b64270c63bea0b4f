/* Shows of a form only what is available: the origin follows the source, the outcome follows the stage.
   The server takes out what is not shown, so the form is right without this as well. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
    const chosen = (name) => document.getElementById(`id_${name}`);
    const source = chosen("source");
    const stage = chosen("stage");
    const outcome = chosen("outcome");

    const show = (names, visible) => {
        for (const name of names) {
            for (const row of document.querySelectorAll(`.field-${name}`)) row.hidden = !visible;
        }
    };

    const follow = () => {
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
    for (const field of [source, stage, outcome]) if (field) field.addEventListener("change", follow);
    follow();
});
