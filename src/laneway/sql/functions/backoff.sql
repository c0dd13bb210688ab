-- The wait before the next attempt. Everything is clamped before it is used: an exponent that overflows, or a product that
-- underflows, would leave a job running for ever. Less than a millisecond is none.

create or replace function backoff_seconds(
    p_kind text, p_base double precision, p_factor double precision, p_cap double precision, p_jitter double precision,
    p_list double precision[], p_tries integer, p_random double precision
) returns double precision
language sql immutable parallel safe
as $$
    select least(p_cap, b.wait + case when b.wait < 0.001 or p_jitter < 0.001 or p_random < 0.000001 then 0 else b.wait * p_jitter * p_random end)
    from (
        select least(p_cap, case p_kind
            when 'fixed' then p_base
            when 'linear' then p_base * greatest(p_tries, 1)
            when 'list' then p_list[least(greatest(p_tries, 1), cardinality(p_list))]
            else case when p_base < 0.001 then 0 else p_base * power(p_factor, least(greatest(p_tries, 1) - 1, 60)) end
        end) as wait
    ) b
$$;
comment on function backoff_seconds(text, double precision, double precision, double precision, double precision, double precision[], integer, double precision)
is 'Seconds before the next attempt after this many failed ones; p_random is drawn from 0..1.';
