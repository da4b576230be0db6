"""Check, cell by cell, what papers printed about language models as evaluators.

The everyday names stand here; the rest is reached through the rooms (`nj.data`, `nj.metrics`, `nj.judging`,
`nj.stats`, `nj.ledger`, `nj.studies`) and the papers (`nj.geval`, `nj.chatgpt` and so on).
`__init__.pyi` beside each of these files lists what it offers: editors read it, and a module is imported when
one of its names is first used, so that a notebook waits for, and depends on, the modules that it needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
