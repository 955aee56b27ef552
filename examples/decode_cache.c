/* Decoding with a KV cache: each token adds a key and a value to the cache and attends to all
 * tokens so far. The result has the same bits as causal attention over the whole sequence at once,
 * because the causal mask uses positions, and `offset` is the position of the query. */
#include <attend.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 100, HEADS = 2, WIDTH = 8, ROW = HEADS * WIDTH };

static float query[TOKENS][ROW], key[TOKENS][ROW], value[TOKENS][ROW];
static float cached_keys[TOKENS][ROW], cached_values[TOKENS][ROW]; /* room for all; grows by one */

static att_tensor rows(float (*data)[ROW], int count)
{
    const int64_t shape[] = { 1, count, HEADS, WIDTH };
    return att_tensor_view(data, ATT_F32, 4, shape);
}

/* Queries of `count` tokens from `first` on, over the `keys` first rows of k and v. */
static att_status attend(float (*result)[ROW], int first, int count, float (*k)[ROW],
                         float (*v)[ROW], int keys, att_error *err)
{
    att_attention_options options =
        ATT_INIT(att_attention_options); /* dot score, softmax, no mask */
    static att_attention_inputs in;
    static att_attention_outputs out;
    att_tensor q = rows(query + first, count), all_keys = rows(k, keys), all_values = rows(v, keys);
    att_tensor output = rows(result, count);
    options.score = ATT_SCORE_SCALED;
    options.causal = true;
    options.offset = first;
    in.query = &q, in.key = &all_keys, in.value = &all_values;
    out.output = &output;
    return att_attention_forward(&options, &in, &out, NULL, err);
}

int main(void)
{
    static float full[TOKENS][ROW], step[1][ROW];
    int same = 0;
    att_error err;
    for (int t = 0; t < TOKENS; t++)
        for (int c = 0; c < ROW; c++) {
            query[t][c] = sinf((float)(t * 3 + c));
            key[t][c] = cosf((float)(t + c * 5));
            value[t][c] = sinf((float)(t * c));
        }
    if (attend(full, 0, TOKENS, key, value, TOKENS, &err) != ATT_OK)
        goto failed;
    for (int t = 0; t < TOKENS; t++) {
        memcpy(cached_keys[t], key[t], sizeof key[t]);
        memcpy(cached_values[t], value[t], sizeof value[t]);
        if (attend(step, t, 1, cached_keys, cached_values, t + 1, &err) != ATT_OK)
            goto failed;
        same += memcmp(step[0], full[t], sizeof full[t]) == 0;
    }
    printf("%d of %d tokens: the cache gives the bits of the full matrix\n", same, TOKENS);
    return same == TOKENS ? 0 : 1;
failed:
    fprintf(stderr, "%s\n", err.message);
    return 1;
}
