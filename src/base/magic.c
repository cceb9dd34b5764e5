/* Magic: first bytes of compressed files, archives and other binary files. */
#include "base/magic.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define GZIP_MAGIC "\x1f\x8b"

typedef struct kind {
  const char *bytes;
  uint64_t count;
  const char *what; /* kind of the file, and the remedy */
} kind;

#define KIND(bytes, what)                                                                          \
  { bytes, sizeof(bytes) - 1, what }

/* First bytes of files that are not text. A longer entry precedes its own prefix. */
static const kind kinds[] = {
    KIND("\xfd"
         "7zXZ\0",
         "compressed with xz; decompress it first: xz -dk FILE"),
    KIND("BZh11AY&SY", "compressed with bzip2; decompress it first: bzip2 -dk FILE"),
    KIND("\x04\x22\x4d\x18", "compressed with lz4; decompress it first: lz4 -d FILE"),
    KIND("\x02\x21\x4c\x18", "compressed with lz4; decompress it first: lz4 -d FILE"),
    KIND("LZIP\1", "compressed with lzip; decompress it first: lzip -dk FILE"),
    KIND("\x89LZO\0\r\n\x1a\n", "compressed with lzop; decompress it first: lzop -d FILE"),
    KIND("\x5d\0\0", "compressed with lzma; decompress it first: xz -dk FILE"),
    KIND("\x1f\x9d", "compressed with compress (.Z); decompress it first: gzip -d FILE"),
    KIND("\x1f\xa0", "compressed with compress (.Z); decompress it first: gzip -d FILE"),
    KIND("\xff\x06\0\0sNaPpY", "compressed with snappy; decompress it first: snzip -d FILE"),
    KIND("PK\3\4", "a zip archive or a workbook; unpack it first: unzip FILE; or save it as .csv"),
    KIND("PK\5\6", "an empty zip archive; name another file"),
    KIND("7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first: 7z x FILE"),
    KIND("Rar!\x1a\x07", "a rar archive; unpack it first: unrar x FILE"),
    KIND("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook (.xls); save it as .csv"),
    KIND("\x89HDF\r\n\x1a\n",
         "an HDF5 file; a tensor needs the suffix .h5 (amped_mpi info FILE says what it is)"),
    KIND("\x93NUMPY", "an array of numpy; give it the suffix .npy"),
    KIND("PAR1", "a Parquet file; write it as .csv, say with pandas"),
    KIND("ARROW1", "an Arrow file; write it as .csv, say with pandas"),
    KIND("FEA1", "a Feather file; write it as .csv, say with pandas"),
    KIND("Obj\1", "an Avro file; write it as .csv, say with pandas"),
    KIND("\x80\4\x95", "a pickle of Python; write it as .csv, say with pandas"),
    KIND("MATLAB 5.0 MAT-file", "a file of MATLAB before 7.3; save it with -v7.3, or as .csv"),
    KIND("CDF\1", "a netCDF file of the classic kind; convert it: nccopy -k nc4 FILE NEW.nc"),
    KIND("CDF\2", "a netCDF file of the classic kind; convert it: nccopy -k nc4 FILE NEW.nc"),
    KIND("CDF\5", "a netCDF file of the classic kind; convert it: nccopy -k nc4 FILE NEW.nc"),
    KIND("SQLite format", "a database of SQLite; pipe a query: sqlite3 -csv FILE 'select ...'"),
    KIND(GZIP_MAGIC, "compressed twice; decompress it once: gzip -d FILE"),
    KIND("\xff\xfe\0\0", "UTF-32; convert it to UTF-8: iconv -f UTF-32 -t UTF-8 FILE"),
    KIND("\0\0\xfe\xff", "UTF-32; convert it to UTF-8: iconv -f UTF-32 -t UTF-8 FILE"),
    KIND("\xff\xfe", "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
    KIND("\xfe\xff", "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
};

static bool begins(const unsigned char *p, uint64_t count, const kind *k) {
  /* The fourth byte of a bzip2 file is its level; an empty bzip2 file continues with other
   * bytes. */
  if (memcmp(k->bytes, "BZh", 3) == 0)
    return count >= 10 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' && p[3] <= '9' &&
           (memcmp(p + 4, "1AY&SY", 6) == 0 || memcmp(p + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
  return count >= k->count && memcmp(p, k->bytes, k->count) == 0;
}

bool amped_magic_is_zstd(const void *bytes, uint64_t count) {
  const unsigned char *p = bytes;
  return count >= 4 && (memcmp(p, ZSTD_MAGIC, 4) == 0 ||
                        ((p[0] & 0xf0) == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0));
}

bool amped_magic_is_gzip(const void *bytes, uint64_t count) {
  return count >= 2 && memcmp(bytes, GZIP_MAGIC, 2) == 0;
}

const char *amped_magic_kind(const void *bytes, uint64_t count) {
  if (amped_magic_is_gzip(bytes, count))
    return "compressed with gzip; decompress it first: gzip -dc <FILE >NEW";
  if (amped_magic_is_zstd(bytes, count))
    return "compressed with zstd; decompress it first: zstd -dc <FILE >NEW";
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (begins(bytes, count, &kinds[i]))
      return kinds[i].what;
  return NULL;
}

bool amped_magic_is_json(const void *bytes, uint64_t count) {
  const char *p = bytes;
  uint64_t at = 0;
  while (at < count && (p[at] == '[' || p[at] == ' ' || p[at] == '\n' || p[at] == '\r'))
    at++;
  if (at == count || p[at] != '{')
    return false;
  for (at++; at < count && (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t');)
    at++;
  return at < count && p[at] == '"';
}

uint64_t amped_magic_read(const char *path, unsigned char bytes[AMPED_MAGIC_BYTES]) {
  const int fd = amped_file_open_regular(path);
  const ssize_t count = fd >= 0 ? read(fd, bytes, AMPED_MAGIC_BYTES) : 0;
  if (fd >= 0)
    (void)close(fd);
  return count > 0 ? (uint64_t)count : 0;
}

/* Detect UTF-16 without a byte order mark: ASCII text in which every other byte is 0. */
static const char *utf16_order(const unsigned char *p, uint64_t count) {
  if (count >= 4 && p[0] != 0 && p[1] == 0 && p[2] != 0 && p[3] == 0)
    return "LE";
  return count >= 4 && p[0] == 0 && p[1] != 0 && p[2] == 0 && p[3] != 0 ? "BE" : NULL;
}

amped_status amped_magic_check(const char *path, const void *text, uint64_t count) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (begins(text, count, &kinds[i]))
      return amped_error(AMPED_BAD_INPUT, path, "is not text but %s", kinds[i].what);
  if (amped_magic_is_zstd(text, count))
    return amped_error(AMPED_BAD_INPUT, path,
                       "is not text but compressed twice; decompress it once: zstd -d FILE");
  const char *order = utf16_order(text, count);
  if (order != NULL)
    return amped_error(
        AMPED_BAD_INPUT, path,
        "is not text but UTF-16; convert it to UTF-8: iconv -f UTF-16%s -t UTF-8 FILE", order);
  return AMPED_OK;
}
