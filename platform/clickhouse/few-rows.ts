import type { ClickHouseSettings } from '@clickhouse/client';

/**
 * Of statements that look few rows up by their key: handing each granule and mark to another thread
 * costs more than reading it, a tenth of a load of profiles (docs/performance.md, Loads among many
 * people).
 */
export const FEW_ROWS: ClickHouseSettings = {
  local_filesystem_read_method: 'pread',
  load_marks_asynchronously: 0,
};
