import { expect, it, vi } from 'vitest';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { MIN_MEMORY_BYTES } from './memory-layout.ts';
import { ReportThreads } from './report-threads.ts';

const clickhouse = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: 'http://127.0.0.1:1' });

it('a machine that gives no memory is asked again after five minutes', async () => {
  vi.useFakeTimers();
  const create = vi.spyOn(WebAssembly, 'Memory').mockImplementation(function () {
    throw new RangeError('could not allocate memory');
  });
  const threads = new ReportThreads({ clickhouse, threads: 1, memoryBytes: MIN_MEMORY_BYTES });
  expect(() => threads.lease()).toThrow('could not allocate memory');
  vi.advanceTimersByTime(299_000);
  expect(threads.lease()).toBeUndefined();
  expect(create).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(2000);
  create.mockRestore();
  vi.useRealTimers();
  const lease = threads.lease();
  expect(lease?.threads).toHaveLength(1);
  await lease?.release();
  await threads.end();
});
