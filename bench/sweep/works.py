"""What is measured: many small runs, as a sweep and alone. Run as a program, it does one work and prints what it used."""

import json
import os
import resource
import sys
import tempfile
import time

import shortflow as sf
from shortflow import _core
from shortflow._chunk import run_row

LINE = {
    "name": "Line",
    "duration": "20 s",
    "parameters": {"load": 1.0},
    "hosts": {"client": {}, "server": {}},
    "links": {"line": {"between": ["client", "server"], "rate": "2 Mbit/s", "delay": "10 ms"}},
    "workloads": {
        "web": {
            "transfers": {
                "client": "client",
                "server": "server",
                "load": "= load Mbit/s",
                "request": {"constant": "200 B"},
                "reply": {"constant": "10 KB"},
            }
        }
    },
}
ROWS = 10


def sweep(runs: int, rows: int) -> sf.Sweep:
    """So many runs in so many rows, at loads up to 1 Mbit/s."""
    loads = [step / rows for step in range(1, rows + 1)]
    design = sf.Design.grid({"parameters.load": loads})
    return sf.Sweep(sf.Scenario.from_dict(LINE, "line.toml"), design, replicas=runs // rows, collect=["replicas"])


def alone(what: sf.Sweep) -> None:
    """All runs one after the other in this process, without tables and files: a case for each row."""
    base = what.work_base()
    for row in what.rows():
        run_row(base, row, range(what.replicas), _core.Stop())


def main() -> None:
    """Do the work that the arguments describe."""
    work = json.loads(sys.argv[1])
    what = sweep(work["runs"], work["rows"])
    begun = time.monotonic()
    chunks = bytes_written = 0
    if work["jobs"] == 0:
        alone(what)
    else:
        with tempfile.TemporaryDirectory(dir=work["folder"]) as folder:
            executor = {"executor": "processes", "jobs": work["jobs"], "runs_per_chunk": work["runs_per_chunk"]}
            what.run(out=f"{folder}/sweep", progress=False, **executor)
            names = os.listdir(f"{folder}/sweep")
            chunks = sum(name.startswith("chunk-") for name in names)
            bytes_written = sum(os.path.getsize(f"{folder}/sweep/{name}") for name in names)
    seconds = time.monotonic() - begun
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "driver": own.ru_utime + own.ru_stime,
                "driver_mb": own.ru_maxrss / 1024,
                "chunks": chunks,
                "bytes": bytes_written,
            }
        )
    )


if __name__ == "__main__":
    main()
