-- Size of a definition, to bound what an account stores and what a list loads.
ALTER TABLE segments ADD COLUMN definition_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(definition::text)) STORED;
