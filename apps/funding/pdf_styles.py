"""The fonts, styles, paragraphs and page that our PDF documents share."""

from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import SimpleDocTemplate, TableStyle

from apps.base.texts import composed
from apps.core.models import Subscriber
from apps.funding.tagged_pdf import TaggedCanvas, TaggedParagraph

#: DejaVu Sans: the letters of all languages that are written in Latin script, Vietnamese among them.
FONT, BOLD = "DejaVuSans", "DejaVuSans-Bold"
for font in (FONT, BOLD):
    pdfmetrics.registerFont(TTFont(font, Path(__file__).parent / "fonts" / f"{font}.ttf"))

TEXT = ParagraphStyle("text", fontName=FONT, fontSize=9, leading=13)
SMALL = ParagraphStyle("small", TEXT, fontSize=7.5, leading=10, textColor=colors.HexColor("#4b5563"))
FIGURE = ParagraphStyle("figure", TEXT, alignment=TA_RIGHT)
STRONG = ParagraphStyle("strong", TEXT, fontName=BOLD)
STRONG_FIGURE = ParagraphStyle("strong figure", STRONG, alignment=TA_RIGHT)
TITLE = ParagraphStyle("title", STRONG, fontSize=18, leading=24)

RULES = TableStyle(
    [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.black),
        ("LINEBELOW", (0, 1), (-1, -1), 0.25, colors.HexColor("#9ca3af")),
    ]
)


def text(value: str | None, style: ParagraphStyle = TEXT) -> TaggedParagraph:
    """Plain text as a paragraph; accents are composed, since fonts have the composed letters."""
    return TaggedParagraph(escape(composed(value or ""), quote=False).replace("\n", "<br/>"), style)


def sender(organisation: Subscriber) -> list[TaggedParagraph]:
    """The organisation's name, its address and its ABN, as far as they are given."""
    number = organisation.business_number and f"ABN {organisation.business_number}"
    lines = filter(None, [organisation.invoice_sender, number])
    return [text(organisation.name, STRONG), text("\n".join(lines))]


def build_pdf(story: Sequence[object], title: str, author: str) -> bytes:
    """The document of these parts, with its structure for programs that read it aloud."""
    output = BytesIO()
    document = SimpleDocTemplate(
        output,
        pagesize=A4,
        leftMargin=18 * mm,
        rightMargin=18 * mm,
        title=title,
        author=author,
        lang="en-AU",
        displayDocTitle=True,
    )
    document.build(list(story), canvasmaker=TaggedCanvas)
    return output.getvalue()
