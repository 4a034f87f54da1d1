"""An address is taken apart for libpq, and never shown with what may be secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import StoreUnavailable
from orchestrator.hall import address
from orchestrator.hall.address import Address


@pytest.mark.parametrize(
    ("location", "conninfo", "schema", "shown"),
    [
        ("postgresql://db/hall", "postgresql://db/hall", "debate_hall", "postgresql://db/hall"),
        ("postgres://db", "postgres://db", "debate_hall", "postgres://db"),
        ("postgresql:///hall", "postgresql:///hall", "debate_hall", "postgresql:///hall"),
        (
            "postgresql://me:x@db:5433/hall",
            "postgresql://me:x@db:5433/hall",
            "debate_hall",
            "postgresql://db:5433/hall",
        ),
        ("postgresql://[::1]:5432/hall", "postgresql://[::1]:5432/hall", "debate_hall", "postgresql://[::1]:5432/hall"),
        ("postgresql://a:1,b:2/hall", "postgresql://a:1,b:2/hall", "debate_hall", "postgresql://a:1,b:2/hall"),
        ("postgresql://db/hall?schema=team", "postgresql://db/hall", "team", "postgresql://db/hall?schema=team"),
        (
            "postgresql://me@db/hall?schema=team_1&sslmode=verify-full",
            "postgresql://me@db/hall?sslmode=verify-full",
            "team_1",
            "postgresql://db/hall?schema=team_1",
        ),
        (
            "postgresql://db/hall?password=x&schema=team",
            "postgresql://db/hall?password=x",
            "team",
            "postgresql://db/hall?schema=team",
        ),
    ],
)
def test_an_address_is_libpqs_but_for_its_schema(location: str, conninfo: str, schema: str, shown: str) -> None:
    read = address.read(location)
    assert read == Address(conninfo, schema, shown)


@pytest.mark.parametrize("schema", ["", "Team", "a-b", "1a", "a b", "a;DROP", "é", "a" * 64])
def test_a_schema_is_a_plain_name(schema: str) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be one"):
        address.read(f"postgresql://db/hall?schema={schema}")


SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1).map(lambda text: f"s3cr/t{text}")


@given(SECRETS, st.sampled_from(["me:{}@db/hall", "me:{}@db:1/hall?sslmode=require", "db/hall?password={}", ":{}@"]))
def test_no_password_is_shown_however_it_is_written(secret: str, form: str) -> None:
    for written in (secret, secret.replace("/", ""), secret.replace("/", "@"), secret.replace("/", "?")):
        shown = address.shown(f"postgresql://{form.format(written)}")
        assert "s3cr" not in shown
        assert len(shown) < 60


def test_of_another_kind_of_address_only_what_is_no_secret_is_said() -> None:
    for location in ("mysql://me:s3cret@db/hall", "s3cret://db", "://s3cret@db", "https://db?key=s3cret"):
        with pytest.raises(StoreUnavailable, match="kept in SQLite or PostgreSQL") as refusal:
            address.read(location)
        assert "s3cret" not in str(refusal.value)
