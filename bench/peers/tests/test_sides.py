"""Which peers count as installed."""

import subprocess
import unittest
from unittest import mock

import sides


def version(peer: str, stdout: str, code: int = 0) -> str:
    """The version if dpkg-query answers this and every program exists."""
    answer = subprocess.CompletedProcess([], code, stdout, "")
    sides.version.cache_clear()
    with (
        mock.patch.object(subprocess, "run", return_value=answer),
        mock.patch.object(sides.shutil, "which", return_value="there"),
    ):
        return sides.version(peer)


class Version(unittest.TestCase):
    def tearDown(self) -> None:
        sides.version.cache_clear()

    def test_an_installed_package_tells_its_version(self) -> None:
        self.assertEqual(version("ns3", "installed 3.37-2"), "3.37-2")

    def test_a_package_that_is_known_but_not_installed_is_missing(self) -> None:
        for answer in ["not-installed ", "config-files 3.37-2"]:
            with self.assertRaisesRegex(sides.Missing, "apt-get install libns3-dev"):
                version("ns3", answer)
        with self.assertRaises(sides.Missing):
            version("ns3", "", code=1)

    def test_ns2_may_have_been_built_by_hand(self) -> None:
        self.assertEqual(version("ns2", "not-installed "), "of unknown version")


if __name__ == "__main__":
    unittest.main()
