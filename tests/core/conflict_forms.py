"""The page that shows a conflict of two people, and what a browser sends of it."""


def page_of(record):
    return f"/admin/{record._meta.app_label}/{record._meta.model_name}/{record.pk}/change/"


def form_of(answer):
    return answer.context["adminform"].form


def sides(answer):
    return {each.label: (each.theirs, each.mine, each.keep) for each in form_of(answer).conflicts}


def sent_again(data, answer, **chosen):
    """What a browser sends of the page of a conflict, with some choices changed."""
    keep = {each.input_name: each.keep for each in form_of(answer).conflicts}
    keep |= {f"keep_{name}": side for name, side in chosen.items()}
    return {**data, **keep, "opened_version": form_of(answer)["opened_version"].value()}
