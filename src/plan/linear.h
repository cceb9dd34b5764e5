/* Linear order: the coordinates of a nonzero as one number, and boxes, identified by the number's
 * top bits. For formats with one copy for all modes.
 *
 * The order is ALTO's. The bits of a number are the bits of all coordinates. They are assigned
 * round-robin from the lowest up, one to each mode, the shortest mode first; a mode with no bits
 * left drops out. So the top bits belong to the longest mode.
 *
 * The top `prefix` bits are the number of a box: a range of coordinates in every mode, aligned to a
 * power of two. The lower bits are stored in another form, which gives a coordinate by one shift,
 * one mask and one addition: fields side by side, mode 0 lowest, in the widths of tensor/packing.h.
 * A coordinate is the box's base plus the field.
 *
 * All functions are pure. The CPU and the GPU share the inline functions. */
#ifndef AMPED_LINEAR_H
#define AMPED_LINEAR_H

#include "tensor/packing.h"

/* Most bits of a number, and its 64-bit words; most bits of a box's number. */
#define AMPED_LINEAR_BITS 256
#define AMPED_LINEAR_WORDS (AMPED_LINEAR_BITS / 64)
#define AMPED_BOX_BITS 32

/* Least mean number of nonzeros per box. */
#define AMPED_BOX_NNZ 512

typedef struct amped_linear {
  int order;
  int bits;                            /* bits of a number */
  uint8_t mode_of[AMPED_LINEAR_BITS];  /* mode of each bit of the number, lowest first */
  uint8_t place_of[AMPED_LINEAR_BITS]; /* place of each bit in its mode's coordinate */
  int prefix;                          /* bits of a box's number */
  uint8_t low_bits[AMPED_MAX_ORDER];   /* per mode, bits of the coordinate below the prefix */
  amped_packing packing; /* packing of a number below the prefix, with the value's code */
} amped_linear;

/* Make the order for coordinates of mode m below sizes[m], all in one box. Returns false if it
 * takes more than AMPED_LINEAR_BITS bits. */
bool amped_linear_make(amped_linear *l, int order, const uint64_t *sizes);

/* Cut the order into boxes by this prefix, at most l->bits and AMPED_BOX_BITS. Other arguments: as
 * for amped_packing_make. */
void amped_linear_cut(amped_linear *l, int prefix, uint64_t codes, amped_vtype value_type,
                      uint64_t nnz);

/* Cut likewise by the longest prefix that leaves a box AMPED_BOX_NNZ nonzeros; by up to three bits
 * more if numbers then get narrower. */
void amped_linear_cut_best(amped_linear *l, uint64_t codes, amped_vtype value_type, uint64_t nnz);

/* Convert coordinates to their number, and back. words: [AMPED_LINEAR_WORDS], lowest first. */
AMPED_BOTH static inline void amped_linear_number(const amped_linear *l, const uint64_t *at,
                                                  uint64_t *words) {
  for (int w = 0; w < AMPED_LINEAR_WORDS; w++)
    words[w] = 0;
  for (int b = 0; b < l->bits; b++)
    words[b / 64] |= (at[l->mode_of[b]] >> l->place_of[b] & 1) << b % 64;
}

AMPED_BOTH static inline void amped_linear_coordinates(const amped_linear *l, const uint64_t *words,
                                                       uint64_t *at) {
  for (int m = 0; m < l->order; m++)
    at[m] = 0;
  for (int b = 0; b < l->bits; b++)
    at[l->mode_of[b]] |= (words[b / 64] >> b % 64 & 1) << l->place_of[b];
}

/* The number of the box with these coordinates; and a box's base, the least coordinates in it. */
AMPED_BOTH static inline uint64_t amped_linear_box(const amped_linear *l, const uint64_t *at) {
  uint64_t box = 0;
  for (int b = l->bits - 1; b >= l->bits - l->prefix; b--)
    box = box << 1 | (at[l->mode_of[b]] >> l->place_of[b] & 1);
  return box;
}

AMPED_BOTH static inline void amped_linear_base(const amped_linear *l, uint64_t box, uint64_t *at) {
  const int below = l->bits - l->prefix;
  for (int m = 0; m < l->order; m++)
    at[m] = 0;
  for (int b = 0; b < l->prefix; b++)
    at[l->mode_of[below + b]] |= (box >> b & 1) << l->place_of[below + b];
}

/* Put the low bits of coordinates into a number of l->packing. Its words must be zero before. */
AMPED_BOTH static inline void amped_linear_encode(const amped_linear *l, const uint64_t *at,
                                                  uint64_t *w) {
  for (int m = 0; m < l->order; m++)
    amped_packed_set(w, l->packing.shifts[m], l->packing.bits[m],
                     at[m] & ((UINT64_C(1) << l->packing.bits[m]) - 1));
}

#endif
