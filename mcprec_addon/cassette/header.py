"""The header record: what a cassette says of itself on its first line."""

from typing import Final

from mcprec_addon.cassette.fields import Fields, RecordProblemError, object_of, whole_number
from mcprec_addon.cassette.records import ERAS, VIAS
from mcprec_addon.exchange import (
    Header,
    Json,
    Matching,
    ModelUse,
    Redaction,
    Server,
    Transport,
)
from mcprec_addon.match.rules import Kind, parse_rule

VERSION: Final = 1
"""The format this version writes, and the only one it reads."""
_TRANSPORTS: Final[tuple[Transport, ...]] = ("http", "stdio", "sse")


def header_record(header: Header) -> dict[str, Json]:
    """Return a header as a record; what it does not know is left out."""
    record: dict[str, Json] = {
        "mcprec": VERSION,
        "recorder": header.recorder,
        "recorded": header.recorded,
        "protocol": [*header.protocol],
        "servers": {label: _server_record(server) for label, server in header.servers.items()},
        "model": [_model_record(model) for model in header.model],
        "redaction": _redaction_record(header.redaction),
        "match": _match_record(header.match),
        "config": _config_record(header.config),
        "recovered": header.recovered or None,
    }
    return _without_empty(record) | header.extra


def _without_empty(record: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in record.items() if value not in (None, [], {})}


def _server_record(server: Server) -> dict[str, Json]:
    record: dict[str, Json] = {
        "transport": server.transport,
        "url": server.url,
        "command": server.command,
        "era": server.era,
        "via": server.via,
        "name": server.name,
        "version": server.version,
    }
    return _without_empty(record) | server.extra


def _model_record(model: ModelUse) -> dict[str, Json]:
    record: dict[str, Json] = {"provider": model.provider}
    if model.name is not None:
        record["name"] = model.name
    return record | {"temperature": model.temperature}


def _redaction_record(redaction: Redaction) -> dict[str, Json]:
    record: dict[str, Json] = {
        "builtin": redaction.builtin,
        "custom": redaction.custom,
        "placeholders": {**redaction.placeholders},
        "sources": {name: [*sources] for name, sources in redaction.sources.items()},
        "inside": [*redaction.inside],
    }
    return _without_empty(record)


def _match_record(match: Matching) -> dict[str, Json]:
    record: dict[str, Json] = {"ignore": [*match.ignore], "normalize": [*match.normalize]}
    return _without_empty(record) | match.extra


def _config_record(config: list[str]) -> Json:
    return config[0] if len(config) == 1 else [*config]


def read_header(fields: Fields) -> Header:
    """Return the header of a record.

    Raises:
        RecordProblemError: The version is unknown, or a field is of the wrong type.
    """
    _check_version(fields.value("mcprec"))
    return Header(
        recorder=fields.text("recorder"),
        recorded=fields.text("recorded"),
        protocol=fields.texts("protocol"),
        servers={
            label: _read_server(Fields(object_of(server, f"servers.{label}")))
            for label, server in fields.members("servers").items()
        },
        model=[
            _read_model(Fields(object_of(model, "model"))) for model in fields.elements("model")
        ],
        redaction=_read_redaction(Fields(fields.members("redaction"))),
        match=_read_match(Fields(fields.members("match"))),
        config=_read_config(fields),
        recovered=fields.flag("recovered"),
        extra=fields.rest,
    )


def _check_version(version: Json) -> None:
    if isinstance(version, bool) or not isinstance(version, int):
        message = f'"mcprec" must be the format version, a number such as {VERSION}'
        raise RecordProblemError(message)
    if version != VERSION:
        message = f"format version {version} is unknown, this mcprec reads {VERSION}; update it"
        raise RecordProblemError(message)


def _read_server(fields: Fields) -> Server:
    return Server(
        transport=fields.choice("transport", _TRANSPORTS),
        url=fields.text("url"),
        command=fields.text("command"),
        era=fields.choice("era", ERAS),
        via=fields.choice("via", VIAS),
        name=fields.text("name"),
        version=fields.text("version"),
        extra=fields.rest,
    )


def _read_model(fields: Fields) -> ModelUse:
    return ModelUse(
        provider=fields.needed_text("provider"),
        name=fields.text("name"),
        temperature=fields.value("temperature"),
    )


def _read_redaction(fields: Fields) -> Redaction:
    builtin = fields.whole("builtin")
    sources = Fields(fields.members("sources"))
    return Redaction(
        builtin=Redaction().builtin if builtin is None else builtin,
        custom=fields.text("custom"),
        placeholders={
            name: whole_number(count, "placeholders")
            for name, count in fields.members("placeholders").items()
        },
        sources={name: sources.texts(name) for name in [*sources.rest]},
        inside=fields.texts("inside"),
    )


def _read_match(fields: Fields) -> Matching:
    rules: dict[Kind, list[str]] = {
        "ignore": fields.texts("ignore"),
        "normalize": fields.texts("normalize"),
    }
    for kind, texts in rules.items():
        for text in texts:
            try:
                parse_rule(kind, text)
            except ValueError as error:
                message = f'"match.{kind}": {error}'
                raise RecordProblemError(message) from error
    return Matching(ignore=rules["ignore"], normalize=rules["normalize"], extra=fields.rest)


def _read_config(fields: Fields) -> list[str]:
    config = fields.value("config")
    match config:
        case None:
            return []
        case str():
            return [config]
        case list() if all(isinstance(path, str) for path in config):
            return [path for path in config if isinstance(path, str)]
        case _:
            message = '"config" must be a path or a list of paths'
            raise RecordProblemError(message)
