"""Only pages of the window's own address may talk to it, and nonsense does not disturb it."""

import base64
import gc
import logging
import os
import socket
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

import sixfold as sf
from tests.viewer.support import page, until

viser = pytest.importorskip("viser", reason="viser is not installed")

from sixfold.display.viewer import guard  # noqa: E402

SECONDS = 5.0


@pytest.fixture(autouse=True)
def known_token(monkeypatch, request):
    """Give windows a token that these tests know, but for those about tokens."""
    if "token" not in request.node.name:
        monkeypatch.setattr(guard.secrets, "token_urlsafe", lambda _: "known")


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560")


@pytest.fixture
def window(arm):
    with sf.view(arm, block=False) as viewer:
        yield viewer


def ask(port, *headers, path="/", token="/known"):
    """Return status and headers of an answer over a plain socket."""
    lines = [f"GET {token}{path} HTTP/1.1", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                break
            data += more
    head = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    status = int(head[0].split()[1]) if head[0] else 0
    return status, {name.lower(): value for name, _, value in (x.partition(": ") for x in head[1:])}


def upgrade(*headers):
    """Return the headers of a websocket's handshake."""
    return (
        *headers,
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
    )


# -- hosts and origins


def test_the_page_is_served_under_its_own_names(window):
    for name in ("127.0.0.1", "localhost", "LocalHost", "[::1]"):
        status, headers = ask(window.port, f"Host: {name}:{window.port}")
        assert status == 200
        assert headers["content-type"].startswith("text/html")


def test_a_foreign_host_is_refused(window):
    port = window.port
    foreign = (
        *("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}"),
        *("127.0.0.1", "localhost", f"localhost:{port + 1}", f"localhost.:{port}", ""),
        *(f"0.0.0.0:{port}", f"127.0.0.2:{port}", f"user@localhost:{port}", f"localhost:{port}x"),
    )
    for host in foreign:
        status, headers = ask(port, f"Host: {host}")
        assert status in (400, 403), host
        assert "text/html" not in headers.get("content-type", "")
        assert ask(port, *upgrade(f"Host: {host}"))[0] in (400, 403), host
    assert ask(port)[0] in (400, 403)
    both = (f"Host: localhost:{port}", "Host: evil.example")
    assert ask(port, *both)[0] in (400, 403)


def test_a_websocket_from_another_origin_is_refused(window):
    port, host = window.port, f"Host: 127.0.0.1:{window.port}"
    foreign = (
        *("http://evil.example", f"http://evil.example:{port}", "null", "file://"),
        *(f"https://127.0.0.1:{port}", "http://127.0.0.1", f"http://127.0.0.1:{port + 1}"),
        *(f"http://127.0.0.1:{port}.evil.example", f"http://localhost:{port}/"),
    )
    for origin in foreign:
        assert ask(port, *upgrade(host, f"Origin: {origin}"))[0] in (400, 403), origin
        assert ask(port, host, f"Origin: {origin}")[0] in (400, 403), origin
    for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
        assert ask(port, *upgrade(host, f"Origin: {origin}"))[0] == 101
    # a program that is no browser names no origin
    assert ask(port, *upgrade(host))[0] == 101


def test_the_default_port_may_be_left_out():
    assert guard.refusal(80, ["localhost"], ["http://localhost"]) == ""
    assert guard.refusal(81, ["localhost"], [])
    assert guard.refusal(81, ["localhost:81"], ["http://localhost:81"] * 2)


# -- the token


def test_without_the_token_nobody_gets_in(window):
    port, host = window.port, f"Host: 127.0.0.1:{window.port}"
    token = urlsplit(window.url).path.strip("/")
    assert len(token) >= 20
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for path in (
        "/",
        "",
        "/index.html",
        f"/{wrong}/",
        f"/{token}x/",
        f"/x/{token}/",
        f"//{token}/",
    ):
        assert ask(port, host, path=path or "/", token="")[0] == 403, path
        assert ask(port, *upgrade(host), path=path or "/", token="")[0] == 403, path
    assert ask(port, host, path=f"/?token={token}", token="")[0] == 403
    for path in (f"/{token}/", f"/{token}", f"/{token}?websocket=x", f"/{token}/index.html"):
        assert ask(port, host, path=path, token="")[0] == 200, path
    assert ask(port, host, path=f"/{token}/nothing", token="")[0] == 404
    assert ask(port, host, path=f"/{token}/../../etc/passwd", token="")[0] == 404
    assert ask(port, *upgrade(host), path=f"/{token}", token="")[0] == 101


def test_each_window_has_a_token_of_its_own(arm):
    with sf.view(arm, block=False) as one, sf.view(arm, block=False) as other:
        tokens = [urlsplit(each.url).path for each in (one, other)]
        assert tokens[0] != tokens[1]
        host = f"Host: 127.0.0.1:{other.port}"
        assert ask(other.port, host, path=tokens[0], token="")[0] == 403


def test_the_command_line_of_the_browser_holds_a_token_for_one_request_only(arm, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with sf.view(arm, block=False, open_browser=True) as viewer:
        (address,) = opened
        host, ticket = f"Host: 127.0.0.1:{viewer.port}", urlsplit(address).path
        token = urlsplit(viewer.url).path
        assert token.strip("/") not in address
        assert ask(viewer.port, "Host: evil.example", path=ticket, token="")[0] == 403
        status, headers = ask(viewer.port, host, path=ticket, token="")
        assert status == 302 and headers["location"] == token
        assert ask(viewer.port, host, path=ticket, token="")[0] == 403


def test_a_token_for_one_request_is_spent_by_no_other_path():
    keys = guard.Keys()
    ticket = keys.new_ticket()
    assert keys.inside(f"/{ticket}/") is None
    assert not keys.spend("/") and not keys.spend(f"/{keys.token}/")
    assert keys.spend(f"/{ticket}/") and not keys.spend(f"/{ticket}/")


# -- the policy


def test_the_page_has_a_content_security_policy(window):
    status, headers = ask(window.port, f"Host: localhost:{window.port}")
    assert status == 200
    policy = dict(part.split(None, 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    sources = {word for value in policy.values() for word in value.split()}
    # nothing of another server, and no eval
    near = {f"ws://127.0.0.1:{window.port}", f"ws://localhost:{window.port}"}
    assert {word for word in sources if "//" in word} == near
    assert not {"*", "'unsafe-eval'", "http:", "https:"} & sources
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_every_answer_is_under_the_policy(window):
    host = f"Host: localhost:{window.port}"
    for headers, path in (((host,), "/nothing"), (("Host: evil.example",), "/")):
        status, answer = ask(window.port, *headers, path=path)
        assert status in (403, 404)
        assert "default-src 'none'" in answer["content-security-policy"]


def test_pages_of_other_names_and_origins_cannot_reach_the_window(window, browser):
    foreign = f"http://evil.localhost:{window.port}/known/"
    with page(browser, "about:blank") as (shown, _):
        answer = shown.goto(foreign)
        assert answer.status == 403
        # a page of another origin: a websocket from it fails
        opened = shown.evaluate(
            """([address, protocol]) => new Promise(done => {
                const socket = new WebSocket(address, [protocol]);
                socket.onopen = () => done(true);
                socket.onerror = () => done(false);
                setTimeout(() => done(false), 5000);
            })""",
            [f"ws://127.0.0.1:{window.port}/known", f"viser-v{viser.__version__}"],
        )
        assert opened is False


# -- messages


def sent(viewer, *messages):
    """Send messages over one websocket, after a camera that makes the client known."""
    import msgspec
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    camera = {
        "type": "ViewerCameraMessage",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (1.0, 0.0, 0.0),
        **{"fov": 1.0, "near": 0.1, "far": 10.0, "image_height": 100, "image_width": 100},
        "look_at": (0.0, 0.0, 0.0),
        "up_direction": (0.0, 0.0, 1.0),
    }
    with connect(
        f"ws://127.0.0.1:{viewer.port}/known",
        origin=f"http://127.0.0.1:{viewer.port}",
        subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None,
        open_timeout=SECONDS,
        close_timeout=SECONDS,
    ) as connection:
        try:
            connection.send(msgspec.msgpack.encode(camera))
            time.sleep(0.2)
            for message in messages:
                raw = isinstance(message, (bytes, str))
                connection.send(message if raw else msgspec.msgpack.encode(message))
            time.sleep(0.3)
        except ConnectionClosed:
            pass


def sliders(viewer):
    return [s._impl.uuid for s in viewer._panel.sliders]


def nonsense(viewer):
    """Yield messages that no page of viser sends."""
    from viser import _messages

    yield from (b"", b"\x00", b"nonsense" * 9, "text", b"\xdd\xff\xff\xff\xff", [1, 2], None, 7)
    yield from ({"type": "Nothing"}, {"type": 5}, {"x": 1}, {"type": ["ViewerCameraMessage"]})
    for uuid in (*sliders(viewer)[:2], "nobody", 5):
        for value in ("abc", None, [1], {}, float("nan"), float("inf"), 1e300, "9" * 5000):
            yield {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}
        for updates in ({"nothing": 1}, {"update_cb": 1}, {"min": 0, "max": 1e300}, 5, [], {}):
            yield {"type": "GuiUpdateMessage", "uuid": uuid, "updates": updates}
    for kind in sorted({c.__name__ for c in _messages.Message.get_subclasses()}):
        yield {"type": kind}
        yield {"type": kind, "name": 3, "uuid": [], "value": {}, "position": "x", "updates": 1}


def test_messages_that_make_no_sense_leave_no_traceback(arm, caplog, capfd):
    caplog.set_level(logging.INFO)
    with sf.view(arm, block=False) as viewer:
        messages = list(nonsense(viewer))
        for k in range(0, len(messages), 60):
            sent(viewer, *messages[k : k + 60])
        gc.collect()
        time.sleep(0.2)
        assert viewer._thread.is_alive()
        assert np.isfinite(viewer.q).all()
        assert np.all(viewer.q >= -10)
        assert np.all(viewer.q <= 10)
        # a message that makes sense still moves the robot
        move = {"type": "GuiUpdateMessage", "uuid": sliders(viewer)[3], "updates": {"value": 0.5}}
        sent(viewer, move)
        until(lambda: abs(viewer.q[3] - 0.5) < 1e-9, "the slider moves the joint")
        assert ask(viewer.port, f"Host: localhost:{viewer.port}")[0] == 200
    out, err = capfd.readouterr()
    for text in (out, err, caplog.text):
        assert "Traceback" not in text
        assert "never retrieved" not in text
        assert "failed" not in text


def test_nonsense_does_not_end_a_connection_nor_reach_into_a_control(arm):
    with sf.view(arm, block=False) as viewer:
        control = {"type": "GuiUpdateMessage", "uuid": sliders(viewer)[1]}
        inner = ({"update_cb": []}, {"removed": True}, {"value": 0.1, "max": 0.2})
        sent(
            viewer,
            *(b"nonsense", {"type": "Nothing"}),
            *({**control, "updates": updates} for updates in inner),
            {**control, "updates": {"value": 0.75}},
        )
        until(lambda: abs(viewer.q[1] - 0.75) < 1e-9, "the slider moves the joint")


def test_a_slider_stays_inside_its_range(arm):
    with sf.view(arm, block=False) as viewer:
        for value, end in ((1e300, "upper"), (-1e300, "lower")):
            uuid = sliders(viewer)[0]
            sent(viewer, {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})
            limit = getattr(viewer._panel.controls[0], end)
            until(lambda limit=limit: viewer.q[0] == pytest.approx(limit), "the end is reached")


def test_refused_requests_leave_no_traceback(window, caplog, capfd):
    caplog.set_level(logging.INFO)
    for _ in range(20):
        ask(window.port, "Host: evil.example")
        ask(window.port, *upgrade("Host: evil.example"))
    with socket.create_connection(("127.0.0.1", window.port), timeout=SECONDS) as connection:
        connection.sendall(b"\x16\x03\x01 no http at all\r\n\r\n")
        connection.recv(100)
    time.sleep(0.2)
    out, err = capfd.readouterr()
    for text in (out, err, caplog.text):
        assert "Traceback" not in text


# -- a viser that cannot be guarded


def test_a_viser_that_goes_another_way_is_refused(monkeypatch, arm):
    import viser.infra._infra as infra

    real = infra.websockets

    class Stubborn(SimpleNamespace):
        """A viser whose server does not ask for `websockets` here."""

        def __init__(self, **_):
            super().__init__(stopped=False)
            stubborn.append(self)

        def stop(self):
            self.stopped = True

    stubborn = []
    monkeypatch.setattr(viser, "ViserServer", Stubborn)
    with pytest.raises(sf.errors.NotApplicableError, match="cannot be guarded"):
        sf.view(arm, block=False)
    assert [server.stopped for server in stubborn] == [True]
    assert infra.websockets is real
