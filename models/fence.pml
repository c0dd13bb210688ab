/* One job, many workers: can a word be accepted that does not come from the attempt's owner?
 *
 * Any worker says any word about any attempt number at any moment, again and again: this covers the
 * paused handler that speaks late, two attempts of one job in one process, the word repeated after
 * its answer was lost, the orphan that reports through a restarted process, and the crash (a worker
 * that never speaks again; between lock and commit it is rolled back). A lease may be over at any
 * moment. Sweepers need no pass row here: the promise must not rest on there being one at a time.
 *
 * Each verb is cut where other sessions can come between: after the row is locked, and (for a row it
 * did not get) before the second look. README.md maps the steps to the functions.
 *
 * Wrong variants: -DWRONG_NO_ATTEMPT, -DWRONG_NO_INSTANCE, -DWRONG_SWEEP_SNAPSHOT,
 * -DWRONG_STALE_WHEN_HELD, -DWRONG_RETRY_RESETS.
 */
#define WORKERS 3
#define SWEEPERS 2
#ifndef CLAIMS
#define CLAIMS 3            /* how often the job is given out, all in all */
#endif

mtype = { queued, running, ended };
mtype = { nothing, extended, succeeded, failed, released, lost };

/* The row of `live`. `over`: clock() is past the lease. `held`: some session has the row locked. */
mtype state = queued;
byte attempt;
byte owner;
bool over;
bool held;

/* The rows of `attempt`, by number: the closing word, and the instance that said it. */
mtype outcome[CLAIMS + 1] = nothing;
byte closed_by[CLAIMS + 1];

/* What only the judge knows: the instance that each number was given to. */
byte given_to[CLAIMS + 1];

#define OWNED (state == running && attempt == a && given_to[a] == me)
#define SAID (outcome[a] == word && closed_by[a] == me)

#if defined(WRONG_NO_ATTEMPT)
#define FENCE (state == running && owner == me)
#elif defined(WRONG_NO_INSTANCE)
#define FENCE (state == running && attempt == a)
#else
#define FENCE (state == running && attempt == a && owner == me)
#endif

#ifdef WRONG_STALE_WHEN_HELD
#define BUSY false
#else
#define BUSY FENCE
#endif

#ifdef WRONG_SWEEP_SNAPSHOT
#define STILL_OVER true
#else
#define STILL_OVER (state == running && over)
#endif

/* The row's own number is closed: what a word says of itself has been judged by the fence. */
inline close_attempt(closing, who) {
    assert(outcome[attempt] == nothing);              /* an attempt ends once */
    outcome[attempt] = closing;
    closed_by[attempt] = who;
    owner = 0;
    over = false
}

inline put_back() {
    if
    :: attempt < CLAIMS -> state = queued
    :: else -> state = ended                          /* dead_letter */
    fi
}

/* The write by ctid, and the commit. */
inline accept() {
    assert(a == attempt);                             /* never from a superseded attempt */
    assert(given_to[a] == me);                        /* never from a foreign instance */
    if
    :: word == extended -> over = false
    :: word == succeeded -> close_attempt(succeeded, me); state = ended
    :: word == failed -> close_attempt(failed, me); state = ended
    :: word == released -> close_attempt(released, me); put_back()
    fi;
    held = false
}

/* The row was not got: one more statement tells why. */
inline second_look() {
    if
    :: BUSY -> skip                                   /* busy: say it again */
    :: !BUSY && SAID -> skip                          /* duplicate */
    :: else -> assert(!OWNED && !SAID)                /* stale, and never a false one */
    fi
}

inline forget() {
    word = nothing;
    a = 0;
    got = false
}

active [WORKERS] proctype worker() {
    byte me = _pid + 1;
    byte a;
    mtype word = nothing;
    bool got;

end:
    do
    :: atomic {                                       /* claim: pick and update are one statement */
           state == queued && !held && attempt < CLAIMS ->
           attempt++;
           assert(outcome[attempt] == nothing && given_to[attempt] == 0);   /* a number is given once */
           given_to[attempt] = me;
           state = running;
           owner = me;
           over = false
       }
    :: atomic {                                       /* any word about any number: lock the row */
           attempt > 0 ->
           select(a : 1 .. attempt);
           if
           :: word = extended
           :: word = succeeded
           :: word = failed
           :: word = released
           fi;
           if
           :: FENCE && !held -> held = true; got = true
           :: FENCE && held -> skip
           :: else -> second_look(); forget()         /* a pair that does not fit now never will: */
           fi                                         /* nothing can change before the second look */
       };
       if
       :: got ->
           if
           :: atomic { accept(); forget() }
           :: atomic { held = false; forget() }       /* the session died: rolled back */
           fi
       :: word != nothing && !got -> atomic { second_look(); forget() }
       :: else
       fi
    od
}

active [SWEEPERS] proctype sweeper() {
end:
    do
    :: state == running && over ->                    /* found by the index, not yet locked */
        if
        :: atomic { !held && STILL_OVER -> held = true };
           atomic {
               assert(state == running && over);      /* lost: never before its lease was over */
               close_attempt(lost, 0);
               put_back();
               held = false
           }
        :: atomic { !(!held && STILL_OVER) -> skip }
        fi
    od
}

active proctype operator() {
end:
    do
    :: atomic {                                       /* retry: the number goes on */
           state == ended && outcome[attempt] != succeeded && attempt < CLAIMS ->
#ifdef WRONG_RETRY_RESETS
           attempt = 0;
#endif
           state = queued
       }
    od
}

active proctype clock() {
end:
    do
    :: atomic { state == running && !over -> over = true }
    od
}
