"""A directory with a repository."""

import base64
import pathlib
import subprocess
import time

import network

TOP = pathlib.Path(__file__).resolve().parents[2]
BASE = "ou=shortflow,dc=example,dc=org"
START_TIMEOUT = 30.0
ADMIN = "cn=admin,dc=example,dc=org"
# Root of this machine, as the server knows it who is asked over its socket.
ROOT = "gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth"

PAGES = 'match = { protocol = "tcp", dst_port = 8080 }\n'
BAND = "[[roles.core.queue.strict-priority.bands]]\n"
QUEUE = 'queue.fifo = { limit = "100 pkt" }\n'
POLICIES = {
    "best-effort": 'name = "Best Effort"\n[roles.core]\nqueue.fifo = { limit = "100 pkt" }\n',
    "pages-first": f'name = "Pages First"\n{BAND}{PAGES}{QUEUE}{BAND}{QUEUE}',
    # What is not to port 8080 goes first: pages have what is left.
    "pages-last": f'name = "Pages Last"\n{BAND}match = {{ protocol = "tcp", dst_port = 9000 }}\n{QUEUE}{BAND}{QUEUE}',
}


def text(policy: str, watch: int) -> str:
    machines = "".join(
        f'[machines.{name}]\ntags = ["{tag}"]\ninterfaces.wan = {{ device = "wan", rate = "10 Mbit/s" }}\n\n'
        for name, tag in (("gw1", "first"), ("gw2", "later"), ("gw3", "later"))
    )
    rollout = f'[rollout]\nfirst = ["first"]\nafter = "3 s"\nwatch = "{watch} s"\nverdicts = true\n'
    return f'name = "Demo"\n\n{machines}[[assign]]\npolicy = "policies/{policy}.toml"\n\n{rollout}'


class Directory:
    """An OpenLDAP server with its data in a folder; it ends with the stack."""

    def __init__(self, folder: pathlib.Path, stack, shortflow: str, watch: int) -> None:
        self.folder, self.shortflow, self.watch = folder, shortflow, watch
        self.is_empty = True
        data = folder / "data"
        data.mkdir()
        self.url = "ldapi://" + str(folder / "ldapi").replace("/", "%2F")
        (folder / "slapd.conf").write_text(
            f"include /etc/ldap/schema/core.schema\ninclude {TOP}/docs/ldap/shortflow.schema\n"
            "modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload syncprov\ndatabase mdb\n"
            f'suffix "dc=example,dc=org"\nrootdn "{ROOT}"\ndirectory {data}\noverlay syncprov\n'
        )
        command = ["/usr/sbin/slapd", "-d", "0", "-f", folder / "slapd.conf", "-h", self.url]
        with network.held():
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            stack.callback(network.end, server)
        self.wait_until_it_answers(server)

    def wait_until_it_answers(self, server: subprocess.Popen) -> None:
        """Waits for the answer to a search: the socket's file exists before the server accepts connections."""
        # The root entry of the server, which it has as soon as it serves (RFC 4512 section 5.1).
        search = ["ldapsearch", "-Q", "-Y", "EXTERNAL", "-H", self.url, "-LLL", "-s", "base", "-b", "", "namingContexts"]
        end = time.monotonic() + START_TIMEOUT
        while True:
            if server.poll() is not None:
                raise network.Lacking(f"slapd ended with exit code {server.returncode} before it answered")
            try:
                answer = subprocess.run(search, capture_output=True, text=True, check=False, timeout=5)
                error = answer.stderr.strip()
                if answer.returncode == 0:
                    return
            except subprocess.TimeoutExpired:
                error = "no answer within 5 s"
            if time.monotonic() > end:
                raise network.Lacking(f"slapd does not answer within {START_TIMEOUT:.0f} s: {error}")
            time.sleep(0.05)

    def tool(self, name: str, ldif: str) -> None:
        command = [name, "-Q", "-Y", "EXTERNAL", "-H", self.url]
        ended = subprocess.run(command, input=ldif, capture_output=True, text=True, check=False, timeout=20)
        if ended.returncode != 0:
            raise network.Lacking(f"{name}: {ended.stderr}")

    def write(self, policy: str) -> None:
        """Assigns this policy to the fleet."""
        fleet = text(policy, self.watch)
        if not self.is_empty:
            value = base64.b64encode(fleet.encode()).decode()
            change = f"dn: cn=fleet.toml,{BASE}\nchangetype: modify\nreplace: shortflowText\nshortflowText:: {value}\n"
            self.tool("ldapmodify", change)
            return
        repository = self.folder / "fleet"
        (repository / "policies").mkdir(parents=True)
        (repository / "fleet.toml").write_text(fleet)
        for name, content in POLICIES.items():
            (repository / "policies" / f"{name}.toml").write_text(content)
        command = [self.shortflow, "agent", "export", repository, "--base", BASE]
        entries = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        organization = "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n\n"
        self.tool("ldapadd", organization + entries.removeprefix("version: 1\n"))
        # All policies are there from the start, so that a change is one of the fleet's text alone.
        for name, content in POLICIES.items():
            if name != policy:
                value = base64.b64encode(content.encode()).decode()
                path = f"policies/{name}.toml"
                entry = f"dn: cn={path},{BASE}\nobjectClass: shortflowTextEntry\ncn: {path}\nshortflowText:: {value}\n"
                self.tool("ldapadd", entry)
        self.is_empty = False
