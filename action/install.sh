#!/usr/bin/env bash
# Puts run-debate, as it stands beside this script, into an environment of its own in RUNNER_TEMP and names its python.
# RUN_DEBATE_PYTHON names one that has it already, on a runner of one's own; then nothing is installed.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
home=$RUNNER_TEMP/run-debate/venv

# -I, here and below: python imports nothing from the working folder, whatever was checked out there.
find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$candidate" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  echo "::error::run-debate needs Python 3.11 or newer, and none is on the PATH. Put actions/setup-python before it." >&2
  return 1
}

if [ -n "${RUN_DEBATE_PYTHON:-}" ]; then
  python=$RUN_DEBATE_PYTHON
  if ! "$python" -I -c 'import orchestrator'; then
    echo "::error::RUN_DEBATE_PYTHON is $python, which has no run-debate. Install it there, or leave the variable out." >&2
    exit 1
  fi
else
  python=$home/bin/python
  found=$(find_python)
  "$found" -I -m venv --clear "$home"
  "$python" -I -m pip install --quiet --disable-pip-version-check -c "$source/constraints.txt" "$source"
fi
echo "python=$python" >>"$GITHUB_OUTPUT"
