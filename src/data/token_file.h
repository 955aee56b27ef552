/* A token file: a dataset that `attend prepare` has encoded, read by windows. It is a .safetensors
 * file (docs/formats of its metadata: docs/training.md, "Data larger than memory"):
 *
 *   attend.format    "tokens 1", the first member of the header, by which the file is recognized
 *   attend.settings  the settings of the data and the tokens
 *   attend.source, attend.target   vocabularies (text/vocab.h)
 *   attend.data      sizes and statistics
 *   attend.checksum  tensor/checksum.h
 *
 * and the sections below as tensors of one dimension. Files are read with pread(2): a file that
 * shrinks during a run is an error, not the SIGBUS that a mapped file gives. */
#ifndef ATT_DATA_TOKEN_FILE_H
#define ATT_DATA_TOKEN_FILE_H

#include "attend.h"
#include "base/json.h"

/* ATT_TOKENS_VALID follows ATT_TOKENS_TRAIN in every list of sections. */
typedef enum att_token_split {
    ATT_TOKENS_TRAIN,
    ATT_TOKENS_VALID,
    ATT_TOKENS_SPLITS
} att_token_split;

typedef enum att_token_section {
    ATT_SECTION_SOURCE_IDS,
    ATT_SECTION_SOURCE_OFFSETS, /* [pairs + 1] */
    ATT_SECTION_TARGET_IDS,
    ATT_SECTION_TARGET_OFFSETS, /* [pairs + 1]; none for a text */
    ATT_SECTION_LINES,          /* [pairs] of validation: line numbers */
    ATT_SECTION_SOURCE_HASHES,  /* [pairs] of validation: att_hash() of the source's text */
    ATT_SECTION_TARGET_TEXT,    /* of validation: each target, ended by a zero byte */
    ATT_SECTIONS
} att_token_section;

/* Elements of a section in the file. */
typedef enum att_token_dtype {
    ATT_TOKEN_U8,
    ATT_TOKEN_U16,
    ATT_TOKEN_I32,
    ATT_TOKEN_I64
} att_token_dtype;

typedef struct att_section_spec {
    const char *name; /* of the tensor, after "train." or "valid." */
    bool is_ids;      /* U16 or I32; else `dtype` */
    att_token_dtype dtype;
} att_section_spec;

extern const att_section_spec att_section_specs[ATT_SECTIONS];
extern const char *const att_token_split_names[ATT_TOKENS_SPLITS];

/* Name in a safetensors header, and bytes. */
const char *att_token_dtype_name(att_token_dtype dtype);
size_t att_token_dtype_size(att_token_dtype dtype);

/* Where a section is. A section that the file lacks has count 0. */
typedef struct att_section_place {
    uint64_t begin; /* from the start of the file */
    int64_t count;
    att_token_dtype dtype;
} att_section_place;

typedef struct att_token_file {
    int fd;
    char *name;                                     /* for errors */
    int64_t size;                                   /* bytes */
    int64_t modified_seconds, modified_nanoseconds; /* when it was opened; 0, 0: not compared */
    att_section_place sections[ATT_TOKENS_SPLITS][ATT_SECTIONS];
    int32_t vocab_sizes[2]; /* of source and target: ids are below */
    att_json_doc header;    /* of a file that was opened */
} att_token_file;

#define ATT_TOKENS_FORMAT "tokens 1"

/* Whether a path names a token file, by its first bytes. What is no file, or not there, is none. */
att_status att_token_file_detect(bool *out, const char *path, att_error *err);

/* Opens a token file: parses and checks its header, and with `verify` compares every section with
 * its SHA-256. Ids and offsets are checked whenever they are read. */
att_status att_token_file_open(att_token_file **out, const char *path, bool verify, att_error *err);
void att_token_file_free(att_token_file *file);

/* A string of the metadata; NULL: there is none. */
const char *att_token_file_meta(const att_token_file *file, const char *key);

/* Reads elements [begin, begin + count) of a section: ids as int32_t, each of them a token of the
 * vocabulary; offsets, lines and hashes as int64_t; text as char. A range beyond the section, a
 * file that has become shorter or was written to, and an id beyond the vocabulary are
 * ATT_BAD_INPUT. */
att_status att_token_file_read(const att_token_file *file, att_token_split split,
                               att_token_section section, int64_t begin, int64_t count, void *out,
                               att_error *err);

/* Reads offsets [begin, begin + count], which must rise and stay inside the ids. */
att_status att_token_file_offsets(const att_token_file *file, att_token_split split, bool target,
                                  int64_t begin, int64_t count, int64_t *out, att_error *err);

#endif
