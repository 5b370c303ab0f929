/* SPDX-License-Identifier: BSD-3-Clause
 * Exhaustive checks of the protocol's rules over tiny models. Each rule has naive variants, which must break, and the
 * variant with the rule, which must hold:
 *
 *   reuse       half-buffers used in turn may be overwritten only after credit, unless in each operation every rank
 *               sends a line to every other, and every block finishes an operation before any begins the next
 *   commit      an in-place exchange that may park writes only after all that it reads has arrived
 *   handshake   a kernel that leaves announces it, fences, and looks again for work, over store buffers */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- breadth-first search ---- */

#define MAX_STATES (1 << 16)

struct search {
    size_t bytes; /* of a state; states hold no padding */
    unsigned count;
    char *states;
    unsigned *table; /* 2 * MAX_STATES entries: state + 1 */
};

static void emit(struct search *s, const void *state)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < s->bytes; i++)
        h = (h ^ ((const unsigned char *) state)[i]) * 1099511628211u;
    for (h ^= h >> 32;; h++) {
        unsigned *entry = &s->table[h % (2 * MAX_STATES)];
        if (0 == *entry) {
            if (s->count == MAX_STATES) {
                fprintf(stderr, "too many states\n");
                exit(1);
            }
            memcpy(s->states + s->bytes * s->count, state, s->bytes);
            *entry = ++s->count;
            return;
        }
        if (0 == memcmp(s->states + s->bytes * (*entry - 1), state, s->bytes)) return;
    }
}

/* next emits all successors of a state; bad names what is wrong with it. */
struct model {
    const void *variant;
    size_t bytes;
    void (*next)(struct search *s, const void *variant, const void *state);
    const char *(*bad)(const void *variant, const void *state);
};

/* What is wrong with the first bad state that can be reached from initial, NULL if none can. */
static const char *explore(const struct model *m, const void *initial, unsigned *states)
{
    struct search s = {.bytes = m->bytes};
    const char *bad = NULL;

    s.states = malloc(m->bytes * MAX_STATES);
    s.table = calloc(2 * MAX_STATES, sizeof(*s.table));
    if (!s.states || !s.table) exit(1);
    emit(&s, initial);
    for (unsigned i = 0; i < s.count && !bad; i++) {
        const char *state = s.states + s.bytes * i;
        bad = m->bad(m->variant, state);
        if (!bad) m->next(&s, m->variant, state);
    }
    *states = s.count;
    free(s.states);
    free(s.table);
    return bad;
}

static int failures;

static void expect(const char *name, const struct model *m, const void *initial, int breaks)
{
    unsigned states;
    const char *bad = explore(m, initial, &states);

    printf("%-52s %6u states: %s\n", name, states, bad ? bad : "holds");
    if (!bad == !breaks) return;
    fprintf(stderr, "%s: should %s\n", name, breaks ? "break" : "hold");
    failures++;
}

/* ---- reuse of half-buffers ---- */

#define MAX_WORKERS 6 /* (rank, block) */
#define MAX_LANES 24  /* (receiver, sender, block, half) */

struct reuse_op {
    char kind; /* 'A': all to all; '0', '1': broadcast from that rank; 'a', 'b': the same, and block 0 of each rank
                * sends lines without data to those that get none, and awaits theirs */
    uint8_t blocks;
};

struct reuse {
    int ranks, blocks, nops;
    struct reuse_op op[5];
    int boundary; /* a rank's blocks finish an operation before any begins the next */
    int credit;   /* a sender waits until the reader has released the half-buffer */
};

struct reuse_state {
    uint8_t pc[MAX_WORKERS], mem[MAX_LANES], released[MAX_LANES]; /* 1 + number of the operation */
};

struct action {
    int op, send, peer; /* op == nops: finished */
};

static int lane_of(const struct reuse *v, int receiver, int sender, int block, int op)
{
    return ((receiver * v->ranks + sender) * v->blocks + block) * 2 + op % 2;
}

