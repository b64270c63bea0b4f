"""PDF documents with their structure: headings, paragraphs, and tables with rows, headers and cells.

Programs that read a document aloud follow it. reportlab writes none, so its canvas, paragraph and table are
extended here: each paragraph and each cell is marked content of an element, lines and repeated headers are
artifacts, and the tree of elements hangs from the document (ISO 32000-1, 14.7 and 14.8).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reportlab.pdfbase import pdfdoc
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, Table

#: The elements of paragraphs by the names of their styles; others are P.
HEADINGS = {"title": "H1", "heading": "H2"}
COLUMN_HEADER, ROW_HEADER = "<</O/Table/Scope/Column>>", "<</O/Table/Scope/Row>>"


class StructureElement(pdfdoc.PDFObject):
    """An element of the document's structure, with elements or pieces of pages in it."""

    __RefOnly__ = 1

    def __init__(self, kind: str, parent: object, attributes: str = "") -> None:
        self.kind, self.parent, self.attributes = kind, parent, attributes
        #: References to elements, or pages with the number of the marked content on them.
        self.children: list[tuple[Any, int | None]] = []

    def format(self, document: object) -> bytes:
        """The element as it stands in the file."""
        parts = [f"<</Type/StructElem/S/{self.kind}/P "]
        parts += [reference_text(self.parent, document), "/K["]
        for reference, number in self.children:
            text = reference_text(reference, document)
            parts.append(f" {text}" if number is None else f"<</Type/MCR/Pg {text}/MCID {number}>>")
        parts.append(f"]/A {self.attributes}>>" if self.attributes else "]>>")
        return "".join(parts).encode("ascii")


def reference_text(reference: Any, document: Any) -> str:
    text: bytes = reference.format(document)
    return text.decode("ascii")


class TaggedCanvas(Canvas):
    """A canvas that keeps the structure of what is drawn on it, and writes it with the document.

    ``cell`` is the element that paragraphs belong to now; without one each is an element of its own.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.tree = pdfdoc.PDFDictionary({"Type": pdfdoc.PDFName("StructTreeRoot")})
        self.document_element = StructureElement("Document", self._doc.Reference(self.tree))
        self._doc.Reference(self.document_element)
        self.cell: StructureElement | None = None
        self.is_artifact = False
        #: By page, the element of each marked content.
        self.marked: list[list[StructureElement]] = [[]]

    def add_element(self, kind: str, parent: StructureElement, attributes: str = "") -> StructureElement:
        element = StructureElement(kind, self._doc.Reference(parent), attributes)
        parent.children.append((self._doc.Reference(element), None))
        return element

    @contextmanager
    def content(self, kind: str) -> Iterator[None]:
        """Mark what is drawn within as content of the cell, else of a new element of this kind."""
        if self.is_artifact:
            self.begin_artifact()
        else:
            element = self.cell or self.add_element(kind, self.document_element)
            number = len(self.marked[-1])
            self.marked[-1].append(element)
            element.children.append((self._doc.thisPageRef(), number))
            self._code.append(f"/{element.kind} <</MCID {number}>> BDC")
        yield
        self.end_content()

    def begin_artifact(self) -> None:
        """Mark what is drawn from now on as saying nothing: lines, and what was said before."""
        self._code.append("/Artifact BMC")

    def end_content(self) -> None:
        self._code.append("EMC")

    def showPage(self) -> None:
        super().showPage()
        page = self._doc.Pages.pages[-1]
        page.__NoDefault__ = [*page.__NoDefault__, "StructParents", "Tabs"]
        page.StructParents, page.Tabs = len(self.marked) - 1, pdfdoc.PDFName("S")
        self.marked.append([])

    def save(self) -> None:
        if self._code:
            self.showPage()
        numbers: list[Any] = []
        for page, elements in enumerate(self.marked[:-1]):
            numbers += [page, pdfdoc.PDFArray(list(map(self._doc.Reference, elements)))]
        parents = pdfdoc.PDFDictionary({"Nums": pdfdoc.PDFArray(numbers)})
        self.tree["K"] = self._doc.Reference(self.document_element)
        self.tree["ParentTree"] = self._doc.Reference(parents)
        self.tree["ParentTreeNextKey"] = len(self.marked) - 1
        self._doc.Catalog.StructTreeRoot = self.tree
        self._doc.Catalog.MarkInfo = pdfdoc.PDFDictionary({"Marked": "true"})
        super().save()


class TaggedParagraph(Paragraph):
    """A paragraph, or a heading by the name of its style."""

    def draw(self) -> None:
        with self.canv.content(HEADINGS.get(self.style.name, "P")):
            super().draw()


class TableTags:
    """The elements of a table, which reportlab tells what it draws; on a further page it goes on.

    Rows that a further page repeats are headers, which were read before.
    """

    def __init__(self) -> None:
        self.table: StructureElement | None = None
        self.row: StructureElement | None = None
        self.is_continued = False

    def __call__(self, table: Any, event: str, *place: Any) -> None:
        canvas = table.canv
        match event:
            case "startTable":
                self.is_continued = self.table is not None
                self.table = self.table or canvas.add_element("Table", canvas.document_element)
            case "startBG" | "startLines":
                canvas.begin_artifact()
            case "endBG" | "endLines":
                canvas.end_content()
            case "startRow":
                is_repeated = self.is_continued and place[0] < table.repeatRows
                self.row = None if is_repeated else canvas.add_element("TR", self.table)
            case "startCell":
                canvas.is_artifact = self.row is None
                canvas.cell = self.row and self.add_cell(canvas, place[0] < table.repeatRows, place[1])
            case "endCell":
                canvas.cell, canvas.is_artifact = None, False

    def add_cell(self, canvas: Any, is_header: bool, column: int) -> Any:
        """A cell of the present row: the first one of a row says what the row is about."""
        if is_header:
            return canvas.add_element("TH", self.row, COLUMN_HEADER)
        return canvas.add_element("TD" if column else "TH", self.row, "" if column else ROW_HEADER)


def data_table(rows: list[list[object]], **options: Any) -> Table:
    """A table of which the first row has the headers, repeated on further pages."""
    return Table(rows, repeatRows=1, renderCB=TableTags(), **options)
