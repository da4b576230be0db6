"""Random transformers of a few thousand parameters, saved as folders of weights."""

import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SPECIAL = ["<pad>", "</s>", "<unk>", "Yes", "No"]
LAYERS, WIDTH = 2, 16


def save(kind, folder, words, seed=0):
    """Save a random model of a kind, ``bert``, ``bart`` or ``t5``, with a tokenizer of words; return it."""
    import torch

    torch.manual_seed(seed)
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys([*SPECIAL, *words]))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="</s>",
        sep_token="</s>",
        model_max_length=64,
    )
    two_sided = {
        "vocab_size": len(vocabulary),
        "d_model": WIDTH,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    }
    if kind == "bart":
        model = transformers.BartForConditionalGeneration(
            transformers.BartConfig(
                **two_sided,
                encoder_layers=LAYERS,
                decoder_layers=LAYERS,
                encoder_attention_heads=2,
                bos_token_id=1,
                decoder_attention_heads=2,
                encoder_ffn_dim=32,
                decoder_ffn_dim=32,
                init_std=0.5,
            )
        )
    elif kind == "t5":
        model = transformers.T5ForConditionalGeneration(
            transformers.T5Config(**two_sided, d_kv=8, d_ff=32, num_layers=LAYERS, num_heads=2)
        )
    else:
        model = transformers.BertModel(
            transformers.BertConfig(
                vocab_size=len(vocabulary),
                hidden_size=WIDTH,
                num_hidden_layers=LAYERS,
                num_attention_heads=2,
                intermediate_size=32,
                initializer_range=0.5,
            )
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model
