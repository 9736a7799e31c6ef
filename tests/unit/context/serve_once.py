"""Start llama.cpp's server on a model file with one cache layout, let it allocate, and end.

Run as a program; the log goes to stderr.
"""

from __future__ import annotations

import os
import sys

import xllamacpp

model, cache, slots, unified, context = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.n_parallel = int(slots)
params.kv_unified = unified == "unified"
params.n_ctx = int(context)
params.cache_type_k = params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{cache.upper()}")
# A quantised V cache needs flash attention.
params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
params.warmup = False
params.verbosity = 4  # from here on the log names the allocations
params.port = 0
server = xllamacpp.Server(params)
os._exit(0)  # a polite end takes seconds
