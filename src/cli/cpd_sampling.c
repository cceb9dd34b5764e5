/* Checks and reports of --method=rbs, and the choice to leave a tensor in its file. */
#include "cli/cpd_sampling.h"

#include <inttypes.h>

#include "base/facts.h"
#include "base/system_memory.h"
#include "cli/commands.h"
#include "plan/dense_passes.h"
#include "tensor/format.h"

/* Share of the free memory that a tensor may take before it stays in its file. */
#define FREE_SHARE 0.9

bool amped_cpd_samples(const amped_options *o) {
  return o->cpd.method == AMPED_CPD_RBS;
}

/* --- checks ----------------------------------------------------------------------------------- */

bool amped_cpd_sampling_left_outside(const amped_session *session, const amped_options *o,
                                     const amped_requirement *required) {
  const uint64_t bytes = required->host_bytes;
  const uint64_t allowed = o->rbs.memory;
  if (!amped_cpd_samples(o) || o->rbs.sampler == AMPED_SAMPLE_BLOCKS)
    return false;
  const double node = (double)amped_comm_node_sum(&session->comm, bytes);
  const double room = FREE_SHARE * (double)amped_mem_node_available();
  uint64_t over = bytes + required->device_bytes > allowed;
  if (allowed == 0)
    over =
        (room > 0.0 && node > room) || (double)bytes > FREE_SHARE * (double)amped_mem_limit_left();
  amped_comm_sum_u64(&session->comm, &over, 1);
  return over > 0;
}

amped_status amped_cpd_sampling_check_plan(const amped_session *session, const amped_options *o,
                                           const amped_plan *plan) {
  const amped_worker *worker = &session->worker;
  amped_rbs_settings settings;
  uint64_t bytes[2] = {0, 0};
  if (!amped_cpd_samples(o))
    return AMPED_OK;
  if (!session->is_dense)
    return amped_error(AMPED_USAGE, o->session.input,
                       "is a sparse tensor, and --method=rbs is for dense ones; leave it out, or "
                       "make a dense tensor with amped_mpi convert --dense");
  if (!amped_cpd_rbs_is_possible(worker))
    return amped_error(AMPED_USAGE, NULL, "--method=rbs needs --backend=cpu here");
  if (plan->dense.outside && o->cpd.corcondia)
    return amped_error(
        AMPED_USAGE, o->session.input,
        "stays in its file, and --corcondia needs it in memory; leave out --corcondia");
  AMPED_TRY(amped_rbs_settings_make(&o->rbs, plan, &settings));
  return amped_cpd_rbs_require(worker, plan, &settings, &bytes[0], &bytes[1]);
}

void amped_cpd_sampling_require(const amped_worker *worker, const amped_options *o,
                                const amped_plan *plan, uint64_t *device_bytes,
                                uint64_t *host_bytes) {
  amped_rbs_settings settings;
  if (amped_cpd_samples(o) && amped_cpd_rbs_is_possible(worker) && /* otherwise it is refused */
      amped_rbs_settings_make(&o->rbs, plan, &settings) == AMPED_OK)
    (void)amped_cpd_rbs_require(worker, plan, &settings, device_bytes, host_bytes);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void facts_of(const amped_plan *plan, const amped_rbs_settings *s, amped_facts *f) {
  const amped_block_shape most = amped_rbs_sample_most(&s->shape);
  const double share = amped_rbs_epoch_share(s);
  char dims[AMPED_DIMS_TEXT];
  amped_fact_json(f, "sample", json_string(s->shape.slices ? "slices" : "blocks"));
  amped_fact_json(f, "block", amped_json_count(s->block));
  amped_fact(f, "count", amped_json_count(s->shape.count), "sampling: %" PRIu64, s->shape.count);
  amped_fact_json(f, "passes_an_epoch", amped_json_number(share));
  if (s->shape.slices)
    amped_fact_words(f,
                     " groups of about %" PRIu64
                     " random slices of mode %d; an epoch, a sweep below, visits all\n",
                     s->block, s->shape.mode + 1);
  else
    amped_fact_words(f,
                     " blocks of at most %s random indices; an epoch, a sweep below, visits them, "
                     "%.3g %% of the cells\n",
                     amped_format_dims(dims, plan->order, most.dims), 100.0 * share);
  amped_fact(f, "epochs", amped_json_count(s->epochs), "epochs: at most %" PRIu64, s->epochs);
  amped_fact(f, "search", amped_json_count(s->search), ", steps restricted after %" PRIu64,
             s->search);
  amped_fact(f, "fit_cells", amped_json_count(s->fit_cells), "; fits of %" PRIu64 " random cells",
             s->fit_cells);
  amped_fact_json(f, "polish", amped_json_count(s->polish));
  if (s->polish > 0)
    amped_fact_words(f, "; then at most %" PRIu64 " sweeps over the whole tensor\n", s->polish);
  else
    amped_fact_words(f, "; then one pass for the fit of all cells\n");
}

amped_status amped_cpd_sampling_set(amped_session *session, const amped_options *o,
                                    amped_rbs_settings *settings) {
  const amped_plan *plan = &session->plan;
  amped_facts f;
  if (!amped_cpd_samples(o))
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(&session->comm, amped_rbs_settings_make(&o->rbs, plan, settings)));
  amped_facts_begin(&f, "sampling");
  facts_of(plan, settings, &f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}
