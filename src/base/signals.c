/* Signals: handlers that end the process, or record the signal. */
#include "base/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/file_lock.h"
#include "base/log.h"

/* is_recorded: amped_signals_catch records the signal. */
static const struct {
  int number;
  const char *name;
  bool is_recorded;
} signals[] = {{.number = SIGINT, .name = "SIGINT (Ctrl-C)", .is_recorded = true},
               {.number = SIGTERM, .name = "SIGTERM", .is_recorded = true},
               {.number = SIGUSR1, .name = "SIGUSR1", .is_recorded = true},
               {.number = SIGHUP, .name = "SIGHUP", .is_recorded = false}};

#define SIGNALS (sizeof signals / sizeof signals[0])

static volatile sig_atomic_t caught;
static pthread_t main_thread;
static bool speaks;
static bool saves;
static const char *volatile saved = "nothing was saved";
static const char *advice = "";
static const volatile int *told;

static const char *name_of(int number) {
  for (size_t i = 0; i < SIGNALS; i++)
    if (signals[i].number == number)
      return signals[i].name;
  return "a signal";
}

/* Writes a text. Async-signal-safe, like the whole handler. */
static void put(const char *text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

/* Ends the process, on the main thread. This thread takes and releases locks, so their state does
 * not change while the handler runs. */
static void end(int number) {
  if (pthread_equal(pthread_self(), main_thread) == 0) {
    (void)pthread_kill(main_thread, number);
    return;
  }
  amped_draft_abandon();
  amped_file_lock_abandon();
  if (speaks && !amped_status_was_reported() && (told == NULL || *told == 0)) {
    put(amped_log_has_live_line() ? "\r\033[Kamped_mpi: ended by " : "amped_mpi: ended by ");
    put(name_of(number));
    put(saves ? "; " : "");
    put(saves ? saved : "");
    put(advice);
    put("\n");
  }
  (void)signal(number, SIG_DFL);
  (void)raise(number); /* delivered when the handler returns */
}

static void note(int number) {
  if ((caught != 0 && number == SIGINT) || (told != NULL && *told == AMPED_JOB_ENDS))
    end(number);
  else
    caught = number;
}

/* Set the handler of a signal, unless the signal is ignored. */
static amped_status set(int number, void (*handler)(int)) {
  struct sigaction action;
  struct sigaction old;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  (void)sigemptyset(&action.sa_mask);
  if (sigaction(number, NULL, &old) == 0 &&
      (old.sa_handler == SIG_IGN || sigaction(number, &action, NULL) == 0))
    return AMPED_OK;
  return amped_error_errno(AMPED_FAILED, errno, NULL, "signals cannot be caught");
}

amped_status amped_signals_watch(bool process_speaks, bool process_saves) {
  main_thread = pthread_self();
  speaks = process_speaks;
  saves = process_saves;
  for (size_t i = 0; i < SIGNALS; i++)
    AMPED_TRY(set(signals[i].number, end));
  return AMPED_OK;
}

void amped_signals_silence(const volatile int *number) {
  told = number;
}

void amped_signals_saved(const char *text) {
  saved = text;
}

void amped_signals_advise(const char *text) {
  advice = text;
}

amped_status amped_signals_catch(void) {
  for (size_t i = 0; i < SIGNALS; i++)
    if (signals[i].is_recorded)
      AMPED_TRY(set(signals[i].number, note));
  return AMPED_OK;
}

const char *amped_signals_caught(void) {
  return caught != 0 ? name_of(caught) : NULL;
}
