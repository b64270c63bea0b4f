"""Clients by FastAPI and SQLAlchemy: a mapped class, Pydantic models, an asynchronous session."""

from __future__ import annotations

import csv
import datetime as dt
import io
import os
import uuid
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, create_model
from sqlalchemy import Table, create_engine, insert, select, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, joinedload, relationship

from apps.access.callers import hash_secret
from apps.people import models
from bench.others.contact_files import COLUMNS, day_of
from bench.stock.serializers import ADDRESS, CLIENT, POSTAL_ADDRESS

URL = os.environ["DATABASE_URL"].replace("postgres://", "postgresql+psycopg://")
#: As many connections as one process of two needs for 32 clients.
engine = create_async_engine(URL, pool_size=16, max_overflow=0)
session_of = async_sessionmaker(engine, expire_on_commit=False)
reflection = create_engine(URL)
#: What Django gives a column that a request leaves out.
DEFAULTS, CONTACT_DEFAULTS = (
    {field.column: field.get_default() for field in model._meta.concrete_fields}
    for model in (models.Client, models.Contact)
)


class Base(DeclarativeBase):
    pass


class Contact(Base):
    __table__ = Table("people_contact", Base.metadata, autoload_with=reflection)


class Client(Base):
    __table__ = Table("people_client", Base.metadata, autoload_with=reflection)
    key_contact = relationship(Contact, foreign_keys=[__table__.c.key_contact_id])


def output_model(name: str, columns: tuple[str, ...], table: Table, **members: Any) -> type[BaseModel]:
    types = {column: (table.c[column].type.python_type | None, None) for column in columns}
    return create_model(name, __config__=ConfigDict(from_attributes=True), **types, **members)


KeyContact = output_model(
    "KeyContact", ("guid", "first_name", "last_name", "archive_date"), Contact.__table__
)
ClientOut = output_model("ClientOut", CLIENT, Client.__table__)
WholeClient = output_model(
    "WholeClient",
    (*CLIENT, *ADDRESS, *POSTAL_ADDRESS),
    Client.__table__,
    key_contact=(KeyContact | None, None),
)


class ClientIn(BaseModel):
    business_name: str
    business_number: str
    unique_code: str
    external_reference: str
    business_phone: str
    web_address: str
    street_address: str
    suburb: str
    state: str
    country: str
    post_code: str


ContactRow = create_model(
    "ContactRow",
    **dict.fromkeys(COLUMNS.values(), str | None) | {"birthday": Annotated[dt.date, BeforeValidator(day_of)]},
)


async def session(authorization: Annotated[str, Header()]) -> AsyncIterator[AsyncSession]:
    """A session for the caller whose token is valid."""
    token = "SELECT 1 FROM access_accesstoken WHERE hash = :hash AND expires_at > :now"
    async with session_of() as opened:
        values = {"hash": hash_secret(authorization[7:]), "now": dt.datetime.now(dt.UTC)}
        if (await opened.execute(text(token), values)).first() is None:
            raise HTTPException(401)
        yield opened


Session = Annotated[AsyncSession, Depends(session)]
app = FastAPI()
ordered = select(Client).order_by(Client.__table__.c.creation_date.desc(), Client.__table__.c.guid.desc())


@app.get("/client/{guid}", response_model=ClientOut)
async def get_client(guid: uuid.UUID, session: Session) -> Any:
    return await session.get(Client, guid)


@app.get("/client", response_model=list[ClientOut])
async def list_clients(size: int, session: Session) -> Any:
    return (await session.scalars(ordered.limit(size))).all()


@app.get("/whole-client", response_model=list[WholeClient])
async def list_whole_clients(size: int, session: Session) -> Any:
    return (await session.scalars(ordered.options(joinedload(Client.key_contact)).limit(size))).all()


@app.post("/client", response_model=list[WholeClient], status_code=201)
async def create_clients(records: list[ClientIn], session: Session) -> Any:
    now = dt.datetime.now(dt.UTC)
    stamps = {"creation_date": now, "modify_date": now}
    rows = [
        {**DEFAULTS, **stamps, "guid": uuid.uuid4(), **unique_columns(record), **record.model_dump()}
        for record in records
    ]
    await session.execute(insert(Client), rows)
    await session.commit()
    keys = [row["guid"] for row in rows]
    stored = select(Client).options(joinedload(Client.key_contact)).where(Client.__table__.c.guid.in_(keys))
    by_key = {client.guid: client for client in await session.scalars(stored)}
    return [by_key[key] for key in keys]


def unique_columns(record: ClientIn) -> dict[str, str]:
    """The columns that keep names unique whatever their case."""
    return {
        "business_name_key": record.business_name.lower(),
        "unique_code_key": record.unique_code.lower(),
    }


@app.get("/contact.csv")
async def export_contacts(session: Session) -> StreamingResponse:
    table = Contact.__table__
    columns = [table.c[column] for column in COLUMNS.values()]
    rows = await session.stream(select(*columns).order_by(table.c.creation_date.desc(), table.c.guid.desc()))

    async def pieces() -> AsyncIterator[str]:
        yield csv_of([COLUMNS])
        async for part in rows.partitions(1_000):
            yield csv_of(part)

    return StreamingResponse(pieces(), media_type="text/csv")


def csv_of(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


@app.post("/contact.csv", status_code=201)
async def import_contacts(request: Request, session: Session) -> int:
    now = dt.datetime.now(dt.UTC)
    given = {**CONTACT_DEFAULTS, "creation_date": now, "modify_date": now}
    lines = csv.DictReader(io.StringIO((await request.body()).decode()))
    stored = 0
    while part := [*islice(lines, 1_000)]:
        records = [
            ContactRow.model_validate({column: line[header] or None for header, column in COLUMNS.items()})
            for line in part
        ]
        rows = [
            {
                **given,
                "guid": uuid.uuid4(),
                "unique_code_key": record.unique_code.lower(),
                **record.model_dump(),
            }
            for record in records
        ]
        await session.execute(insert(Contact), rows)
        stored += len(rows)
    await session.commit()
    return stored
