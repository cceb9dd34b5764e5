/* Seal: the content hash of a dataset. */
#include "hdf5/hdf5_seal.h"

#include <stdio.h>
#include <string.h>

#include "tensor/sptensor.h"

#define SEAL "amped_hash"

/* Fewer elements are hashed by one thread: waking other threads takes longer. */
#define WORTH_THREADS 16384

/* Hash of one element: the hash of a nonzero of one mode (tensor/sptensor.h), over the element's
 * bits. */
static inline uint64_t hash_of(uint64_t bits, uint64_t place) {
  return amped_hash_index(amped_mix64(bits), place);
}

static inline uint64_t bits_of(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* BITS: the bits of element i of array a, widened to 64 bits. */
#define DEFINE_HASH(name, T, BITS)                                                                 \
  static uint64_t hash_##name(const T *a, uint64_t first, uint64_t n) {                            \
    uint64_t hash = 0;                                                                             \
    _Pragma("omp parallel for schedule(static) reduction(+ : hash) if (n >= WORTH_THREADS)") for ( \
        uint64_t i = 0; i < n; i++) hash += hash_of(BITS, first + i);                              \
    return hash;                                                                                   \
  }
DEFINE_HASH(u8, uint8_t, a[i])
DEFINE_HASH(u16, uint16_t, a[i])
DEFINE_HASH(u32, uint32_t, a[i])
DEFINE_HASH(u64, uint64_t, a[i])
DEFINE_HASH(i8, int8_t, (uint64_t)a[i])
DEFINE_HASH(i16, int16_t, (uint64_t)a[i])
DEFINE_HASH(i32, int32_t, (uint64_t)a[i])
DEFINE_HASH(f32, float, bits_of((double)a[i]))
DEFINE_HASH(f64, double, bits_of(a[i]))

uint64_t amped_hdf5_hash(amped_hdf5_type type, const void *elements, uint64_t first,
                         uint64_t count) {
  if (type.number == AMPED_FLOAT)
    return type.bytes == 4 ? hash_f32(elements, first, count) : hash_f64(elements, first, count);
  if (type.bytes == 8) /* signed or unsigned: the same bits */
    return hash_u64(elements, first, count);
  if (type.number == AMPED_UNSIGNED)
    return type.bytes == 1   ? hash_u8(elements, first, count)
           : type.bytes == 2 ? hash_u16(elements, first, count)
                             : hash_u32(elements, first, count);
  return type.bytes == 1   ? hash_i8(elements, first, count)
         : type.bytes == 2 ? hash_i16(elements, first, count)
                           : hash_i32(elements, first, count);
}

amped_status amped_hdf5_is_sealed(amped_hdf5 *file, const char *name, bool *out) {
  bool exists = false;
  *out = true;
  AMPED_TRY(amped_hdf5_exists(file, name, &exists));
  return exists ? amped_hdf5_has_attribute(file, name, SEAL, out) : AMPED_OK;
}

amped_status amped_hdf5_seal_read(amped_hdf5_dataset *d) {
  d->seal = (amped_hdf5_seal){.on = false};
  AMPED_TRY(amped_hdf5_has_attribute(d->file, d->name, SEAL, &d->seal.on));
  if (!d->seal.on)
    return AMPED_OK;
  return amped_hdf5_get_u64(d->file, d->name, SEAL, 1, &d->seal.stored);
}

/* Report or note that the content does not match its seal. */
static amped_status broken(amped_hdf5_dataset *d) {
  amped_hdf5 *file = d->file;
  if (file->tolerant) {
    if (file->broken[0] == '\0')
      (void)snprintf(file->broken, sizeof file->broken, "%s", d->name);
    return AMPED_OK;
  }
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "dataset %s disagrees with its content hash; the file is damaged, make it "
                     "again",
                     d->name);
}

amped_status amped_hdf5_seal_check(amped_hdf5_dataset *d, amped_hdf5_type type, uint64_t first,
                                   uint64_t count, const void *rows) {
  amped_hdf5_seal *s = &d->seal;
  if (first == 0)
    s->hash = s->rows = 0;
  if (!s->on || first != s->rows)
    return AMPED_OK;
  s->hash += amped_hdf5_hash(type, rows, first * d->dims[1], count * d->dims[1]);
  s->rows += count;
  return s->rows < d->dims[0] || s->hash == s->stored ? AMPED_OK : broken(d);
}

void amped_hdf5_seal_append(amped_hdf5_dataset *d, uint64_t count, const void *rows) {
  if (d->seal.on)
    d->seal.hash += amped_hdf5_hash(d->type, rows, d->written * d->dims[1], count * d->dims[1]);
}

amped_status amped_hdf5_seal_write(amped_hdf5_dataset *d) {
  return d->seal.on ? amped_hdf5_put_u64(d->file, d->name, SEAL, 0, &d->seal.hash) : AMPED_OK;
}
