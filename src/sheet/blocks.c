/* Attention and other layers as functions of worksheets. */
#include "sheet/function.h"

const att_function att_block_functions[] = { { 0 } };
