from .protocols import PROTOCOLS as PROTOCOLS
