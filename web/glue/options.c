/* Option structs from plain arguments. */
#include "web.h"

const att_render_options *web_render_options(int format, int digits, int detail, const char *only,
                                             int row, int head, int width, bool arcs)
{
    static att_render_options options;
    options = (att_render_options)ATT_INIT(att_render_options);
    options.format = (att_format)format;
    options.digits = digits;
    options.detail = (att_detail)detail;
    options.only = only;
    options.row = row;
    options.head = head;
    options.width = width;
    options.arcs = arcs;
    return &options;
}

const att_decoding_options *web_decoding_options(int beam, int n_best, bool sample,
                                                 double temperature, int top_k, double top_p,
                                                 double seed, int max_output_length)
{
    static att_decoding_options options;
    options = (att_decoding_options)ATT_INIT(att_decoding_options);
    options.beam = beam;
    options.n_best = n_best;
    options.sample = sample;
    options.temperature = temperature;
    options.top_k = top_k;
    options.top_p = top_p;
    options.seed = seed > 0 ? (uint64_t)seed : 0;
    options.max_output_length = max_output_length;
    return &options;
}

const att_generate_options *web_generate_options(const att_decoding_options *decoding,
                                                 bool all_heads, int layer, int head,
                                                 const char *target, const char *prefix)
{
    static att_generate_options options;
    static const char *targets[1], *prefixes[1];
    options = (att_generate_options)ATT_INIT(att_generate_options);
    targets[0] = target;
    prefixes[0] = prefix;
    options.decoding = decoding;
    options.attention = true;
    options.all_heads = all_heads;
    options.layer = layer;
    options.head = head;
    options.targets = target ? targets : NULL;
    options.prefixes = prefix ? prefixes : NULL;
    return &options;
}

const att_alternatives_options *web_alternatives_options(int count, const char *target,
                                                         const att_decoding_options *decoding)
{
    static att_alternatives_options options;
    options = (att_alternatives_options)ATT_INIT(att_alternatives_options);
    options.count = count;
    options.target = target;
    options.decoding = decoding;
    return &options;
}

const att_head_selection *web_head_selection(int block, int layer, int head, const char *input,
                                             const char *target)
{
    static att_head_selection which;
    which = (att_head_selection){ .block = (att_attention_block)block,
                                  .layer = layer,
                                  .head = head,
                                  .input = input,
                                  .target = target };
    return &which;
}
