"""Kernels: ipykernels older than the one that is installed, each in a folder of its own; Lab knows them by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

INSTALLED = "python3"
"""The name of the kernel with the ipykernel that is installed."""
_OLDER = {"7.3": ["ipykernel==7.3.*"], "6.31": ["ipykernel==6.31.*", "nest-asyncio>=1.4"]}
"""What of each is not installed, or not in the version that it needs."""


class Kernels:
    """Makes a kernel when it is first asked for."""

    def __init__(self, packages, data):
        """`packages`: where they are installed; `data`: Jupyter's data directory, where it looks for kernels."""
        self._packages = packages
        self._data = data
        self._failed = {}

    def name(self, version):
        """What a notebook calls the kernel with this ipykernel. Skips the test where there is none, but not in CI."""
        if version == INSTALLED:
            return version
        name = f"ipykernel-{version}"
        if name not in self._failed:
            self._failed[name] = self._make(name, version)
        if self._failed[name]:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no {name}: {self._failed[name]}")
        return name

    def _make(self, name, version):
        """What went wrong."""
        packages = self._packages / name
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
        command = [*pip, "--target", str(packages), *_OLDER[version]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip() or f"pip ended with {done.returncode}"
        before = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        spec = {
            "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": name,
            "language": "python",
            "env": {"PYTHONPATH": os.pathsep.join([str(packages), *before])},
        }
        folder = self._data / "kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(json.dumps(spec))
        return ""
