/* Lines: queues of words and JSON objects, one per model. */
#include "session/lines.h"

#include <string.h>

#include "base/buffers.h"
#include "base/log.h"

/* A line that waits. */
typedef struct line {
  struct line *next;
  json_t *json; /* NULL: words only */
  char words[]; /* "": none */
} line;

typedef struct queue {
  line *first, *last;
  bool has_ended;
} queue;

struct amped_lines {
  bool has_output;
  amped_json *json;
  int models;
  int live, allowed; /* first model that has not ended; models whose lines may appear */
  queue *queues;     /* [models] */
};

static const char what[] = "the models' lines";

static void drop_first(queue *q) {
  line *l = q->first;
  q->first = l->next;
  json_decref(l->json);
  amped_free(l);
}

amped_status amped_lines_open(int models, bool has_output, amped_json *json, amped_lines **out) {
  *out = NULL;
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, what));
  (*out)->has_output = has_output;
  (*out)->json = json;
  (*out)->models = models;
  return amped_calloc(&(*out)->queues, (uint64_t)models, sizeof(queue), what);
}

void amped_lines_close(amped_lines *l) {
  if (l == NULL)
    return;
  for (int k = 0; k < l->models && l->queues != NULL; k++)
    amped_lines_drop(l, k);
  amped_free(l->queues);
  amped_free(l);
}

/* Print a line. Takes the reference to the object. */
static amped_status print(const amped_lines *l, const char *words, json_t *json) {
  for (const char *at = words; *at != '\0';) {
    const size_t length = strcspn(at, "\n");
    amped_say("%.*s", (int)length, at);
    at += length + (at[length] == '\n');
  }
  return json != NULL ? amped_json_line(l->json, json) : AMPED_OK;
}

/* Print the line, or let it wait. Takes the reference to the object; NULL: words only. */
static amped_status add(amped_lines *l, int model, const char *words, json_t *json) {
  queue *const q = &l->queues[model];
  line *one = NULL;
  if (model == l->live && model < l->allowed)
    return print(l, words, json);
  if (words[0] == '\0' && json == NULL)
    return AMPED_OK;
  const amped_status status = amped_alloc(&one, sizeof *one + strlen(words) + 1, 1, what);
  if (status != AMPED_OK) {
    json_decref(json);
    return status;
  }
  one->next = NULL;
  one->json = json;
  memcpy(one->words, words, strlen(words) + 1);
  if (q->first == NULL)
    q->first = one;
  else
    q->last->next = one;
  q->last = one;
  return AMPED_OK;
}

amped_status amped_lines_facts(amped_lines *l, int model, amped_facts *facts) {
  amped_status status = AMPED_OK;
  if (l->json != NULL && facts->json == NULL)
    return amped_facts_write(facts, l->json); /* out of memory */
  if (l->has_output)
    status = add(l, model, facts->words, l->json != NULL ? json_incref(facts->json) : NULL);
  amped_facts_free(facts);
  return status;
}

amped_status amped_lines_say(amped_lines *l, int model, const char *words) {
  return l->has_output ? add(l, model, words, NULL) : AMPED_OK;
}

void amped_lines_drop(amped_lines *l, int model) {
  while (l->queues != NULL && l->queues[model].first != NULL)
    drop_first(&l->queues[model]);
}

/* Print what may appear now. */
static amped_status flush(amped_lines *l) {
  for (; l->live < l->allowed; l->live++) {
    queue *const q = &l->queues[l->live];
    while (q->first != NULL) {
      const amped_status status = print(l, q->first->words, json_incref(q->first->json));
      drop_first(q);
      AMPED_TRY(status);
    }
    if (!q->has_ended)
      return AMPED_OK;
  }
  return AMPED_OK;
}

amped_status amped_lines_end(amped_lines *l, int model) {
  l->queues[model].has_ended = true;
  return flush(l);
}

amped_status amped_lines_allow(amped_lines *l, int models) {
  l->allowed = models < l->models ? models : l->models;
  return flush(l);
}
