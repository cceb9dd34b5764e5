/* Packing: choice of fields, planes and pack length. */
#include "tensor/packing.h"

#include <string.h>

/* Bits that hold 0 .. count-1. */
static unsigned bits_for(uint64_t count) {
  unsigned bits = 0;
  while (bits < 64 && (count - 1) >> bits != 0)
    bits++;
  return bits;
}

/* Bytes of the narrowest number with this number of bits. */
static uint64_t bytes_for(unsigned bits) {
  if (bits <= 32)
    return 4;
  if (bits <= 48)
    return 6;
  if (bits <= 64)
    return 8;
  if (bits <= 80)
    return 10;
  if (bits <= 96)
    return 12;
  return 8 * amped_ceil_div(bits, 64);
}

static void set_planes(amped_packing *p, uint64_t bytes) {
  if (bytes < 8) {
    p->plane_bytes[p->planes++] = 4;
    if (bytes == 6)
      p->plane_bytes[p->planes++] = 2;
    p->words = 1;
    return;
  }
  for (; bytes >= 8; bytes -= 8)
    p->plane_bytes[p->planes++] = 8;
  if (bytes > 0)
    p->plane_bytes[p->planes++] = (uint8_t)bytes;
  p->words = p->planes;
}

void amped_packing_make(amped_packing *p, int inputs, const uint64_t *positions, uint64_t codes,
                        amped_vtype value_type, uint64_t nnz) {
  unsigned total = 0;
  memset(p, 0, sizeof *p);
  p->inputs = inputs;
  for (int i = 0; i < inputs; i++) {
    p->bits[i] = (uint8_t)bits_for(positions[i]);
    p->shifts[i] = (uint16_t)total;
    total += p->bits[i];
  }
  unsigned value_bits = codes > 0 ? bits_for(codes) : 64;
  p->coded = codes > 0 && codes <= AMPED_MAX_CODES &&
             bytes_for(total + value_bits) < bytes_for(total) + value_type;
  if (p->coded) {
    p->value_bits = (uint8_t)value_bits;
    p->value_shift = (uint16_t)total;
    total += value_bits;
  }
  set_planes(p, bytes_for(total));
  p->pack = nnz < AMPED_LONG_PACK_NNZ ? AMPED_SHORT_PACK : AMPED_LONG_PACK;
}

uint64_t amped_packing_plane_bytes(const amped_packing *p) {
  uint64_t bytes = 0;
  for (int i = 0; i < p->planes; i++)
    bytes += p->plane_bytes[i];
  return bytes;
}

uint64_t amped_packing_nonzero_bytes(const amped_packing *p, amped_vtype value_type) {
  return amped_packing_plane_bytes(p) + (p->coded ? 0 : (uint64_t)value_type);
}
