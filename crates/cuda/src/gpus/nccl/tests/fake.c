/* A library with the functions of NCCL that the program uses, and nothing behind them: for tests of what the program does
   when calls take long, fail, or are too late. Built with -DVERSION=..., the number that it says of itself.

   A communicator's rank says how it behaves:
     rank 0: is in progress when asked the first three times after each group, then done
     rank 1: stays in progress for ever
     rank 2: fails asynchronously, once it is in a group with a send
     rank 3: cannot be made */
#include <stdlib.h>
#include <string.h>

enum { success = 0, system_error = 2, invalid_argument = 4, in_progress = 7 };
typedef struct { char internal[128]; } unique_id;
typedef struct { size_t size; unsigned magic, version; int blocking; } config;
typedef struct { int rank, asked, sends; } comm;

/* What tests read: how often each was called. */
int fake_aborts, fake_destroys, fake_depth, fake_sends;
static comm *all[64];
static int count;

int ncclGetVersion(int *version) { *version = VERSION; return success; }
#if VERSION >= 21400
int ncclGetUniqueId(unique_id *id) { memset(id, 42, sizeof *id); return success; }
int ncclCommInitRankConfig(comm **made, int ranks, unique_id id, int rank, const config *c) {
  if (c->size < 20 || c->magic != 0xcafebeef || c->version < 21400 || c->blocking != 0) return invalid_argument;
  if (id.internal[127] != 42 || rank >= ranks || fake_depth != 1) return invalid_argument;
  if (rank == 3) return system_error;
  comm *new = calloc(1, sizeof *new);
  new->rank = rank;
  *made = all[count++] = new;
  return in_progress;
}
int ncclCommFinalize(comm *c) { return c->rank == 0 ? success : in_progress; }
int ncclCommDestroy(comm *c) { (void)c; fake_destroys++; return success; }
int ncclCommAbort(comm *c) { (void)c; fake_aborts++; return success; }
int ncclCommGetAsyncError(comm *c, int *state) {
  *state = c->rank == 1 ? in_progress : c->rank == 2 && c->sends ? system_error : c->asked++ < 3 ? in_progress : success;
  return success;
}
const char *ncclGetErrorString(int code) { return code == system_error ? "unhandled system error" : "other"; }
const char *ncclGetLastError(comm *c) { (void)c; return "\n Call to connect failed\n"; }
int ncclGroupStart(void) { fake_depth++; return success; }
int ncclGroupEnd(void) {
  for (int i = 0; i < count; i++) all[i]->asked = 0;
  return --fake_depth == 0 ? in_progress : invalid_argument;
}
int ncclSend(const void *p, size_t n, int type, int peer, comm *c, void *stream) {
  (void)p; (void)peer; (void)stream;
  if (type != 1 || n != 24 || fake_depth != 1) return invalid_argument;
  c->sends++, fake_sends++;
  return success;
}
int ncclRecv(void *p, size_t n, int type, int peer, comm *c, void *stream) { return ncclSend(p, n, type, peer, c, stream); }
#endif
