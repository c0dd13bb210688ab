/* The database falls back to an older commit (asynchronous replica promoted, backup restored) while
 * workers go on: can a word be accepted that does not come from the claim that now holds the job?
 *
 * After the fall the same attempt number is given once more. What is asked is therefore asked of the
 * claim itself: each claim ever made has a number of its own here (`claim`), which only the judge
 * sees and which is never given twice, whatever the database forgets.
 *
 * Verbs are one step (fence.pml cuts them); a sweep may end any running attempt at any moment.
 * A process claims and reports over one connection, one call at a time: while a claim is on its way
 * it reports nothing. Extend has a connection of its own, only moves a lease, and is left out.
 *
 * Wrong variants: -DWRONG_NO_INSTANCE, -DWRONG_NO_ATTEMPT, -DWRONG_KEEP_OLDER,
 * -DWRONG_CROSSED_CALLS, -DWRONG_LATE_CALL, -DWRONG_REUSED_INSTANCE.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CLAIMS
#define CLAIMS 4            /* claims made, those that the database forgot included */
#endif
#ifndef FALLS
#define FALLS 2
#endif
#define INSTANCES (WORKERS + 1)  /* one process crashes and starts again */

mtype = { queued, running, ended };

typedef Row {
    mtype state;
    byte attempt;
    byte owner;
    byte claim
}
Row row;                    /* what the primary holds */
Row kept;                   /* what the replica or the backup holds: some earlier commit */

byte claims;
byte falls;
byte fresh_instance = WORKERS + 1;
bool unheard[CLAIMS + 1];   /* by claim: its answer was cut, no handler ever began */

typedef Handler {
    byte attempt;           /* 0: the slot is free */
    byte claim
}

#if defined(WRONG_NO_INSTANCE)
#define FENCE(h, who) (row.state == running && row.attempt == h.attempt)
#elif defined(WRONG_NO_ATTEMPT)
#define FENCE(h, who) (row.state == running && row.owner == who)
#else
#define FENCE(h, who) (row.state == running && row.attempt == h.attempt && row.owner == who)
#endif

/* The claim in force gave this very pair once more, and no handler ever heard of it: the one that
 * runs under the pair is its only owner. */
#define UNHEARD(h, who) (unheard[row.claim] && row.attempt == h.attempt && row.owner == who)

#ifdef WRONG_CROSSED_CALLS
#define MAY_SPEAK true
#else
#define MAY_SPEAK (answer.attempt == 0)
#endif

inline forget(h) {
    h.attempt = 0;
    h.claim = 0
}

inline copy(from, to) {
    to.state = from.state;
    to.attempt = from.attempt;
    to.owner = from.owner;
    to.claim = from.claim
}

/* A handler, or its report that is not answered yet: until it is, the word is said again. */
inline say(h, who, next_state) {
    if
    :: FENCE(h, who) ->
        assert(row.claim == h.claim || UNHEARD(h, who));   /* accepted: only from the owner */
        row.state = next_state;
        row.owner = 0;
        row.claim = 0
    :: else                                  /* stale */
        assert(row.state != running || row.claim != h.claim)      /* and never a false one */
    fi;
    if
    :: forget(h)
    :: skip                                  /* the answer is cut */
    fi
}

/* The answer of claim: a pair that the process already knows drops the older one. */
inline begin() {
#ifndef WRONG_KEEP_OLDER
    if
    :: older.attempt == answer.attempt -> forget(older)
    :: else
    fi;
    if
    :: newer.attempt == answer.attempt -> forget(newer)
    :: else
    fi;
#endif
    if
    :: newer.attempt != 0 -> older.attempt = newer.attempt; older.claim = newer.claim
    :: else
    fi;
    newer.attempt = answer.attempt;
    newer.claim = answer.claim;
    forget(answer)
}

active [WORKERS] proctype worker() {
    byte me = _pid + 1;
    Handler older, newer, answer;
    Handler orphan;                          /* outlived its process, or its call was on the way */
    byte former;                             /* the instance it speaks for */

end:
    do
    :: atomic {                              /* claim, committed; its answer is on the way */
           row.state == queued && claims < CLAIMS && answer.attempt == 0 &&
           (older.attempt == 0 || newer.attempt == 0) ->
           claims++;
           row.attempt++;
           row.state = running;
           row.owner = me;
           row.claim = claims;
           answer.attempt = row.attempt;
           answer.claim = claims
       }
    :: atomic { answer.attempt != 0 -> begin() }
    :: atomic {                              /* the answer is cut: ask what the instance holds */
           answer.attempt != 0 ->
           unheard[answer.claim] = true;
           forget(answer);
           if                                /* known: it goes on; unknown: release */
           :: row.state == running && row.owner == me &&
              newer.attempt != row.attempt && older.attempt != row.attempt ->
               row.state = queued;
               row.owner = 0;
               row.claim = 0
           :: else
           fi
       }
    :: atomic { newer.attempt != 0 && MAY_SPEAK -> say(newer, me, ended) }    /* complete */
    :: atomic { newer.attempt != 0 && MAY_SPEAK -> say(newer, me, queued) }   /* release, fail, snooze */
    :: atomic { older.attempt != 0 && MAY_SPEAK -> say(older, me, ended) }
    :: atomic { older.attempt != 0 && MAY_SPEAK -> say(older, me, queued) }
    :: atomic { newer.attempt != 0 -> forget(newer) }                     /* self-fenced, killed */
    :: atomic { older.attempt != 0 -> forget(older) }
    :: atomic {                              /* crash, and a start as a fresh instance */
           fresh_instance <= INSTANCES ->
           orphan.attempt = newer.attempt;
           orphan.claim = newer.claim;
           former = me;
#ifndef WRONG_REUSED_INSTANCE
           me = fresh_instance;
#endif
           fresh_instance++;
           forget(older);
           forget(newer);
           unheard[answer.claim] = answer.claim != 0;
           forget(answer)
       }
#ifdef WRONG_LATE_CALL
    :: atomic {                              /* a report whose session is cut, and not yet executed */
           newer.attempt != 0 && orphan.attempt == 0 ->
           orphan.attempt = newer.attempt;
           orphan.claim = newer.claim;
           former = me
       }
#endif
    :: atomic { orphan.attempt != 0 -> say(orphan, former, ended) }
    :: atomic { orphan.attempt != 0 -> say(orphan, former, queued) }
    od
}

active proctype sweeper() {
end:
    do
    :: atomic {
           row.state == running ->
           row.state = queued;
           row.owner = 0;
           row.claim = 0
       }
    od
}

active proctype database() {
    atomic { row.state = queued; kept.state = queued };
end:
    do
    :: atomic { kept.claim != row.claim || kept.state != row.state || kept.attempt != row.attempt ->
                copy(row, kept) }           /* the replica catches up */
    :: atomic { falls < FALLS -> falls++; copy(kept, row) }
    od
}
