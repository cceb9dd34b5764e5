/* Facts: a JSON object and a line of text that grow together. */
#include "base/facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

void amped_facts_begin(amped_facts *facts, const char *event) {
  facts->words[0] = '\0';
  facts->waits = false;
  facts->json = json_object();
  if (event != NULL)
    amped_fact_json(facts, "event", json_string(event));
}

void amped_facts_free(amped_facts *facts) {
  json_decref(facts->json);
  facts->json = NULL;
  facts->words[0] = '\0';
}

/* Memory ran out: the object is no longer whole. */
static void lose(amped_facts *facts) {
  json_decref(facts->json);
  facts->json = NULL;
}

void amped_fact_json(amped_facts *facts, const char *key, json_t *value) {
  if (json_object_set_new(facts->json, key, value) != 0)
    lose(facts);
}

static void add_words(amped_facts *facts, const char *format, va_list arguments) {
  const size_t used = strlen(facts->words);
  const size_t length = strlen(format);
  (void)vsnprintf(facts->words + used, sizeof facts->words - used, format, arguments);
  if (!facts->waits && length > 0 && format[length - 1] == '\n')
    amped_facts_say(facts);
}

void amped_fact_words(amped_facts *facts, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_words(facts, format, arguments);
  va_end(arguments);
}

void amped_fact(amped_facts *facts, const char *key, json_t *value, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_words(facts, format, arguments);
  va_end(arguments);
  amped_fact_json(facts, key, value);
}

void amped_facts_take(amped_facts *facts, const char *key, amped_facts *part) {
  amped_fact(facts, key, json_incref(part->json), "%s", part->words);
  amped_facts_free(part);
}

void amped_facts_join(amped_facts *facts, amped_facts *part) {
  amped_fact_words(facts, "%s", part->words);
  if (json_object_update(facts->json, part->json) != 0)
    lose(facts);
  amped_facts_free(part);
}

void amped_fact_item(amped_facts *facts, const char *key, json_t *value) {
  if (json_object_get(facts->json, key) == NULL)
    amped_fact_json(facts, key, json_array());
  if (json_array_append_new(json_object_get(facts->json, key), value) != 0)
    amped_fact_json(facts, key, NULL);
}

void amped_facts_row(amped_facts *facts, const char *key, amped_facts *row) {
  amped_facts_say(row);
  amped_fact_item(facts, key, json_incref(row->json));
  amped_facts_free(row);
}

/* A function of the log that prints a line. */
typedef void print_line(const char *format, ...);

static void print_words(amped_facts *facts, print_line *print) {
  for (const char *line = facts->words; *line != '\0';) {
    const size_t length = strcspn(line, "\n");
    print("%.*s", (int)length, line);
    line += length + (line[length] == '\n');
  }
  amped_facts_silence(facts);
}

void amped_facts_say(amped_facts *facts) {
  print_words(facts, amped_say);
}

void amped_facts_note(amped_facts *facts) {
  print_words(facts, amped_note);
}

void amped_facts_silence(amped_facts *facts) {
  facts->words[0] = '\0';
}

amped_status amped_facts_write(amped_facts *facts, amped_json *json) {
  const amped_status status = amped_json_line(json, facts->json); /* takes the reference */
  facts->json = NULL;
  amped_facts_free(facts);
  return status;
}

amped_status amped_facts_end(amped_facts *facts, amped_json *json, amped_status status) {
  if (status == AMPED_OK)
    return amped_facts_write(facts, json);
  amped_facts_free(facts);
  return status;
}

char *amped_facts_text(amped_facts *facts) {
  char *text = facts->json != NULL ? json_dumps(facts->json, JSON_COMPACT) : NULL;
  amped_facts_free(facts);
  return text;
}