/* Action number pc of a worker: for each operation of its block first the sends, then the receives. */
static struct action action_at(const struct reuse *v, int rank, int block, int pc)
{
    for (int op = 0; op < v->nops; op++) {
        int told = v->op[op].kind >= 'a', root = v->op[op].kind - (told ? 'a' : '0');
        for (int send = 1; send >= 0 && block < v->op[op].blocks; send--) {
            for (int peer = 0; peer < v->ranks; peer++) {
                int takes_part = 'A' == v->op[op].kind || (send ? rank : peer) == root || (told && 0 == block);
                if (peer != rank && takes_part && 0 == pc--) return (struct action){op, send, peer};
            }
        }
    }
    return (struct action){v->nops, 0, 0};
}

static int reuse_may_run(const struct reuse *v, const struct reuse_state *s, int rank, struct action a, int block)
{
    for (int b = 0; b < v->blocks && v->boundary; b++) {
        if (action_at(v, rank, b, s->pc[rank * v->blocks + b]).op < a.op) return 0;
    }
    int lane = a.send ? lane_of(v, a.peer, rank, block, a.op) : lane_of(v, rank, a.peer, block, a.op);
    if (!a.send) return s->mem[lane] == a.op + 1;
    return !v->credit || s->released[lane] >= s->mem[lane];
}

static int reuse_count(const struct reuse *v, const struct reuse_state *s, struct search *out)
{
    int runnable = 0;

    for (int rank = 0; rank < v->ranks; rank++) {
        for (int block = 0; block < v->blocks; block++) {
            int worker = rank * v->blocks + block;
            struct action a = action_at(v, rank, block, s->pc[worker]);
            if (a.op == v->nops || !reuse_may_run(v, s, rank, a, block)) continue;
            runnable++;
            struct reuse_state t = *s;
            t.pc[worker]++;
            if (a.send) {
                t.mem[lane_of(v, a.peer, rank, block, a.op)] = (uint8_t) (a.op + 1);
            } else {
                t.released[lane_of(v, rank, a.peer, block, a.op)] = (uint8_t) (a.op + 1);
            }
            if (out) emit(out, &t);
        }
    }
    return runnable;
}

static void reuse_next(struct search *out, const void *variant, const void *state) { reuse_count(variant, state, out); }

static const char *reuse_bad(const void *variant, const void *state)
{
    const struct reuse *v = variant;
    const struct reuse_state *s = state;
    int unfinished = 0;

    for (int worker = 0; worker < v->ranks * v->blocks; worker++) {
        int rank = worker / v->blocks, block = worker % v->blocks;
        for (int pc = s->pc[worker];; pc++) {
            struct action a = action_at(v, rank, block, pc);
            if (a.op == v->nops) break;
            unfinished = 1;
            if (!a.send && s->mem[lane_of(v, rank, a.peer, block, a.op)] > a.op + 1) return "overrun";
        }
    }
    return unfinished && 0 == reuse_count(v, s, NULL) ? "deadlock" : NULL;
}

