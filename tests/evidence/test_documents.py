"""PDF and DOCX as evidence; the documents are made here, with real libraries or byte by byte."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document
from pypdf import PdfReader, PdfWriter

from orchestrator.errors import ConfigurationError
from orchestrator.evidence import gather
from orchestrator.evidence.account import Unfit
from orchestrator.evidence.documents import text_of

pytestmark = pytest.mark.slow

Put = Callable[..., Path]
SECRET = "gh" + "p_" + "Zk39dLq0Xv7TtB2mWc5RyN8sHj1FgUa4Pe6D"


def pdf(*pages: Sequence[str], content: bytes | None = None, filter: str = "") -> bytes:
    """A PDF of these lines; `content` takes the place of every page's."""
    objects: list[bytes] = [b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        stream = content if content is not None else f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode()
        objects.append(b"<</Length %d%s>>stream\n%s\nendstream" % (len(stream), filter.encode(), stream))
        objects.append(
            b"<</Type/Page/Parent 1 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 2 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
        kids.append(len(objects))
    objects[0] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    objects.append(b"<</Type/Catalog/Pages 1 0 R>>")
    body, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer<</Size %d/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, len(places), len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(places) + 1, table, trailer)


def encrypted(data: bytes, password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(data)))
    writer.encrypt(password, "owner", algorithm="AES-256")
    stream = BytesIO()
    writer.write(stream)
    return stream.getvalue()


