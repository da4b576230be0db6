"""A language model of some 100,000 random weights in a GGUF file, for a server that really computes probabilities.

Its words mean nothing. Each token's logit has a part that is the same for every text, so that ratings and the words
Yes and No are likely, and a random part, so that they are not equally likely for two texts.
"""

import gguf
import numpy as np

WIDTH = 64
INNER = 128
LAYERS = 2
HEADS = 4
CONTEXT = 8192
RATINGS = [str(number) for number in range(10)]
WORDS = ["Yes", "No"]
TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"


def vocabulary():
    """Tokens with their scores and types: three special ones, all bytes, letters, ratings and words."""
    kind = gguf.TokenType
    tokens = [("<unk>", 0.0, kind.UNKNOWN), ("<s>", 0.0, kind.CONTROL), ("</s>", 0.0, kind.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", 0.0, kind.BYTE) for byte in range(256)]
    texts = [
        "▁",
        *map(chr, range(ord("a"), ord("z") + 1)),
        *map(chr, range(ord("A"), ord("Z") + 1)),
        *".,:;-()",
        *RATINGS,
        *WORDS,
        *(f"▁{rating}" for rating in RATINGS),
    ]
    return tokens + [(text, -float(place), kind.NORMAL) for place, text in enumerate(texts)]


def build(path, seed=0):
    """Write a model.

    Parameters
    ----------
    path : pathlib.Path
    seed : int
        Of the weights.
    """
    rng = np.random.default_rng(seed)
    tokens = vocabulary()
    texts = [text for text, _, _ in tokens]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(texts)
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)

    def random(*shape, scale):
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    embedding = random(len(tokens), WIDTH, scale=1)
    embedding[:, 0] = 4  # what every text has in common
    output = random(len(tokens), WIDTH, scale=0.12)
    likely = [place for place, text in enumerate(texts) if text.strip("▁") in (*RATINGS, *WORDS)]
    output[:, 0] = 0
    output[likely, 0] = 1.2
    output[[texts.index(word) for word in WORDS], 0] = 1.5  # two words against twenty ratings
    output[2, 0] = 0.8  # the end
    writer.add_tensor("token_embd.weight", embedding)
    for layer in range(LAYERS):
        name = f"blk.{layer}"
        for part in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{name}.{part}.weight", np.ones(WIDTH, np.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{name}.{part}.weight", random(WIDTH, WIDTH, scale=WIDTH**-0.5))
        writer.add_tensor(f"{name}.ffn_gate.weight", random(INNER, WIDTH, scale=WIDTH**-0.5))
        writer.add_tensor(f"{name}.ffn_up.weight", random(INNER, WIDTH, scale=WIDTH**-0.5))
        writer.add_tensor(f"{name}.ffn_down.weight", random(WIDTH, INNER, scale=INNER**-0.5))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
