"""Writes a language model of random weights that is tiny and whole, for servers that speak a real wire format."""

import sys

import gguf
import numpy

WIDTH, HEADS, LAYERS, INNER, CONTEXT = 32, 4, 2, 64, 8192

words = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
# Words that such a model can say, so that its text is text.
for word in "\u2581 \u2581the \u2581code \u2581reads \u2581a \u2581file \u2581and . \u2581then e t a o".split(" "):
    words.append(word)
    kinds.append(gguf.TokenType.NORMAL)

writer = gguf.GGUFWriter(sys.argv[1], "llama")
writer.add_name("tiny")
writer.add_context_length(CONTEXT)
writer.add_embedding_length(WIDTH)
writer.add_block_count(LAYERS)
writer.add_feed_forward_length(INNER)
writer.add_head_count(HEADS)
writer.add_head_count_kv(HEADS)
writer.add_rope_dimension_count(WIDTH // HEADS)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_vocab_size(len(words))
writer.add_file_type(gguf.LlamaFileType.ALL_F32)
writer.add_tokenizer_model("llama")
writer.add_token_list(words)
writer.add_token_scores([0.0] * 259 + [-1.0] * (len(words) - 259))
writer.add_token_types(kinds)
writer.add_unk_token_id(0)
writer.add_bos_token_id(1)
writer.add_eos_token_id(2)
writer.add_chat_template(
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)

random = numpy.random.default_rng(7)


def add(name, *shape):
    writer.add_tensor(name, random.standard_normal(shape).astype(numpy.float32) * 0.1)


def ones(name):
    writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))


add("token_embd.weight", len(words), WIDTH)
ones("output_norm.weight")
add("output.weight", len(words), WIDTH)
for layer in range(LAYERS):
    block = f"blk.{layer}."
    ones(block + "attn_norm.weight")
    ones(block + "ffn_norm.weight")
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(block + name + ".weight", WIDTH, WIDTH)
    add(block + "ffn_gate.weight", INNER, WIDTH)
    add(block + "ffn_up.weight", INNER, WIDTH)
    add(block + "ffn_down.weight", WIDTH, INNER)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
