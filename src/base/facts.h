/* Facts: what a run says of one thing. Each fact stands once, with its words for the user and its
 * member for JSON. The words together make lines of the log, the members make one line of --json.
 */
#ifndef AMPED_FACTS_H
#define AMPED_FACTS_H

#include "base/json.h"

#define AMPED_FACTS_WORDS 8192 /* bytes of a line, with its end: more than a path takes */

/* A zeroed list is empty, and has no JSON object. */
typedef struct amped_facts {
  json_t *json; /* NULL: memory ran out */
  bool waits;   /* lines wait for amped_facts_say; begin sets false */
  char words[AMPED_FACTS_WORDS];
} amped_facts;

/* Begin a list. event: value of the member "event"; NULL: no such member. amped_facts_write or
 * amped_facts_free ends the list. */
void amped_facts_begin(amped_facts *facts, const char *event);
/* Accepts a zeroed or freed list. */
void amped_facts_free(amped_facts *facts);

/* Add a member and words. Takes the reference to value. If value is NULL, memory ran out, and
 * amped_facts_write says so. Words that do not fit in a line are cut. A format that ends with \n
 * prints the line, unless the list waits. */
void amped_fact(amped_facts *facts, const char *key, json_t *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Add a member without words. */
void amped_fact_json(amped_facts *facts, const char *key, json_t *value);
/* Add words without a member. */
void amped_fact_words(amped_facts *facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Add the members of `part` as one object, and its words. Frees part. */
void amped_facts_take(amped_facts *facts, const char *key, amped_facts *part);

/* Add the members of `part` beside the others, and its words. Frees part. */
void amped_facts_join(amped_facts *facts, amped_facts *part);

/* Append a value to the list that is the member `key`; the first call begins the list. Takes the
 * reference. If value is NULL, memory ran out. */
void amped_fact_item(amped_facts *facts, const char *key, json_t *value);
/* Print the words of a row of a table, append its members to the list `key` as one object, and free
 * the row. */
void amped_facts_row(amped_facts *facts, const char *key, amped_facts *row);

/* Print the words, if there are any, a line for each of their lines, and begin again without words.
 */
void amped_facts_say(amped_facts *facts);
/* The same for what the user did not ask for (amped_note). */
void amped_facts_note(amped_facts *facts);
/* Drop the words: the members stand in JSON alone. */
void amped_facts_silence(amped_facts *facts);
/* Write the object to --json's stream (json.h) and free the list. json may be NULL. */
amped_status amped_facts_write(amped_facts *facts, amped_json *json);
/* The same if status is AMPED_OK; otherwise free the list and return status. */
amped_status amped_facts_end(amped_facts *facts, amped_json *json, amped_status status);
/* The object as text, which the caller frees with free. Frees the list. NULL: memory ran out. */
char *amped_facts_text(amped_facts *facts);

#endif
