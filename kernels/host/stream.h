/* SPDX-License-Identifier: BSD-3-Clause
 * Copies that go past the cache. A slot that another CPU reads next, and that it read before, is in that CPU's cache:
 * an ordinary store fetches the line from there first, to overwrite it. Between cores that share no cache this is the
 * larger part of the time (docs/adr/0023-streaming-stores.md). */
#ifndef CG_KERNELS_HOST_STREAM_H
#define CG_KERNELS_HOST_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

/* As memcpy. Not ordered with later stores before cg_stream_end. */
static inline void cg_stream_copy(void *dst, const void *src, size_t n)
{
    size_t head = -(uintptr_t) dst & 15, at;
    char *to = dst;
    const char *from = src;

    if (n < head + 64) {
        memcpy(to, from, n);
        return;
    }
    memcpy(to, from, head);
    for (at = head; at + 64 <= n; at += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *) (from + at));
        __m128i b = _mm_loadu_si128((const __m128i *) (from + at + 16));
        __m128i c = _mm_loadu_si128((const __m128i *) (from + at + 32));
        __m128i d = _mm_loadu_si128((const __m128i *) (from + at + 48));
        _mm_stream_si128((__m128i *) (to + at), a);
        _mm_stream_si128((__m128i *) (to + at + 16), b);
        _mm_stream_si128((__m128i *) (to + at + 32), c);
        _mm_stream_si128((__m128i *) (to + at + 48), d);
    }
    memcpy(to + at, from + at, n - at);
}

/* What was copied is seen before whatever is stored from now on. */
static inline void cg_stream_end(void) { _mm_sfence(); }

#else /* other CPUs: what their memcpy does */

static inline void cg_stream_copy(void *dst, const void *src, size_t n) { memcpy(dst, src, n); }
static inline void cg_stream_end(void) {}

#endif
#endif
