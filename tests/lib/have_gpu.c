/* Is there a GPU that the program can use? make check-gpu fails where there is none. */
#include <stdio.h>

#include "backend/backend.h"

int main(void) {
  const amped_backend *cuda = amped_backend_find("cuda");
  const char *reason = "built without CUDA; configure --with-cuda";
  if (cuda != NULL && cuda->device->available(&reason)) {
    (void)puts("the tests run on the GPU");
    return 0;
  }
  (void)fprintf(stderr, "make check-gpu: no GPU for the tests: %s\n", reason);
  return 1;
}
