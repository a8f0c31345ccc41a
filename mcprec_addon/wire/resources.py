"""Model calls beside generation: files, batches, models, audio, images, stored answers.

They may have any body or none, so nothing but their path tells them, and a path like ``/files``
is everybody's: they count only on an origin that is known as a model API.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from mcprec_addon.exchange import Json, ModelCall, Opaque
from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.wire.coding import decoded
from mcprec_addon.wire.http import HttpRequest, origin_of, text_or_bytes
from mcprec_addon.wire.model import call_of, public_path
from mcprec_addon.wire.multipart import read_parts
from mcprec_addon.wire.providers import PROVIDERS, one_of, resource_of

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


class Origins:
    """Which origins are model APIs, and whose; it learns from each call.

    An origin is known because it is the provider's own or its clients were told of it, or because
    a call went there that its path and members tell. A request by a provider's base-URL door
    needs no more.
    """

    def __init__(self, told: Mapping[str, str] = MappingProxyType({})) -> None:
        """Start with the providers' own, and with base URLs that clients were told, by provider."""
        self._known: dict[str, list[str]] = {}
        self.tell({name: row.upstream for name, row in PROVIDERS.items() if row.upstream})
        self.tell(told)

    def tell(self, told: Mapping[str, str]) -> None:
        """Take base URLs of model APIs, by provider."""
        for name, url in told.items():
            names = self._known.setdefault(origin_of(url), [])
            names += [] if name in names else [name]

    def call(self, request: HttpRequest) -> ModelCall | None:
        """Return the model call that a request is, or None where it is none."""
        call = call_of(request)
        if call is None:
            return self._resource_call(request)
        known = self._known.setdefault(request.origin, [])
        names = known if request.provider is None else [request.provider]
        call = replace(call, provider=one_of(names, call.provider))
        if call.provider not in known:
            known.append(call.provider)
        return call

    def _resource_call(self, request: HttpRequest) -> ModelCall | None:
        known = self._known.get(request.origin, [])
        names = known if request.provider is None else [request.provider]
        if request.header("anthropic-version") is not None:  # a gateway may speak for several
            names = sorted(names, key=lambda name: name != "anthropic")
        calls = (resource_call(request, name) for name in names)
        return next((call for call in calls if call is not None), None)


def resource_call(request: HttpRequest, provider: str) -> ModelCall | None:
    """Return the call that a request is if its origin is a provider's, or None."""
    if request.method not in _METHODS or resource_of(provider, request.path) is None:
        return None
    return ModelCall(
        provider=provider,
        path=public_path(request.path),
        http_method=request.method,
        request=_body(request),
    )


def without_prefix(request: HttpRequest) -> HttpRequest:
    """Return a request at the model door without the provider's prefix in its path."""
    if request.via != "base-url":
        return request
    prefix, slash, rest = request.path.removeprefix("/").partition("/")
    if prefix not in PROVIDERS or not slash:
        return request
    return replace(request, url=f"{request.origin}/{rest}", provider=prefix)


def _body(request: HttpRequest) -> Json:
    if not request.body:
        return None
    plain = decoded(request.body, request.header("content-encoding"))
    if plain is None:
        return Opaque(request.body)
    parts = read_parts(plain, request.header("content-type"))
    if parts is not None:
        return parts
    try:
        return loads(plain)
    except JsonError:
        content = text_or_bytes(plain)
        return Opaque(content) if isinstance(content, str) else content
