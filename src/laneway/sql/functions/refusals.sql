-- Why an item of an enqueue is not taken: a number inside, words in the answer. Never an error: it would roll back the
-- transaction of the business that carries the enqueue.

-- Why an item cannot be taken, as field, value and way out; the numbers are those of judge_item.
create or replace function explain_refusal(
    p_wrong smallint, p_definition text, p_payload jsonb, p_priority integer, p_key text,
    out refusal text, out field text, out value text, out hint text
)
language plpgsql stable
as $$
begin
    case p_wrong
        when 1 then
            refusal := 'unknown'; field := 'definition'; value := left(p_definition, 120);
            hint := coalesce('Did you mean "' || (select d.key from definition d
                where left(d.key, 3) = left(p_definition, 3) order by abs(length(d.key) - length(p_definition)), d.key limit 1)
                || '"? ', '') || 'Sync the definition before its jobs are enqueued.';
        when 2 then
            refusal := 'disabled'; field := 'definition'; value := p_definition; hint := 'Enable the definition first.';
        when 3 then
            refusal := 'too_large'; field := 'payload'; value := 'more than 262144 bytes';
            hint := 'At most 262144 bytes; store the document elsewhere and pass a reference.';
        when 4 then
            refusal := 'too_deep'; field := 'payload'; value := 'more than 32 levels'; hint := 'At most 32 levels.';
        when 5 then
            refusal := 'out_of_range'; field := 'priority'; value := p_priority::text; hint := 'Use 0 (first) to 1000.';
        when 6 then
            refusal := 'suspended'; field := 'tenant'; value := 'suspended'; hint := 'The tenant is off; a super-admin ends that with unsuspend_tenant.';
        when 7 then
            refusal := 'out_of_range'; field := 'delay_seconds'; value := p_key; hint := 'Use 0 to 315360000 (ten years).';
        when 8 then
            refusal := 'out_of_range'; field := 'expires_seconds'; value := p_key; hint := 'Use more than 0, up to 315360000 (ten years).';
        when 9 then
            refusal := 'out_of_range'; field := 'max_attempts'; value := p_key; hint := 'Use 1 to 100.';
        when 10 then
            refusal := 'out_of_range'; field := 'timeout_seconds'; value := p_key; hint := 'Use 1 to 604800.';
        when 11 then
            refusal := 'malformed'; field := 'dedupe_key'; value := left(p_key, 80); hint := 'Use 1 to 500 characters.';
        when 12 then
            refusal := 'malformed'; field := 'idempotency_key'; value := left(p_key, 80); hint := 'Use 1 to 500 characters.';
        when 13 then
            refusal := 'malformed'; field := 'dedupe'; value := left(p_key, 80); hint := 'Use skip, replace, requeue or error, with a dedupe_key.';
        when 14 then
            refusal := 'out_of_range'; field := 'dedupe_window_seconds'; value := p_key; hint := 'Use 0 to 31536000, with a dedupe_key.';
        when 15 then
            refusal := 'malformed'; field := 'labels'; value := left(p_key, 80);
            hint := 'Use a flat object of at most 32 texts, keys to 63 and values to 200 characters.';
        when 16 then
            refusal := 'malformed'; field := 'correlation_id'; value := left(p_key, 80); hint := 'Use 1 to 200 characters.';
        when 20 then
            refusal := 'malformed'; field := 'trace_id'; value := left(p_key, 80); hint := 'Use 1 to 200 characters.';
        when 21 then
            refusal := 'malformed'; field := 'source_ref'; value := left(p_key, 80); hint := 'Use 1 to 500 characters.';
        when 17 then
            refusal := 'out_of_range'; field := 'run_at'; value := p_key; hint := 'Use a time within ten years, or delay_seconds, not both.';
        when 18 then
            refusal := 'duplicate'; field := 'dedupe_key'; value := p_key; hint := 'An active job holds this key; its id is in job_id.';
        when 19 then
            refusal := 'busy'; field := 'dedupe_key'; value := p_key; hint := 'Another session is changing the job of this key; enqueue again.';
    end case;
end
$$;
comment on function explain_refusal(smallint, text, jsonb, integer, text) is 'The words of a refused item.';