static void check_reuse(void)
{
    static const struct {
        const char *name;
        struct reuse v;
        int breaks;
    } cases[] = {
        {"reuse: A A A A, 2 ranks", {2, 1, 4, {{'A', 1}, {'A', 1}, {'A', 1}, {'A', 1}}, 1, 0}, 0},
        {"reuse: A A A A, 3 ranks", {3, 1, 4, {{'A', 1}, {'A', 1}, {'A', 1}, {'A', 1}}, 1, 0}, 0},
        {"reuse: B B B, 2 ranks", {2, 1, 3, {{'0', 1}, {'0', 1}, {'0', 1}}, 1, 0}, 1},
        {"reuse: A B A, 2 ranks", {2, 1, 3, {{'A', 1}, {'0', 1}, {'A', 1}}, 1, 0}, 1},
        {"reuse: A B A, 3 ranks", {3, 1, 3, {{'A', 1}, {'0', 1}, {'A', 1}}, 1, 0}, 1},
        {"reuse: 2, 1, 2 blocks, no boundary", {2, 2, 3, {{'A', 2}, {'A', 1}, {'A', 2}}, 0, 0}, 1},
        {"reuse: 2, 1, 2 blocks, boundary", {2, 2, 3, {{'A', 2}, {'A', 1}, {'A', 2}}, 1, 0}, 0},
        {"reuse: A B A told, 2 ranks", {2, 1, 3, {{'A', 1}, {'a', 1}, {'A', 1}}, 1, 0}, 0},
        {"reuse: A B0 B0 B1 A told, 2 blocks, 2 ranks",
         {2, 2, 5, {{'A', 2}, {'a', 2}, {'a', 1}, {'b', 2}, {'A', 2}}, 1, 0},
         0},
        {"reuse: A B1 B0 A told, 3 ranks", {3, 1, 4, {{'A', 1}, {'b', 1}, {'a', 1}, {'A', 1}}, 1, 0}, 0},
        {"reuse: B B B told, no boundary, 2 blocks", {2, 2, 3, {{'a', 2}, {'a', 2}, {'a', 2}}, 0, 0}, 1},
        {"reuse: A B0 A B1 A with credit, 2 ranks",
         {2, 1, 5, {{'A', 1}, {'0', 1}, {'A', 1}, {'1', 1}, {'A', 1}}, 1, 1},
         0},
        {"reuse: A B B A with credit, 3 ranks", {3, 1, 4, {{'A', 1}, {'0', 1}, {'0', 1}, {'A', 1}}, 1, 1}, 0},
        {"reuse: 2, 1, 2 blocks, no boundary, with credit", {2, 2, 3, {{'A', 2}, {'A', 1}, {'A', 2}}, 0, 1}, 0},
    };
    static const struct reuse_state initial;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct model m = {&cases[i].v, sizeof(struct reuse_state), reuse_next, reuse_bad};
        expect(cases[i].name, &m, &initial, cases[i].breaks);
    }
}

/* ---- commit point of an in-place exchange ---- */

/* Two ranks exchange two lines and add, in place. Rank 0 may park once and then sends all lines again, because before
 * its commit point a step may be tried again from its start. */
enum { TO_SEND, TO_RECV, ADDED };

struct commit_state {
    uint8_t arrived[2][2], buf[2][2], phase[2][2]; /* [rank][line] */
    uint8_t parked;
};

static int all_arrived(const struct commit_state *s, int rank) { return s->arrived[rank][0] && s->arrived[rank][1]; }

static void commit_park(struct search *out, int commit, const struct commit_state *s)
{
    const uint8_t *phase = s->phase[0];
    int sent = phase[0] != TO_SEND && phase[1] != TO_SEND, added = (ADDED == phase[0]) + (ADDED == phase[1]);

    if (s->parked || !sent || 2 == added || (commit && added > 0)) return;
    struct commit_state t = *s;
    t.parked = 1;
    t.phase[0][0] = t.phase[0][1] = TO_SEND;
    emit(out, &t);
}

static void commit_next(struct search *out, const void *variant, const void *state)
{
    const struct commit_state *s = state;
    int commit = *(const int *) variant;

    for (int i = 0; i < 4; i++) {
        int rank = i / 2, line = i % 2;
        struct commit_state t = *s;
        if (TO_SEND == s->phase[rank][line]) {
            t.arrived[!rank][line] = s->buf[rank][line];
        } else if (TO_RECV == s->phase[rank][line] && s->arrived[rank][line] &&
                   (rank == 1 || !commit || all_arrived(s, rank))) {
            t.buf[rank][line] = (uint8_t) (s->buf[rank][line] + s->arrived[rank][line]);
        } else {
            continue;
        }
        t.phase[rank][line]++;
        emit(out, &t);
    }
    commit_park(out, commit, s);
}

static const char *commit_bad(const void *variant, const void *state)
{
    const struct commit_state *s = state;

    (void) variant;
    if (s->phase[1][0] != ADDED || s->phase[1][1] != ADDED) return NULL;
    return 11 == s->buf[1][0] && 11 == s->buf[1][1] ? NULL : "a sum was sent again";
}

