/* Rail facts: JSON, words and a warning. */
#include "session/rail_facts.h"

#include "base/log.h"
#include "tensor/format.h"

/* The rate of each rail, in the order of their numbers. */
static void rates_in_order(const amped_rail_rates *r, amped_facts *f) {
  const int told = r->rails < AMPED_TOLD_RAILS ? r->rails : AMPED_TOLD_RAILS;
  json_t *rates = json_array();
  for (int i = 0; i < told; i++) {
    (void)json_array_append_new(rates, amped_json_number(1e-9 * r->rate[i]));
    if (r->rails > 1)
      amped_fact_words(f, "%s%.3g", i > 0 ? ", " : "; in order: ", 1e-9 * r->rate[i]);
  }
  if (r->rails > told)
    amped_fact_words(f, ", ...");
  amped_fact_json(f, "gb_per_second", rates);
}

void amped_rail_facts(const amped_rail_rates *r, amped_facts *f) {
  amped_facts part;
  if (r->rails == 0) {
    amped_fact_json(f, "rails", json_null());
    return;
  }
  amped_facts_begin(&part, NULL);
  amped_fact_json(&part, "count", json_integer(r->rails));
  amped_fact_json(&part, "slowest", json_integer(r->slowest));
  amped_fact_json(&part, "slowest_gb_per_second", amped_json_number(1e-9 * r->least));
  amped_fact_json(&part, "fastest", json_integer(r->fastest));
  amped_fact_json(&part, "fastest_gb_per_second", amped_json_number(1e-9 * r->most));
  if (r->rails > 1)
    amped_fact_words(
        &part, "%d rails between nodes; slowest: rail %d, %.3g GB/s; fastest: rail %d, %.3g GB/s",
        r->rails, r->slowest, 1e-9 * r->least, r->fastest, 1e-9 * r->most);
  else
    amped_fact_words(&part, "1 rail between nodes, %.3g GB/s", 1e-9 * r->least);
  rates_in_order(r, &part);
  amped_facts_take(f, "rails", &part);
}

void amped_rail_facts_warn(const amped_rail_rates *r) {
  if (amped_rail_rates_differ(r))
    amped_warn(
        "rail %d, between the ranks with local rank %d of all nodes, reaches %.3g GB/s, rail "
        "%d %.3g; check which network card each rank uses (UCX: UCX_NET_DEVICES; Open MPI: "
        "btl_tcp_if_include)",
        r->slowest, r->slowest, 1e-9 * r->least, r->fastest, 1e-9 * r->most);
}
