from . import protocols as protocols