def docx(*paragraphs: str, table: Sequence[Sequence[str]] = (), after: str | None = None) -> bytes:
    document = Document()
    for text in paragraphs:
        document.add_paragraph(text)
    if table:
        cells = document.add_table(len(table), len(table[0]))
        for row, texts in zip(cells.rows, table, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
    if after is not None:
        document.add_paragraph(after)
    stream = BytesIO()
    document.save(stream)
    return stream.getvalue()


def with_body(xml: str, head: str = "") -> bytes:
    """A DOCX whose body is this XML."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    mc = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    text = f'{head}<w:document xmlns:w="{word}" xmlns:mc="{mc}"><w:body>{xml}</w:body></w:document>'
    return repacked(docx("x"), {"word/document.xml": text.encode()})


def repacked(data: bytes, parts: dict[str, bytes]) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename not in parts:
                new.writestr(info, old.read(info))
        for name, part in parts.items():
            new.writestr(name, part)
    return stream.getvalue()


def refused(name: str, base: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        gather([name], base=base)
    assert caught.value.cure
    return str(caught.value)


def why(data: bytes, format: str) -> str:
    with pytest.raises(Unfit) as caught:
        text_of(data, format)
    assert caught.value.cure
    return caught.value.why


def test_a_pdf_is_the_text_of_its_pages_and_its_hash_that_of_the_file(put: Put, tmp_path: Path) -> None:
    data = pdf(["Billing today", "We use Kafka."], ["Second page"], [], ["Last"])
    put("paper.PDF", data)
    (piece,) = gather(["paper.PDF"], base=tmp_path).evidence
    assert piece.lines == (
        "Billing today",
        "We use Kafka.",
        "— page 2 —",
        "Second page",
        "— page 3 —",
        "— page 4 —",
        "Last",
    )
    assert (piece.kind, piece.sha256) == ("file", f"sha256:{hashlib.sha256(data).hexdigest()}")


def test_a_docx_is_its_paragraphs_and_the_rows_of_its_tables(put: Put, tmp_path: Path) -> None:
    data = docx("Costs", "", "per month\nin euro", table=[["what", "much"], ["Kafka", "900"]], after="End")
    put("docs/costs.docx", data)
    (piece,) = gather(["docs"], base=tmp_path).evidence
    assert piece.text == "Costs\n\nper month\nin euro\nwhat | much\nKafka | 900\nEnd\n"
    assert piece.sha256 == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_a_docx_is_read_as_it_would_be_printed_with_its_changes_accepted() -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    xml = (
        f"<w:p>{run('kept')}<w:ins>{run(' put in')}</w:ins><w:del><w:r><w:delText> taken out</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run(' moved')}</w:moveFrom></w:p><w:sdt><w:sdtContent><w:p>{run('in a control')}</w:p>"
        f"</w:sdtContent></w:sdt><w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p><w:p><mc:Alternate"
        f"Content><mc:Choice>{run('box')}</mc:Choice><mc:Fallback>{run('box')}</mc:Fallback></mc:AlternateContent></w:p>"
        f"<w:tbl><w:tr><w:tc><w:p>{run('outer')}</w:p><w:tbl><w:tr><w:tc><w:p>{run('inner')}</w:p></w:tc><w:tc><w:p>"
        f"{run('cell')}</w:p></w:tc></w:tr></w:tbl></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    )
    assert text_of(with_body(xml), "DOCX") == "kept put in\nin a control\na\tb\nc\nbox\nouter inner | cell | \n"


def test_a_secret_in_a_document_is_found_in_its_text(put: Put, tmp_path: Path) -> None:
    put("setup.docx", docx("Setup", f"token {SECRET}"))
    put("setup.pdf", pdf(["Setup"], [f"token {SECRET}"]))
    assert refused("setup.docx", tmp_path).startswith("setup.docx:2: holds what looks like a GitHub token")
    assert refused("setup.pdf", tmp_path).startswith("setup.pdf:3: holds what looks like a GitHub token")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pdf", encrypted(pdf(["x"]), "pass"), "is encrypted. Save it without a password."),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is encrypted."),
        ("a.pdf", b"no pdf", "is a damaged PDF, or none. Save it anew"),
        ("a.pdf", b"", "is a damaged PDF, or none."),
        ("a.pdf", pdf(["x"])[:60], "is a damaged PDF, or none."),
        ("a.docx", b"PK no zip", "is a damaged DOCX, or none."),
        ("a.docx", docx("x")[:-400], "is a damaged DOCX, or none."),
        ("a.docx", repacked(docx("x"), {"word/document.xml": b"<w:document"}), "is a damaged DOCX, or none."),
        (
            "a.docx",
            repacked(docx("x"), {"[Content_Types].xml": b"<a/>"}),
            "is a DOCX that cannot be read: it is damaged, or",
        ),
        ("a.pdf", pdf([], []), "holds no text, only pictures of it. Have its text recognised (OCR) first"),
        ("a.docx", docx("", " "), "holds no text"),
    ],
    ids=[
        *("encrypted PDF", "encrypted DOCX", "no PDF", "empty PDF", "cut PDF", "no DOCX", "cut DOCX", "broken XML"),
        *("other types", "PDF of pictures", "blank DOCX"),
    ],
)
def test_a_document_without_text_that_can_be_read_is_an_error(
    put: Put, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    put(name, data)
    assert f"{name}: {message}" in refused(name, tmp_path)


def test_a_folder_leaves_out_a_document_without_text(put: Put, tmp_path: Path) -> None:
    put("docs/a.pdf", b"no pdf")
    put("docs/b.md")
    gathered = gather(["docs"], base=tmp_path)
    assert [piece.path for piece in gathered.evidence] == ["docs/b.md"]
    assert gathered.notices == ("Left out of the evidence: docs/a.pdf is a damaged PDF, or none.",)


def test_a_pdf_that_is_encrypted_without_a_password_is_read() -> None:
    assert text_of(encrypted(pdf(["open to all"]), ""), "PDF") == "open to all\n"


def test_a_zip_bomb_is_refused_by_the_sizes_it_is_listed_with() -> None:
    zeros = bytes(1 << 20)
    bomb = repacked(docx("x"), {f"word/media/{number}.png": zeros for number in range(65)})
    assert len(bomb) < 200_000
    assert why(bomb, "DOCX") == "unpacks to more than 67,108,864 bytes"


def test_a_zip_bomb_that_lies_of_its_size_is_damaged() -> None:
    lie, honest = (10).to_bytes(4, "little"), (65 << 20).to_bytes(4, "little")
    bomb = repacked(docx("x"), {"word/document.xml": b" " * (65 << 20)})
    assert bomb.count(honest) == 2
    assert why(bomb, "DOCX") == "unpacks to more than 67,108,864 bytes"
    assert why(bomb.replace(honest, lie), "DOCX") == "is a damaged DOCX, or none"


def test_entities_of_a_docx_are_neither_multiplied_nor_read_from_files(put: Put) -> None:
    secret = put("plan.txt", "the plan\n")
    head = f'<!DOCTYPE w:document [<!ENTITY file SYSTEM "{secret.as_uri()}">]>'
    data = with_body("<w:p><w:r><w:t>before</w:t></w:r><w:r><w:t>&file;</w:t></w:r></w:p>", head)
    assert text_of(data, "DOCX") == "before\n"
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = with_body("<w:p><w:r><w:t>&l9;</w:t></w:r></w:p>", f'<!DOCTYPE w:document [<!ENTITY l0 "lol">{laughs}]>')
    assert why(bomb, "DOCX") == "is a damaged DOCX, or none"


@pytest.mark.slow
def test_a_pdf_whose_pages_unpack_to_too_much_ends_at_a_limit() -> None:
    bomb = zlib.compress(b"BT (x) Tj ET " * 12_000_000, 9)
    assert len(bomb) < 1 << 20
    assert why(pdf([""], content=bomb, filter="/Filter/FlateDecode"), "PDF").startswith(
        ("unpacks to more than", "is a PDF that cannot be read: it is damaged, or takes too much to read")
    )


@pytest.mark.slow
def test_a_document_of_endless_text_is_refused() -> None:
    assert why(docx(*["a line of some length" * 1000] * 220), "DOCX") == "holds more than 4,194,304 characters of text"


def test_a_document_may_be_larger_than_a_text_but_not_endless(put: Put, tmp_path: Path) -> None:
    put("pictures.docx", repacked(docx("x"), {"word/media/a.bin": zlib.compress(bytes(100)) + noise(2 << 20)}))
    assert gather(["pictures.docx"], base=tmp_path).evidence[0].text == "x\n"
    put("large.pdf", bytes((16 << 20) + 1))
    assert "large.pdf: is larger than 16,777,216 bytes." in refused("large.pdf", tmp_path)


def noise(length: int) -> bytes:
    return b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(length // 32))


@pytest.mark.parametrize(("name", "library"), [("a.pdf", "pypdf"), ("a.docx", "docx")])
def test_without_the_library_the_error_says_how_to_install_it(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    put(f"absent/{library}.py", "raise ImportError('not installed')\n")
    put(name, pdf(["x"]) if name == "a.pdf" else docx("x"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "absent"))
    assert "pip install 'run-debate[documents]'" in refused(name, tmp_path)


def test_nothing_is_imported_from_the_working_folder(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("pypdf.py", "raise SystemExit('it was imported')\n")
    monkeypatch.chdir(tmp_path)
    assert text_of(pdf(["x"]), "PDF") == "x\n"
