"""`python -m nlgjudge.cli`."""

import sys

from nlgjudge.cli import main

sys.exit(main())
