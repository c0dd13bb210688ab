-- The first partitions; from then on upkeep makes them. A file set without them has nothing to make.
do $$
begin
    if to_regprocedure('make_partitions()') is not null then
        perform make_partitions();
    end if;
end
$$;
