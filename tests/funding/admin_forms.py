"""What a browser would send of the forms of claims and invoices."""

from tests.people.records import form_data

CLAIMS, INVOICES, PROVIDER_INVOICES = (
    f"/admin/funding/{name}/" for name in ("claim", "invoice", "providerinvoice")
)


def line(entry, quantity="2", **cells):
    """The cells of a row for a product in a price book."""
    return {
        "product": entry.product.code,
        "price_book": str(entry.price_book_id),
        "quantity": quantity,
        **cells,
    }


def bill_form_data(page, *lines, **fields):
    """The head of the form as it stands with some fields changed, and these lines instead of its own."""
    data = form_data(page, **fields)
    data["lines-TOTAL_FORMS"], data["lines-INITIAL_FORMS"] = str(len(lines)), "0"
    for number, cells in enumerate(lines):
        data |= {f"lines-{number}-{name}": value for name, value in cells.items()}
    return data


def rows_of(page):
    """The cells of the lines that a page shows, by name."""
    return [
        {name: row[name].value() for name in row.fields} for row in page.context["rows"].forms if row.initial
    ]


def errors_of(page):
    """The errors of the head, and those of each line."""
    head = dict(page.context["adminform"].form.errors.items())
    return head, [dict(row.errors.items()) for row in page.context["rows"].forms]


def warning_labels(page):
    return [warning["label"] for warning in page.context["warnings"]]


def save_anyway(page):
    """What the button below the warnings sends beside the form."""
    return {"_save_anyway": "1", "confirmed": [warning["token"] for warning in page.context["warnings"]]}


# --- actions on records of a list -----------------------------------------------------------------------


def run_list_action(client, address, name, records, follow=False, **answers):
    """What the bar below a list sends; the button says which of the hidden actions it is."""
    data = {"action": [name], "index": "0", "_selected_action": [str(each.pk) for each in records], **answers}
    return client.post(address, data, follow=follow)


def confirm_list_action(client, address, name, records, page=None, ticked=(), **answers):
    """Confirm the page that shows what an action will do, with these of its warned records ticked."""
    page = page or run_list_action(client, address, name, records, follow=True)
    boxes = {"ticked": [str(each.pk) for each in ticked]}
    return client.post(address, {**dict(page.context["hidden"]), **boxes, "_do": "1", **answers}, follow=True)


def reloaded(record):
    return type(record).objects.get(pk=record.pk)
