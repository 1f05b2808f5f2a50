"""Access to the viewer: its password and the names that it answers to; Streamlit, behind it, has no passwords."""

import asyncio
import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Collection, Mapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEALTH = "/_stcore/health"
"""Tells that the viewer runs, and nothing of the study; it is answered without the password."""

WAIT = 1.0
"""Seconds that a wrong password takes."""

GUESSES = 3
"""Number of wrong passwords from one address that may wait at once; further ones are refused unread."""

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
"""Names under which a machine reaches itself."""

LARGEST_FORM = 4096  # bytes

HEADERS: Mapping[str, str] = {
    "X-Frame-Options": "SAMEORIGIN",
    "Content-Security-Policy": "frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
"""Headers of every answer: no page of others may put the viewer into a frame and lead clicks to it."""

_FORM_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
)


class AccessControl:
    """ASGI middleware that asks for the password, if there is one, and answers to names of this machine alone.

    Streamlit checks names where it opens a websocket; this does so for whatever is asked. Who gives the password gets
    a cookie that only this server, until it ends, takes for a key.

    Args:
        app: application to protect.
        hosts: names and addresses under which it is reached.
        password: password of the visitors; empty (the default) for none.
        port: port of the server; it keeps the cookies of several servers on one machine apart.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str], password: str = "", port: int = 0
    ) -> None:
        self._app = app
        self._hosts = {host.strip("[]").lower() for host in hosts}
        self._password = _digest(password) if password else b""
        self._cookie, self._key = f"tfaudit-{port}", secrets.token_urlsafe(32)
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to the application."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            answer: Response | None = PlainTextResponse(
                "The viewer does not answer to this name; see --host.", 421
            )
        elif not self._is_from_here(headers.get("origin"), host):
            answer = PlainTextResponse("The viewer does not answer to pages of other sites.", 403)
        elif not self._password or scope["path"] == HEALTH or self._has_key(headers):
            answer = None
        elif scope["type"] == "http" and scope["method"] == "POST":
            answer = await self._judged(Request(scope, receive))
        else:
            answer = _form(401)
        if answer is None:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, _with_headers(send))

    def _is_ours(self, host: str) -> bool:
        return _name(f"//{host}") in self._hosts

    def _is_from_here(self, origin: str | None, host: str) -> bool:
        """Return whether a request comes from a page of this viewer, from a proxy that `hosts` names, or from no page.

        Other servers on this machine share its names, and differ in the port.
        """
        if origin is None or origin.partition("//")[2].lower() == host.lower():
            return True
        is_proxy = _name(origin) in self._hosts - LOOPBACK
        return is_proxy and ":" not in origin.partition("//")[2]

    def _has_key(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._key.encode())

    async def _judged(self, request: Request) -> Response:
        """Redirect after a right password; return the form again after a wrong one."""
        body = b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_FORM:
                    return PlainTextResponse("Too long.", 413)
        except ClientDisconnect:
            return Response()
        password = parse_qs(body.decode(errors="replace")).get("password", [""])[0]
        address = request.client.host if request.client else ""
        if self._waiting[address] >= GUESSES:
            return _form(429, "Too many wrong passwords from this address. Try again in a second.")
        if not hmac.compare_digest(_digest(password), self._password):
            self._waiting[address] += 1
            try:
                await asyncio.sleep(WAIT)
            finally:
                self._waiting -= Counter([address])  # which drops addresses of which none waits
            return _form(401, "Wrong password.")
        # One slash: two would be the address of another machine.
        place = (
            "/"
            + quote(request.url.path.lstrip("/\\"))
            + f"?{request.url.query}" * bool(request.url.query)
        )
        answer = RedirectResponse(place, 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(self._cookie, self._key, httponly=True, samesite="lax", secure=secure)
        return answer


def _name(address: str) -> str:
    """Return the name of a machine in an address, in lower case; empty if there is none."""
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _digest(password: str) -> bytes:
    """Return the digest to compare: its length is fixed and does not reveal the password's."""
    return hashlib.sha256(password.encode(errors="surrogatepass")).digest()


def _form(status: int, message: str = "") -> Response:
    page = (
        files(__package__).joinpath("password.html").read_text().replace("MESSAGE", escape(message))
    )
    return HTMLResponse(
        page, status, {"Content-Security-Policy": _FORM_POLICY, "Cache-Control": "no-store"}
    )


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
