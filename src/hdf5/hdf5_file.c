/* HDF5 files: opening, creating, closing, links and groups; HDF5's errors become status and
 * line. */
#include "hdf5/hdf5_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/magic.h"
#include "base/mem.h"

/* HDF5 1.10.7 and later, 1.12.1 and later, have H5Pset_file_locking. */
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
#define HAVE_FILE_LOCKING 1
#endif

/* HDF5 does not survive every failed allocation. So a file is opened or created only if this much
 * memory is free: more than HDF5 needs. Chunks are not included: AMPED allocates them. */
#define ROOM_BYTES (UINT64_C(8) << 20)

/* If HDF5 is thread-safe, every thread has its own error stack, which prints. */
void amped_hdf5_begin(void) {
  static _Thread_local bool quiet;
  if (!quiet)
    quiet = H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0;
  errno = 0;
}

static amped_status start_library(const char *path) {
  static bool started;
  if (!amped_mem_has(ROOM_BYTES))
    return amped_error(AMPED_FAILED, path,
                       "out of memory: opening it takes some MiB; use a machine with more memory, "
                       "or allow more (ulimit -v)");
  if (started) {
    amped_hdf5_begin();
    return AMPED_OK;
  }
  /* No clean-up at exit: after a failed write (full disk) the library would write again there. */
  errno = 0;
  (void)H5dont_atexit();
  /* Load no plugins: a file could ask for their code. */
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 || H5PLset_loading_state(0) < 0)
    return amped_error(AMPED_FAILED, path,
                       errno == ENOMEM ? "out of memory: HDF5 cannot be started"
                                       : "HDF5 cannot be started; check its installation");
  started = true;
  return AMPED_OK;
}

/* Cause of a failure, from HDF5's error stack. The stack may be empty if memory ran out; errno then
 * shows it. */
typedef struct cause {
  const char *text; /* text of the innermost record, the real cause */
  bool no_memory;
  bool newer; /* part of the file has a version that this library does not know */
} cause;

static herr_t look_at(unsigned n, const H5E_error2_t *error, void *out) {
  cause *r = out;
  const char *text = error->desc != NULL ? error->desc : "";
  if (n == 0 && text[0] != '\0')
    r->text = text;
  /* Property lists and IDs are in memory, so no file can damage them: their errors mean that memory
   * ran out. (Numbers of errors of IDs have other names in newer versions.) */
  r->no_memory = r->no_memory || error->min_num == H5E_NOSPACE ||
                 (n == 0 && error->maj_num == H5E_PLIST) ||
                 (n == 0 && strcmp(text, "can't locate ID") == 0) ||
                 (error->min_num == H5E_CANTALLOC && error->maj_num == H5E_RESOURCE);
  r->newer = r->newer || error->min_num == H5E_VERSION || strstr(text, "version") != NULL;
  return 0;
}

static amped_status no_memory(amped_hdf5 *file, const char *what, const char *name,
                              const char *text) {
  file->no_memory = true;
  return amped_error(
      AMPED_FAILED, file->path,
      "out of memory: %s %s cannot be %s (HDF5: %s); use a machine with more memory, "
      "or allow more (ulimit -v)",
      what, name, file->writing ? "written" : "read", text);
}

amped_status amped_hdf5_failed(amped_hdf5 *file, const char *what, const char *name) {
  char text[160];
  cause r = {.text = "no reason given", .no_memory = errno == ENOMEM, .newer = false};
  (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at, &r);
  (void)snprintf(text, sizeof text, "%s", file->io.error != 0 ? strerror(file->io.error) : r.text);
  file->library_failed = true;
  if (file->io.changed)
    return amped_file_changed(file->path);
  if (r.no_memory)
    return no_memory(file, what, name, text);
  if (file->writing)
    return amped_error(AMPED_FAILED, file->path,
                       "%s %s cannot be written (HDF5: %s); free disk space or name another "
                       "file",
                       what, name, text);
  if (file->io.error == EIO)
    return amped_error(AMPED_FAILED, file->path,
                       "%s %s cannot be read (input/output error); check the disk", what, name);
  if (r.newer)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "%s %s is in a newer format than HDF5 %d.%d.%d here reads (HDF5: %s); write "
                       "the file for older readers (in h5py: libver='v110'), or build with a newer "
                       "HDF5",
                       what, name, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, text);
  return amped_error(AMPED_BAD_INPUT, file->path,
                     "%s %s cannot be read (HDF5: %s); the file is damaged, make it again", what,
                     name, text);
}

