"""Statements as PDF: the words of ``statement_text`` in 12 point, tagged to be read aloud."""

from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import Spacer

from apps.core.models import Subscriber
from apps.funding.pdf_styles import BOLD, FIGURE, RULES, STRONG_FIGURE, TEXT, TITLE, build_pdf, text
from apps.funding.tagged_pdf import data_table
from apps.payments.statement_text import StatementText
from apps.people.models import Contact

PLAIN = ParagraphStyle("plain", TEXT, fontSize=12, leading=17)
PLAIN_STRONG = ParagraphStyle("plain strong", PLAIN, fontName=BOLD)
PLAIN_FIGURE = ParagraphStyle("plain figure", FIGURE, fontSize=12, leading=17)
PLAIN_STRONG_FIGURE = ParagraphStyle("plain strong figure", STRONG_FIGURE, fontSize=12, leading=17)
HEADING = ParagraphStyle("heading", PLAIN_STRONG, fontSize=14, leading=20, spaceBefore=14, spaceAfter=4)
BIG_TITLE = ParagraphStyle("title", TITLE, fontSize=20, leading=26)

THREE_FIGURES = (72 * mm, 34 * mm, 34 * mm, 34 * mm)
REASONS = (62 * mm, 34 * mm, 78 * mm)


def statement_pdf(said: StatementText, contact: Contact, organisation: Subscriber) -> bytes:
    """The document; its title has the month and no name."""
    story: list[object] = [
        text(said.title, BIG_TITLE),
        text(contact.full_name, PLAIN_STRONG),
        text(f"Scheme number {contact.scheme_number}" if contact.scheme_number else "", PLAIN),
        text(said.made, PLAIN),
        Spacer(0, 4 * mm),
        *(text(each, PLAIN) for each in said.summary),
    ]
    if said.changes:
        story += [text("What changed since the version before", HEADING)]
        story += [text(each, PLAIN) for each in said.changes]
    if said.spent:
        story += [text("What was spent", HEADING), spent_table(said)]
    if said.pending:
        story += [text("Refused or waiting", HEADING), pending_table(said)]
    if said.budgets:
        story += [text(said.left_title, HEADING), budget_table(said)]
    story += [text("Questions?", HEADING), text(organisation.name, PLAIN_STRONG)]
    story += [text(organisation.invoice_sender, PLAIN)]
    return build_pdf(story, said.title, organisation.name)


def header(first: str, *figures: str) -> list[object]:
    return [text(first, PLAIN_STRONG), *(text(each, PLAIN_STRONG_FIGURE) for each in figures)]


def spent_table(said: StatementText) -> object:
    rows = [header("Budget and provider", "Paid", "Not paid yet", "Together")]
    for each in said.spent:
        style, figure = (PLAIN_STRONG, PLAIN_STRONG_FIGURE) if each.is_sum else (PLAIN, PLAIN_FIGURE)
        rows.append(
            [text(each.label, style), *(text(one, figure) for one in (each.paid, each.claimed, each.sum))]
        )
    return data_table(rows, colWidths=THREE_FIGURES, style=RULES)


def pending_table(said: StatementText) -> object:
    rows = [[*header("Provider and invoice", "Amount"), text("What happened", PLAIN_STRONG)]]
    for each in said.pending:
        name = [text(each.provider, PLAIN), text(each.invoice, PLAIN)]
        rows.append([name, text(each.amount, PLAIN_FIGURE), text(each.outcome, PLAIN)])
    return data_table(rows, colWidths=REASONS, style=RULES)


def budget_table(said: StatementText) -> object:
    rows = [header("Budget", "In the plan", "Used", "Left")]
    for each in said.budgets:
        name = [text(each.name, PLAIN_STRONG), text(each.forecast, PLAIN)]
        rows.append([name, *(text(one, PLAIN_FIGURE) for one in (each.budget, each.used, each.left))])
    return data_table(rows, colWidths=THREE_FIGURES, style=RULES)
