/* close_results A B TOLERANCE: do two HDF5 files of the program hold the same numbers? Every
 * numeric dataset of A is in B, has the same extent there, and no element differs by more than
 * TOLERANCE times the largest size in A's dataset. NaN equals NaN. Prints the datasets that differ;
 * the exit status is 0 if there is none, 1 if there is one, 2 if a file cannot be read or A has no
 * numbers. */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct comparison {
  hid_t other;
  double tolerance;
  int datasets, different;
} comparison;

typedef struct numbers {
  hssize_t count;
  double *at;
} numbers;

static numbers read_numbers(hid_t file, const char *name) {
  numbers out = {.count = -1, .at = NULL};
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t space = set < 0 ? -1 : H5Dget_space(set);
  if (space >= 0) {
    out.count = H5Sget_simple_extent_npoints(space);
    out.at = malloc(sizeof *out.at * (out.count > 0 ? (size_t)out.count : 1));
    if (out.at == NULL ||
        H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.at) < 0)
      out.count = -1;
    (void)H5Sclose(space);
  }
  if (set >= 0)
    (void)H5Dclose(set);
  return out;
}

/* Largest difference of a and b over the largest size in a; infinite where one alone is no number.
 */
static double difference(const numbers *a, const numbers *b) {
  double most = 0.0;
  double size = 0.0;
  for (hssize_t i = 0; i < a->count; i++) {
    if (isnan(a->at[i]) && isnan(b->at[i]))
      continue;
    const double d = fabs(a->at[i] - b->at[i]);
    most = d <= most ? most : isnan(d) ? INFINITY : d;
    size = fmax(size, fabs(a->at[i]));
  }
  return most == 0.0 ? 0.0 : most / size;
}

static herr_t compare(hid_t file, const char *name, const H5O_info_t *info, void *self) {
  comparison *c = self;
  if (info->type != H5O_TYPE_DATASET)
    return 0;
  numbers a = read_numbers(file, name);
  if (a.count >= 0) {
    numbers b = read_numbers(c->other, name);
    c->datasets++;
    const double d = a.count == b.count ? difference(&a, &b) : INFINITY;
    if (!(d <= c->tolerance)) {
      c->different++;
      printf("/%s: differs by %.3g of its largest size, not %.3g\n", name, d, c->tolerance);
    }
    free(b.at);
  }
  free(a.at);
  return 0;
}

int main(int argc, char **argv) {
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  if (argc != 4) {
    fprintf(stderr, "usage: close_results A B TOLERANCE\n");
    return 2;
  }
  comparison c = {.tolerance = strtod(argv[3], NULL)};
  const hid_t a = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
  c.other = H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
  if (a < 0 || c.other < 0 || H5Ovisit(a, H5_INDEX_NAME, H5_ITER_NATIVE, compare, &c) < 0 ||
      c.datasets == 0) {
    fprintf(stderr, "close_results: %s or %s cannot be read, or holds no numbers\n", argv[1],
            argv[2]);
    return 2;
  }
  (void)H5Fclose(a);
  (void)H5Fclose(c.other);
  return c.different == 0 ? 0 : 1;
}
