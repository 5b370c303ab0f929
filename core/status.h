/* SPDX-License-Identifier: BSD-3-Clause
 * Status codes shared by every layer. Negative: error. Zero and positive: not an error. */
#ifndef CG_CORE_STATUS_H
#define CG_CORE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, text */
#define CG_STATUS_TABLE(X)                                                      \
    X(CG_OK, 0, "success")                                                      \
    X(CG_AGAIN, 1, "not finished, try again")                                   \
    X(CG_DONE, 2, "finished")                                                   \
    X(CG_ERR_ARG, -1, "invalid argument")                                       \
    X(CG_ERR_NOMEM, -2, "out of host memory")                                   \
    X(CG_ERR_SHM, -3, "no shared memory")                                       \
    X(CG_ERR_NET, -4, "network transport failed")                               \
    X(CG_ERR_GPU, -5, "CUDA call failed")                                       \
    X(CG_ERR_GPU_NOMEM, -6, "out of CUDA memory")                               \
    X(CG_ERR_MISMATCH, -7, "ranks called different collectives or arguments")   \
    X(CG_ERR_UNSUPPORTED, -8, "not supported")                                  \
    X(CG_ERR_PEER, -9, "a peer failed")                                         \
    X(CG_ERR_LIMIT, -10, "a fixed limit was exceeded")                          \
    X(CG_ERR_INTERNAL, -11, "internal error")

enum cg_status {
#define CG_STATUS_ENUM(name, value, text) name = value,
    CG_STATUS_TABLE(CG_STATUS_ENUM)
#undef CG_STATUS_ENUM
};

/* Text of a status; never NULL. Thread-safe. */
const char *cg_status_text(int status);

#ifdef __cplusplus
}
#endif
#endif
