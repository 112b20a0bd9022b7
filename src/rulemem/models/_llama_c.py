"""The part of llama.cpp's C interface that scoring given text needs, bound with ctypes.

The functions are exported by the library inside the `xllamacpp` wheel, which pyproject.toml pins
exactly because C structs carry no version. `load_library` compares the defaults that it reads
through these struct layouts with the documented ones and refuses to go on when they differ.

Knows nothing of likelihoods or rules.
"""

from __future__ import annotations

import ctypes as c
import importlib.metadata
from pathlib import Path

from rulemem.errors import ModelUnavailable

RUNTIME = "xllamacpp"
RUNTIME_VERSION = "2026.10.11549"

LogCallback = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)


class ModelParams(c.Structure):
    """struct llama_model_params."""

    _fields_ = (
        ("devices", c.c_void_p),
        ("tensor_buft_overrides", c.c_void_p),
        ("n_gpu_layers", c.c_int32),
        ("split_mode", c.c_int),
        ("load_mode", c.c_int),
        ("lazy_mode", c.c_int),
        ("main_gpu", c.c_int32),
        ("tensor_split", c.c_void_p),
        ("progress_callback", c.c_void_p),
        ("progress_callback_user_data", c.c_void_p),
        ("kv_overrides", c.c_void_p),
        ("vocab_only", c.c_bool),
        ("check_tensors", c.c_bool),
        ("use_extra_bufts", c.c_bool),
        ("no_host", c.c_bool),
        ("no_alloc", c.c_bool),
        ("load_mtp", c.c_bool),
    )


class ContextParams(c.Structure):
    """struct llama_context_params."""

    _fields_ = (
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("n_rs_seq", c.c_uint32),
        ("n_outputs_max", c.c_uint32),
        ("n_outputs_max_per_seq", c.c_uint32),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("ctx_type", c.c_int),
        ("rope_scaling_type", c.c_int),
        ("pooling_type", c.c_int),
        ("attention_type", c.c_int),
        ("flash_attn_type", c.c_int),
        ("rope_freq_base", c.c_float),
        ("rope_freq_scale", c.c_float),
        ("yarn_ext_factor", c.c_float),
        ("yarn_attn_factor", c.c_float),
        ("yarn_beta_fast", c.c_float),
        ("yarn_beta_slow", c.c_float),
        ("yarn_orig_ctx", c.c_uint32),
        ("defrag_thold", c.c_float),
        ("cb_eval", c.c_void_p),
        ("cb_eval_user_data", c.c_void_p),
        ("type_k", c.c_int),
        ("type_v", c.c_int),
        ("moe_cache_size", c.c_size_t),
        ("abort_callback", c.c_void_p),
        ("abort_callback_data", c.c_void_p),
        ("embeddings", c.c_bool),
        ("offload_kqv", c.c_bool),
        ("no_perf", c.c_bool),
        ("op_offload", c.c_bool),
        ("swa_full", c.c_bool),
        ("kv_unified", c.c_bool),
        ("samplers", c.c_void_p),
        ("n_samplers", c.c_size_t),
        ("ctx_other", c.c_void_p),
    )


class Batch(c.Structure):
    """struct llama_batch."""

    _fields_ = (
        ("n_tokens", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embd", c.POINTER(c.c_float)),
        ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)),
        ("seq_id", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    )


_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "llama_backend_init": (None, []),
    "llama_log_set": (None, [LogCallback, c.c_void_p]),
    "llama_model_default_params": (ModelParams, []),
    "llama_context_default_params": (ContextParams, []),
    "llama_model_load_from_file": (c.c_void_p, [c.c_char_p, ModelParams]),
    "llama_model_free": (None, [c.c_void_p]),
    "llama_init_from_model": (c.c_void_p, [c.c_void_p, ContextParams]),
    "llama_free": (None, [c.c_void_p]),
    "llama_model_get_vocab": (c.c_void_p, [c.c_void_p]),
    "llama_vocab_n_tokens": (c.c_int32, [c.c_void_p]),
    "llama_vocab_get_add_bos": (c.c_bool, [c.c_void_p]),
    "llama_tokenize": (
        c.c_int32,
        [c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool],
    ),
    "llama_get_memory": (c.c_void_p, [c.c_void_p]),
    "llama_memory_clear": (None, [c.c_void_p, c.c_bool]),
    "llama_decode": (c.c_int32, [c.c_void_p, Batch]),
    "llama_get_logits_ith": (c.POINTER(c.c_float), [c.c_void_p, c.c_int32]),
}


def load_library() -> c.CDLL:
    """Open the runtime's library, bind the functions above and check the struct layouts.

    Raises:
        ModelUnavailable: the runtime is missing, has another version, or other defaults.
    """
    install = f"Install it with: pip install 'rulemem[embedded]' ({RUNTIME}=={RUNTIME_VERSION})."
    try:
        found = importlib.metadata.version(RUNTIME)
        import xllamacpp.xllamacpp as extension
    except ImportError as error:
        raise ModelUnavailable(f"{RUNTIME} is not installed.", hint=install) from error
    if found != RUNTIME_VERSION:
        raise ModelUnavailable(f"{RUNTIME} {found!r} has other C structs.", hint=install)
    library = c.CDLL(str(Path(extension.__file__)))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    context = library.llama_context_default_params()
    model = library.llama_model_default_params()
    defaults = (
        context.n_ctx == 512,
        context.n_batch == 2048,
        context.n_ubatch == 512,
        context.n_seq_max == 1,
        context.rope_scaling_type == -1,
        context.yarn_ext_factor == -1.0,
        context.embeddings is False,
        context.samplers is None,
        model.vocab_only is False,
        model.tensor_split is None,
    )
    if not all(defaults):
        raise ModelUnavailable(f"{RUNTIME} {found!r} has other struct defaults.", hint=install)
    return library


def _drop(_level: int, _text: bytes, _data: int) -> None:
    """What fails is raised by us, so the library's log lines are not shown."""


silence = LogCallback(_drop)
