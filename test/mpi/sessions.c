/* SPDX-License-Identifier: BSD-3-Clause
 * Sessions: communicators made from groups, without MPI_COMM_WORLD, in a session after a session and beside one. Open
 * MPI opens and closes its frameworks with the first and the last. Open MPI 5.0 has sessions, too. */
#include "test/mpi/mpi_test.h"

#include <stdlib.h>

#if OMPI_MAJOR_VERSION >= 5

static int failures;

static void expect(int good, const char *what)
{
    if (good) return;
    failures++;
    fprintf(stderr, "sessions: %s\n", what);
}

static MPI_Comm open_comm(MPI_Session *session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void use(MPI_Comm comm)
{
    int rank, size, sum = 0, value, *all;
    MPI_Request request;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    all = calloc((size_t) size, sizeof(*all));
    value = rank + 1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == size * (size + 1) / 2, "allreduce");
    MPI_Iallgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) expect(all[r] == r + 1, "iallgather");
    MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(sum == size * (size + 1) / 2, "persistent allreduce");
    }
    MPI_Request_free(&request);
    free(all);
}

/* The component's count of native operations, from start on. Handles end with the frameworks. */
static MPI_T_pvar_session count_session;
static MPI_T_pvar_handle count_handle;

static void start_counting(void)
{
    int index, count;

    count_handle = NULL;
    MPI_T_pvar_session_create(&count_session);
    if (MPI_T_pvar_get_index("coll_gpu_posts", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS)
        MPI_T_pvar_handle_alloc(count_session, index, NULL, &count_handle, &count);
}

static unsigned long long counted(void)
{
    unsigned long long value = 0;

    if (count_handle) MPI_T_pvar_read(count_session, count_handle, &value);
    MPI_T_pvar_session_free(&count_session);
    return value;
}

/* argv: how many rounds of sessions; "closed": MPI_T, which keeps frameworks open between them, is not used. */
int main(int argc, char **argv)
{
    int provided, rounds = atoi(argv[1]), tool = argc == 2;

    if (tool) MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    for (int round = 0; round < rounds; round++) {
        MPI_Session first, second;
        MPI_Comm a = open_comm(&first, "first"), b, dup;
        if (tool) start_counting();
        use(a);
        if (tool) expect(counted() == 4, "calls were not native");
        b = open_comm(&second, "second");
        use(b);
        MPI_Comm_dup(b, &dup);
        use(dup);
        use(a);
        MPI_Comm_free(&dup);
        MPI_Comm_free(&a);
        MPI_Session_finalize(&first);
        use(b);
        MPI_Comm_free(&b);
        MPI_Session_finalize(&second);
    }
    if (tool) MPI_T_finalize();
    if (!failures) printf("%d sessions after each other\n", rounds);
    return failures != 0;
}

#else

int main(void) { return 77; }

#endif