/* File access list: metadata have checksums; only our driver is used, even if the environment names
 * another. */
static hid_t access_list(amped_hdf5 *file) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  if (list < 0)
    return list;
  bool fine = amped_hdf5_driver_set(list, &file->io) &&
              H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) >= 0 &&
              H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0;
#ifdef HAVE_FILE_LOCKING
  /* No locks: files appear complete, by rename, and some file systems have no locks. */
  fine = fine && H5Pset_file_locking(list, false, true) >= 0;
#endif
  if (fine)
    return list;
  (void)H5Pclose(list);
  return H5I_INVALID_HID;
}

/* Is HDF5's signature at the beginning, or behind a user block of 512 bytes, 1024, and so on? */
static bool has_signature(int fd, uint64_t bytes) {
  static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char found[8];
  bool is_hdf5 = false;
  for (uint64_t at = 0; !is_hdf5 && at < bytes && at < INT64_MAX / 2; at = at == 0 ? 512 : 2 * at)
    is_hdf5 = pread(fd, found, sizeof found, (off_t)at) == (ssize_t)sizeof found &&
              memcmp(found, signature, sizeof found) == 0;
  return is_hdf5;
}

bool amped_hdf5_is(const char *path) {
  const int fd = amped_file_open_regular(path);
  const bool is = fd >= 0 && has_signature(fd, amped_file_stamp_take(fd).bytes);
  if (fd >= 0)
    (void)close(fd);
  return is;
}

static amped_status check_signature(int fd, const char *path, uint64_t bytes) {
  unsigned char first[AMPED_MAGIC_BYTES];
  if (has_signature(fd, bytes))
    return AMPED_OK;
  const ssize_t count = pread(fd, first, sizeof first, 0);
  const char *kind = amped_magic_kind(first, count > 0 ? (uint64_t)count : 0);
  return kind == NULL ? amped_error(AMPED_BAD_INPUT, path,
                                    "is not an HDF5 file; make one with amped_mpi convert")
                      : amped_error(AMPED_BAD_INPUT, path, "is not an HDF5 file but %s", kind);
}

static void begin(int fd, const char *path, amped_hdf5 *out) {
  memset(out, 0, sizeof *out);
  out->path = path;
  out->io.fd = fd;
}

amped_status amped_hdf5_open_trusted(int fd, const char *path, const amped_file_stamp *stamp,
                                     amped_hdf5 *out) {
  begin(fd, path, out);
  out->bytes = amped_file_stamp_take(fd).bytes;
  if (stamp != NULL)
    out->io.stamp = *stamp;
  out->io.watched = stamp != NULL;
  AMPED_TRY(check_signature(fd, path, out->bytes));
  AMPED_TRY(start_library(path));
  hid_t list = access_list(out);
  if (list < 0)
    return amped_hdf5_failed(out, "the file", "access list");
  out->id = H5Fopen(path, H5F_ACC_RDONLY, list);
  out->open = out->id >= 0;
  amped_status status = out->open ? AMPED_OK : amped_hdf5_failed(out, "the", "HDF5 file");
  (void)H5Pclose(list);
  return status;
}

static void free_chunk(amped_hdf5 *file) {
  amped_hdf5_io_end(&file->io);
  amped_free(file->chunk);
  file->chunk = NULL;
  file->chunk_bytes = 0;
}

void amped_hdf5_close(amped_hdf5 *file) {
  if (file->open) {
    amped_hdf5_begin();
    (void)H5Fclose(file->id);
  }
  file->open = false;
  if (file->owns_fd)
    (void)close(file->io.fd);
  file->owns_fd = false;
  free_chunk(file);
}

amped_status amped_hdf5_create(int fd, const char *path, amped_hdf5 *out) {
  amped_status status = AMPED_OK;
  begin(fd, path, out);
  out->writing = true;
  AMPED_TRY(start_library(path));
  hid_t access = access_list(out);
  hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  if (access >= 0 && creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0) {
    out->id = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    out->open = out->id >= 0;
  }
  if (!out->open)
    status = amped_hdf5_failed(out, "the", "HDF5 file");
  if (creation >= 0)
    (void)H5Pclose(creation);
  if (access >= 0)
    (void)H5Pclose(access);
  return status;
}

