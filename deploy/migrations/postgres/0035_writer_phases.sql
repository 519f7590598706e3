-- A writer that waits for the normaliser (ingest-gateway/hold/evolve.ts) has a phase of its own.
ALTER TABLE gateway_instances DROP CONSTRAINT gateway_instances_phase_check;
ALTER TABLE gateway_instances ADD CONSTRAINT gateway_instances_phase_check
  CHECK (phase IN ('passing', 'draining', 'held', 'waiting', 'releasing'));
