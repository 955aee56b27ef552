/* Any bytes as the two files of llama2.c. The first two bytes say how long the tokenizer is, which
 * comes before the weights. Most of both files can only be what it is, and would only be in the way
 * of mutations: if PREFIXED is set in these two bytes, the tokenizer starts with the special tokens
 * and the 256 bytes, and the input has only what follows; if PADDED is set, zeros are added to the
 * weights up to the length that their header asks for. One input in 16 that can be converted is
 * also loaded as a model, which is what fuzz_model.c fuzzes. */
#include "fuzz/sampling.h"

#include "import/llama2c.h"
#include "import/llama2c_model.h"
#include "import/model_writer.h"

enum {
    LOADED_OF = 16,
    PREFIXED = 1 << 15,
    PADDED = 1 << 14,
    ROOM = 1 << 14, /* for the weights with their zeros */
};

/* The bytes of weights with this header, or 0 where there is no room for them. */
static size_t weights_size(const uint8_t *header)
{
    int32_t fields[LLAMA_FIELDS];
    memcpy(fields, header, sizeof fields);
    bool tied = fields[5] > 0;
    fields[5] = tied || fields[5] == INT32_MIN ? fields[5] : -fields[5];
    for (int i = 0; i < LLAMA_FIELDS; i++)
        if (fields[i] < 1 || fields[i] > ROOM)
            return 0;
    int64_t width = fields[0], ffn = fields[1], layers = fields[2], head = width / fields[3];
    int64_t layer = 2 * width + 2 * width * width + 2 * width * head * fields[4] + 3 * width * ffn;
    int64_t count = (tied ? 1 : 2) * fields[5] * width + layers * layer + width;
    count += 2 * (fields[6] * head / 2);
    return (uint64_t)count <= ROOM / sizeof(float) ? (size_t)count * sizeof(float) : 0;
}

/* A file in a block of exactly its size, so that the sanitizer detects reads beyond it: a prefix,
 * bytes of the input, and zeros. */
static att_llama_bytes make_file(const char *name, const att_string *prefix, const uint8_t *data,
                                 size_t size, size_t zeros)
{
    size_t start = prefix ? prefix->length : 0;
    uint8_t *file = malloc(start + size + zeros);
    PROMISE(file != NULL || start + size + zeros == 0);
    if (start > 0)
        memcpy(file, prefix->data, start);
    if (size > 0)
        memcpy(file + start, data, size);
    if (zeros > 0)
        memset(file + start + size, 0, zeros);
    return (att_llama_bytes){ name, file, start + size + zeros };
}

static att_llama_bytes make_weights(const uint8_t *data, size_t size, bool padded)
{
    size_t header = LLAMA_FIELDS * 4, whole = 0;
    if (padded && size >= header && weights_size(data) > 0)
        whole = header + weights_size(data);
    return make_file("weights", NULL, data, size, whole > size ? whole - size : 0);
}

static att_llama_bytes make_tokenizer(const uint8_t *data, size_t size, bool prefixed)
{
    static att_string prefix; /* kept for all inputs */
    if (prefix.length == 0) {
        prefix = llama_good_tokenizer();
        for (int i = 0; i < LLAMA_PIECES; i++)
            prefix.length -= 8 + strlen(llama_pieces[i]);
    }
    return make_file("tokenizer", prefixed ? &prefix : NULL, data, size, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    att_error err = { 0 };
    att_bundle *bundle;
    if (size < 2)
        return 0;
    unsigned first = (unsigned)data[0] | (unsigned)data[1] << 8;
    size_t length = first & (PADDED - 1);
    length = length > size - 2 ? size - 2 : length;
    const att_llama_bytes tokenizer = make_tokenizer(data + 2, length, first & PREFIXED);
    const att_llama_bytes weights =
        make_weights(data + 2 + length, size - 2 - length, first & PADDED);
    size_t live = att_alloc_live();
    att_status status = att_llama_convert(&bundle, &weights, &tokenizer, &err);
    if (status == ATT_OK && one_input_in(LOADED_OF, data, size))
        status = att_imported_model_check(&bundle, "weights", &err);
    if (status == ATT_OK)
        for (size_t i = 0; i < att_bundle_count(bundle); i++)
            check_tensor(att_bundle_at(bundle, i));
    else
        check_refusal(status, &err);
    att_bundle_free(bundle);
    free((void *)tokenizer.data);
    free((void *)weights.data);
    PROMISE(att_alloc_live() == live);
    return 0;
}
