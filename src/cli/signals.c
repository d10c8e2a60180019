/* Signals that ask a run to end. Readers and analyses ask rs_signal_came between two pieces of work; one that is
 * blocked in a read (a pipe, a FIFO, a network mount that is gone) never comes to ask. So a thread of its own
 * waits for the first signal, gives the run a moment to end by itself, and then ends it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define GRACE 1      /* seconds */
#define TWICE 250000 /* us: `timeout` signals the process and then its group, which is one wish */

static volatile sig_atomic_t signal_number;
static volatile sig_atomic_t seconds, microseconds; /* of the first one */
static int came[2] = {-1, -1};                      /* a pipe: what a handler may write to */

static bool is_same_wish(const struct timespec *now)
{
    int64_t since = ((int64_t)now->tv_sec - seconds) * 1000000 + now->tv_nsec / 1000 - microseconds;
    return since >= 0 && since < TWICE;
}

static void on_signal(int number)
{
    int held = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (is_same_wish(&now)) {
        errno = held;
        return;
    }
    if (!signal_number) {
        seconds = (sig_atomic_t)now.tv_sec;
        microseconds = (sig_atomic_t)(now.tv_nsec / 1000);
        signal_number = number;
        ssize_t written = write(came[1], "", 1); /* without a watcher no one reads it */
        (void)written;
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = held;
}

bool rs_signal_came(void)
{
    return signal_number != 0;
}

void rs_signal_forget(void)
{
    signal_number = 0;
}

void rs_signal_repeat(void)
{
    if (!signal_number) return;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void *watch(void *unused)
{
    struct timespec grace = {.tv_sec = GRACE};
    (void)unused;
    for (;;) {
        char byte;
        while (read(came[0], &byte, 1) != 1) {
        }
        while (nanosleep(&grace, &grace) != 0 && errno == EINTR) {
        }
        grace = (struct timespec){.tv_sec = GRACE};
        int number = signal_number;
        if (!number) continue; /* it was dealt with */
        rs_output_abandon();
        signal(number, SIG_DFL);
        kill(getpid(), number);
    }
    return NULL;
}

/* The thread must get no signal itself: it is the others' calls that a signal is to interrupt. */
static void start_watching(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (pipe(came) != 0) return;
    for (int i = 0; i < 2; i++) fcntl(came[i], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void rs_signals_install(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    start_watching();
    for (size_t i = 0; i < 3; i++) {
        struct sigaction action = {.sa_handler = on_signal}, old;
        /* what the caller ignores (nohup) stays ignored */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}
