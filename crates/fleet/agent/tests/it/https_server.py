"""A web server of a test's own, by Python's library: a file over TLS, with an entity tag, for who has the token
or a certificate.

Arguments: certificate, key, authority, file, token. The first line of output is the port; each further one is a status that was
answered."""

import hashlib
import http.server
import ssl
import sys

CERTIFICATE, KEY, AUTHORITY, FILE, TOKEN = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(FILE, "rb") as file:
            body = file.read()
        tag = f'"{hashlib.sha256(body).hexdigest()}"'
        is_known = self.headers["Authorization"] == f"Bearer {TOKEN}"
        if not is_known and not self.connection.getpeercert():
            return self.answer(401, b"", tag)
        if self.headers["If-None-Match"] == tag:
            return self.answer(304, b"", tag)
        return self.answer(200, body, tag)

    def answer(self, status, body, tag):
        print(status, flush=True)
        self.send_response(status)
        self.send_header("ETag", tag)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that does not believe the certificate hangs up, as it is to."""


server = Server(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
context.load_verify_locations(AUTHORITY)
context.verify_mode = ssl.CERT_OPTIONAL
# The handshake is for the thread of a connection, so that nobody keeps others waiting.
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port, flush=True)
server.serve_forever()
