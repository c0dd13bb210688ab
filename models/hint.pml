/* Floors and bells are hints: is a job whose enqueue was committed always claimed?
 *
 * An enqueue takes its rank when it is called and is visible from its commit, which may come much
 * later. A worker skips what lies below the floor, the highest rank that it got; and
 * when it finds nothing it sleeps until an armed bell rings. Both can miss a job. What the promise
 * rests on is the full claim (no floor) and the poll.
 *
 * One job is watched, beside a stream of others that need not ever end. All that matters about
 * another rank is its side of the watched one, so three ranks stand for all. Jobs before the watched
 * one come until its enqueue is called (who may pass it for ever is a question of ageing, not of
 * this model). Jobs behind it come at any time, also earlier: a rank is no clock (priority, retry,
 * promote of a due time that is past).
 *
 * -DOLDEST_WRITER: no full claim, but a floor that never passes the rank of an enqueue still open,
 * and ranks that are the time alone. Right too, and not what Laneway does: the third wrong variant
 * shows why.
 *
 * Wrong variants: -DWRONG_NO_FULL_CLAIM, -DWRONG_FULL_WHEN_EMPTY, -DWRONG_NO_POLL,
 * "-DOLDEST_WRITER -DWRONG_RANK_BY_PRIORITY".
 */
#define WRITERS 2           /* of the stream */
#define PERIOD 3            /* claims with a floor between two full ones */

#define NO_FLOOR 0
#define BEFORE 1
#define WATCHED 2
#define BEHIND 3

mtype = { nothing, open, committed, claimed };

mtype watched = nothing;
mtype phase[WRITERS] = nothing;
byte rank[WRITERS];         /* of the job that a writer of the stream has open or waiting */

byte floor = NO_FLOOR;
bool armed;                 /* the worker sleeps, or is about to */
bool rung;

ltl found { [] ((watched == committed) -> <> (watched == claimed)) }

#if !defined(WRONG_NO_FULL_CLAIM) && !defined(OLDEST_WRITER)
#define FULL_CLAIM_WHEN_EMPTY
#ifndef WRONG_FULL_WHEN_EMPTY
#define FULL_CLAIM_PERIODIC
#endif
#endif

#if defined(OLDEST_WRITER) && !defined(WRONG_RANK_BY_PRIORITY)
#define MAY_LIE_BEHIND (watched != nothing)
#else
#define MAY_LIE_BEHIND true
#endif

#ifdef WRONG_NO_POLL
#define POLL false
#else
#define POLL true
#endif

/* An enqueue looks at the bell: it rings only an armed one, and is heard at the commit. */
inline enqueue(whose) {
    whose = open;
    rings = armed
}

inline commit(whose) {
    whose = committed;
    rung = rung || rings;
    rings = false
}

active proctype watched_writer() {
    bool rings;

    atomic { enqueue(watched) };
    atomic { commit(watched) }
}

/* Each goes on for as long as it likes and stops where it likes, also with its transaction open. */
active [WRITERS] proctype stream_writer() {
    byte i = _pid - 1;
    bool rings;

    do
    :: atomic { phase[i] == nothing && watched == nothing -> rank[i] = BEFORE; enqueue(phase[i]) }
    :: atomic { phase[i] == nothing && MAY_LIE_BEHIND -> rank[i] = BEHIND; enqueue(phase[i]) }
    :: atomic { phase[i] == open -> commit(phase[i]) }
    :: atomic { phase[i] == open -> phase[i] = nothing; rank[i] = 0; rings = false }   /* rolled back */
    :: phase[i] == committed -> phase[i] != committed                                  /* claimed */
    :: break
    od
}

inline take(j) {
    got = rank[j];
    phase[j] = nothing;
    rank[j] = 0
}

#define WAITS(j, r) (phase[j] == committed && rank[j] == r)

/* One job, the lowest rank that is visible and not below the floor. */
inline claim() {
    got = 0;
    if
    :: floor <= BEFORE && WAITS(0, BEFORE) -> take(0)
    :: floor <= BEFORE && WAITS(1, BEFORE) -> take(1)
    :: else ->
        if
        :: floor <= WATCHED && watched == committed -> watched = claimed; got = WATCHED
        :: else ->
            if
            :: WAITS(0, BEHIND) -> take(0)
            :: WAITS(1, BEHIND) -> take(1)
            :: else
            fi
        fi
    fi
}

#define OPEN(j, r) (phase[j] == open && rank[j] == r)

/* The floor for the next claim: what this one got. Floors may be in use or not at any time. */
inline raise_floor() {
#ifdef OLDEST_WRITER
    if
    :: OPEN(0, BEFORE) || OPEN(1, BEFORE) -> got = BEFORE
    :: else ->
        if
        :: watched == open && got > WATCHED -> got = WATCHED
        :: else
        fi
    fi;
#endif
    if
    :: floor = got
    :: skip
    fi
}

active proctype worker() {
    byte since;             /* claims with a floor since the last full one */
    byte got;

end:
    do
    :: atomic {
           if
#ifdef FULL_CLAIM_PERIODIC
           :: since == PERIOD -> floor = NO_FLOOR; since = 0
#endif
           :: else -> since = (since < PERIOD -> since + 1 : PERIOD)
           fi;
           claim();
           if
           :: got != 0 -> raise_floor(); got = 0
#ifdef FULL_CLAIM_WHEN_EMPTY
           :: got == 0 && floor != NO_FLOOR -> floor = NO_FLOOR; since = 0
#endif
           :: else -> armed = true; rung = false; goto look_once_more
           fi
       }
    od;

look_once_more:
    atomic {
        claim();
        if
        :: got != 0 -> raise_floor(); got = 0; armed = false; goto end
        :: else
        fi
    };
    if                      /* asleep */
    :: rung
    :: POLL
    fi;
    atomic { armed = false; goto end }
}