amped_status amped_hdf5_finish(amped_hdf5 *file) {
  amped_status status = amped_hdf5_put_seal(file);
  if (!amped_hdf5_io_wait(&file->io) && status == AMPED_OK)
    status = amped_hdf5_failed(file, "the", "HDF5 file");
  free_chunk(file);
  if (H5Fflush(file->id, H5F_SCOPE_LOCAL) < 0 && status == AMPED_OK)
    status = amped_hdf5_failed(file, "the", "HDF5 file");
  file->open = false;
  if (H5Fclose(file->id) < 0 && status == AMPED_OK)
    status = amped_hdf5_failed(file, "the", "HDF5 file");
  return status;
}

/* Check one step of a name: does the link exist, and is it hard? */
static amped_status check_step(amped_hdf5 *file, const char *step, bool *exists) {
  H5L_info_t info;
  htri_t found = H5Lexists(file->id, step, H5P_DEFAULT);
  *exists = found > 0;
  if (found < 0)
    return amped_hdf5_failed(file, "link", step);
  if (found == 0)
    return AMPED_OK;
  if (H5Lget_info(file->id, step, &info, H5P_DEFAULT) < 0)
    return amped_hdf5_failed(file, "link", step);
  if (info.type != H5L_TYPE_HARD)
    return amped_error(AMPED_BAD_INPUT, file->path,
                       "%s is a soft or external link, which is not followed; copy what it names "
                       "into the file",
                       step);
  return AMPED_OK;
}

amped_status amped_hdf5_read_back(amped_status status, const char *path) {
  if (status == AMPED_OK || status == AMPED_FAILED) /* memory ran out, or the disk fails */
    return status;
  amped_status_clear();
  return amped_error(AMPED_FAILED, path,
                     "cannot be written: it does not read back as it was written; free disk space "
                     "or name another file");
}

amped_status amped_hdf5_exists(amped_hdf5 *file, const char *name, bool *out) {
  char step[AMPED_HDF5_NAME];
  amped_hdf5_begin();
  size_t length = strlen(name);
  *out = true;
  if (length >= sizeof step)
    return amped_error(AMPED_FAILED, file->path, "the name %s is too long", name);
  for (size_t i = 1; i <= length && *out; i++) {
    if (i == 1 && length == 1) /* the root */
      break;
    if (name[i] != '/' && name[i] != '\0')
      continue;
    memcpy(step, name, i);
    step[i] = '\0';
    AMPED_TRY(check_step(file, step, out));
  }
  return AMPED_OK;
}

amped_status amped_hdf5_same(amped_hdf5 *file, const char *a, const char *b, bool *out) {
  H5L_info_t info[2];
  if (H5Lget_info(file->id, a, &info[0], H5P_DEFAULT) < 0)
    return amped_hdf5_failed(file, "link", a);
  if (H5Lget_info(file->id, b, &info[1], H5P_DEFAULT) < 0)
    return amped_hdf5_failed(file, "link", b);
#if H5_VERSION_GE(1, 12, 0)
  int order = 0;
  if (H5Otoken_cmp(file->id, &info[0].u.token, &info[1].u.token, &order) < 0)
    return amped_hdf5_failed(file, "link", b);
  *out = order == 0;
#else
  *out = info[0].u.address == info[1].u.address;
#endif
  return AMPED_OK;
}

amped_status amped_hdf5_make_group(amped_hdf5 *file, const char *name) {
  hid_t group = H5I_INVALID_HID;
  hid_t list = H5Pcreate(H5P_GROUP_CREATE);
  if (list >= 0 && H5Pset_obj_track_times(list, false) >= 0)
    group = H5Gcreate2(file->id, name, H5P_DEFAULT, list, H5P_DEFAULT);
  amped_status status =
      group < 0 || H5Gclose(group) < 0 ? amped_hdf5_failed(file, "group", name) : AMPED_OK;
  if (list >= 0)
    (void)H5Pclose(list);
  return status;
}

amped_status amped_hdf5_link(amped_hdf5 *file, const char *target, const char *name) {
  if (H5Lcreate_hard(file->id, target, file->id, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
    return amped_hdf5_failed(file, "link", name);
  return AMPED_OK;
}
