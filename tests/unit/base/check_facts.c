/* Facts: words and members of one list, lists inside lists, and lines that are too long. */
#include <string.h>

#include "base/facts.h"
#include "tests/lib/testing.h"

/* Check the object's text, and free the list. */
static void has_members(amped_facts *facts, const char *want) {
  char *text = json_dumps(facts->json, JSON_COMPACT);
  ck_assert_str_eq(text, want);
  free(text);
  amped_facts_free(facts);
  ck_assert_ptr_null(facts->json);
}

START_TEST(words_and_members_keep_their_order) {
  amped_facts facts;
  amped_facts_begin(&facts, "sweep");
  amped_fact(&facts, "number", json_integer(3), "sweep %d", 3);
  amped_fact_json(&facts, "noise", json_real(0.5));
  amped_fact_words(&facts, "  of %s", "a run");
  amped_fact(&facts, "fit", json_real(0.25), "  fit %.2f", 0.25);
  ck_assert_str_eq(facts.words, "sweep 3  of a run  fit 0.25");
  amped_facts_say(&facts);
  ck_assert_str_eq(facts.words, "");
  has_members(&facts, "{\"event\":\"sweep\",\"number\":3,\"noise\":0.5,\"fit\":0.25}");
}

START_TEST(a_part_is_an_object_inside) {
  amped_facts facts;
  amped_facts part;
  amped_facts_begin(&facts, NULL);
  amped_facts_begin(&part, NULL);
  amped_fact(&part, "beta", json_real(1.5), "step %.1f", 1.5);
  amped_fact_words(&facts, "one, ");
  amped_facts_take(&facts, "step", &part);
  ck_assert_ptr_null(part.json);
  ck_assert_str_eq(facts.words, "one, step 1.5");
  has_members(&facts, "{\"step\":{\"beta\":1.5}}");
}

START_TEST(a_line_break_ends_the_line) {
  amped_facts facts;
  amped_facts_begin(&facts, NULL);
  amped_fact_words(&facts, "one, ");
  amped_fact(&facts, "n", json_integer(2), "two %s\n", "2");
  ck_assert_str_eq(facts.words, "");
  amped_fact_words(&facts, "%s", "three\n"); /* only the format decides */
  ck_assert_str_eq(facts.words, "three\n");
  has_members(&facts, "{\"n\":2}");
}

START_TEST(rows_make_a_list) {
  amped_facts facts;
  amped_facts row;
  amped_facts_begin(&facts, "table");
  for (int i = 0; i < 2; i++) {
    amped_facts_begin(&row, NULL);
    amped_fact(&row, "i", json_integer(i), "%4d", i);
    amped_facts_row(&facts, "rows", &row);
    ck_assert_ptr_null(row.json);
    amped_fact_item(&facts, "numbers", json_integer(i));
  }
  has_members(&facts, "{\"event\":\"table\",\"rows\":[{\"i\":0},{\"i\":1}],\"numbers\":[0,1]}");
}

START_TEST(a_missing_item_is_an_error) {
  amped_facts facts;
  amped_facts_begin(&facts, NULL);
  amped_fact_item(&facts, "numbers", json_integer(1));
  amped_fact_item(&facts, "numbers", NULL);
  ck_assert_ptr_null(facts.json);
  amped_fact_item(&facts, "numbers", json_integer(1)); /* does nothing */
  ck_assert_ptr_null(facts.json);
  amped_facts_free(&facts);
}

START_TEST(the_object_as_text) {
  amped_facts facts;
  amped_facts_begin(&facts, NULL);
  amped_fact_json(&facts, "rank", json_integer(4));
  char *text = amped_facts_text(&facts);
  ck_assert_str_eq(text, "{\"rank\":4}");
  free(text);
  amped_fact_json(&facts, "rank", json_integer(4));
  ck_assert_ptr_null(amped_facts_text(&facts));
}

START_TEST(long_words_are_cut) {
  amped_facts facts;
  amped_facts_begin(&facts, NULL);
  for (int i = 0; i < AMPED_FACTS_WORDS; i++)
    amped_fact_words(&facts, "ab");
  ck_assert_uint_eq(strlen(facts.words), AMPED_FACTS_WORDS - 1);
  amped_facts_free(&facts);
}

/* A value that could not be made takes the list with it, as a line without it would be false. */
START_TEST(a_missing_value_is_an_error) {
  amped_facts facts;
  amped_json *json = NULL;
  amped_facts_begin(&facts, "end");
  amped_fact_json(&facts, "text", NULL);
  amped_fact_json(&facts, "number", json_integer(1));
  ck_assert_ptr_null(facts.json);
  ck_assert_int_eq(amped_json_open("facts.json", &json), AMPED_OK);
  ck_assert_int_eq(amped_facts_write(&facts, json), AMPED_FAILED);
  amped_facts_begin(&facts, "end");
  ck_assert_int_eq(amped_facts_end(&facts, json, AMPED_USAGE), AMPED_USAGE);
  ck_assert_ptr_null(facts.json);
  amped_facts_begin(&facts, "end");
  ck_assert_int_eq(amped_facts_end(&facts, json, AMPED_OK), AMPED_OK);
  ck_assert_int_eq(amped_json_close(json, AMPED_OK), AMPED_OK);
  (void)remove("facts.json");
}

TESTING_MAIN("facts", words_and_members_keep_their_order, a_part_is_an_object_inside,
             a_line_break_ends_the_line, rows_make_a_list, a_missing_item_is_an_error,
             the_object_as_text, long_words_are_cut, a_missing_value_is_an_error)
