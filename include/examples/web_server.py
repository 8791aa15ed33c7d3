#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A web server that marks by the size of objects: small ones have the first level of the policy, others the last.

    python3 web_server.py --folder /srv/www --port 8080 --small 20000

It needs no privilege, and serves unmarked where no policy takes thresholds from applications.
"""

import argparse
import functools
import http.server
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import shortflow  # noqa: E402


class Handler(http.server.SimpleHTTPRequestHandler):
    # A connection stays open for further objects. The count of bytes starts again with each.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    small = 20_000

    def send_header(self, keyword, value):
        # Nothing of the answer is written before its last header.
        if keyword == "Content-Length":
            self.mark(int(value))
        super().send_header(keyword, value)

    def mark(self, size):
        thresholds = [shortflow.ALL] if size <= self.small else [0]
        try:
            shortflow.start_object(self.connection, thresholds)
        except OSError:
            # No policy takes thresholds: it marks by itself, or nothing does.
            pass

    def log_message(self, *_):
        pass


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--folder", default=".", help="what is served")
    arguments.add_argument("--port", type=int, default=8080)
    arguments.add_argument("--small", type=int, default=20_000, help="the most bytes of a small object")
    given = arguments.parse_args()
    Handler.small = given.small
    handler = functools.partial(Handler, directory=given.folder)
    http.server.ThreadingHTTPServer(("", given.port), handler).serve_forever()


if __name__ == "__main__":
    main()
