"""`python -m orchestrator` is `run-debate`."""

from __future__ import annotations

from orchestrator.cli.run_debate import main

if __name__ == "__main__":
    main()
