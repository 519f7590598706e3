-- Chunks with attempts that may be open. While a run is paused, only those are looked for (pipeline/dispatcher/store/lease-chunks.ts): what a killed process left open ends.
CREATE INDEX message_chunks_open ON message_chunks (run_id) WHERE NOT is_done AND opened_with <> '';