static void check_commit(void)
{
    static const struct commit_state initial = {.buf = {{1, 1}, {10, 10}}};
    static const int with = 1, without = 0;
    struct model m = {&without, sizeof(initial), commit_next, commit_bad};

    expect("commit: parks half way and sends again", &m, &initial, 1);
    m.variant = &with;
    expect("commit: writes after all lines have arrived", &m, &initial, 0);
}

/* ---- leaving kernel and doorbell, with store buffers ---- */

enum { RUNNING, LEAVING, GONE };                               /* the state word */
enum { EMPTY = 9 };                                            /* nothing in the store buffer */
enum { STORE, LOAD, DECIDE, RETURNED, SAW_RUNNING, LAUNCHED }; /* the host */
enum { POLL, SAY, RELOAD, SERVED, LEFT };                      /* the kernel */

struct leave_state {
    uint8_t doorbell, word, host, kernel, host_buffer, kernel_buffer;
};

static void put(struct search *out, struct leave_state s, uint8_t host, uint8_t kernel)
{
    s.host = host;
    s.kernel = kernel;
    emit(out, &s);
}

static void host_next(struct search *out, int rule, struct leave_state s)
{
    struct leave_state t = s;

    if (STORE == s.host) {
        t.host_buffer = 1;
        put(out, t, LOAD, s.kernel);
    }
    if (LOAD == s.host && (!rule || EMPTY == s.host_buffer)) put(out, t, DECIDE, s.kernel);
    if (DECIDE == s.host && RUNNING == s.word) put(out, t, SAW_RUNNING, s.kernel);
    if (DECIDE == s.host && GONE == s.word) put(out, t, LAUNCHED, s.kernel);
}

static void kernel_next(struct search *out, int rule, struct leave_state s)
{
    struct leave_state t = s;

    if (POLL == s.kernel) put(out, t, s.host, s.doorbell ? SERVED : SAY);
    if (SAY == s.kernel && EMPTY == s.kernel_buffer) {
        t.kernel_buffer = rule ? LEAVING : GONE;
        put(out, t, s.host, rule ? RELOAD : LEFT);
    }
    if (RELOAD == s.kernel && EMPTY == s.kernel_buffer) {
        t.kernel_buffer = s.doorbell ? RUNNING : GONE;
        put(out, t, s.host, s.doorbell ? SERVED : LEFT);
    }
}

static void leave_next(struct search *out, const void *variant, const void *state)
{
    int rule = *(const int *) variant;
    struct leave_state s = *(const struct leave_state *) state, t = s;

    if (s.host_buffer != EMPTY) {
        t.doorbell = s.host_buffer;
        t.host_buffer = EMPTY;
        emit(out, &t);
    }
    t = s;
    if (s.kernel_buffer != EMPTY) {
        t.word = s.kernel_buffer;
        t.kernel_buffer = EMPTY;
        emit(out, &t);
    }
    host_next(out, rule, s);
    kernel_next(out, rule, s);
}

static const char *leave_bad(const void *variant, const void *state)
{
    const struct leave_state *s = state;

    (void) variant;
    if (SAW_RUNNING == s->host && LEFT == s->kernel) return "lost: the host believes that the kernel runs";
    if (LAUNCHED == s->host && SERVED == s->kernel) return "launched twice";
    return NULL;
}

static void check_handshake(void)
{
    static const struct leave_state initial = {.host_buffer = EMPTY, .kernel_buffer = EMPTY};
    static const int with = 1, without = 0;
    struct model m = {&without, sizeof(initial), leave_next, leave_bad};

    expect("handshake: the kernel says GONE after its last poll", &m, &initial, 1);
    m.variant = &with;
    expect("handshake: LEAVING, fence, poll again", &m, &initial, 0);
}

int main(void)
{
    check_reuse();
    check_commit();
    check_handshake();
    return failures > 0;
}
