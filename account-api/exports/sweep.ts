import type { ExportFiles } from '../../platform/files/folder-files.ts';
import type { Log } from '../../platform/log.ts';
import type { ExportStore } from './export-store.ts';

/** Files that one sweep removes; the rest is for the next one. */
const SWEPT_FILES = 1000;

interface Sweeping {
  store: Pick<ExportStore, 'listExpired' | 'markExpired' | 'filesInUse'>;
  files: Pick<ExportFiles, 'remove' | 'list'>;
  log: Log;
}

/**
 * Removes the files of expired exports, then marks each export: after a crash in between its file
 * is removed again, so no expired file stays.
 */
export async function expireExports({ store, files, log }: Sweeping): Promise<void> {
  for (const expired of await store.listExpired(SWEPT_FILES)) {
    await files.remove(expired.file);
    await store.markExpired(expired);
    log.info({ file: expired.file }, 'an export expired; its file is deleted');
  }
}

/**
 * Removes files that no export has: what a worker left that was killed, or whose job another worker
 * completed. The files are listed before the exports are read, so a file that appears meanwhile is
 * not removed. Files with other names are not touched.
 */
export async function removeOrphans({ store, files, log }: Sweeping): Promise<void> {
  const found = (await files.list()).flatMap((name) => {
    const [, id, attempt] = /^export-(\d{1,18})-(\d{1,9})\.\w+$/.exec(name) ?? [];
    return id === undefined ? [] : [{ name, id, attempt: Number(attempt) }];
  });
  for (let from = 0; from < found.length; from += SWEPT_FILES) {
    const part = found.slice(from, from + SWEPT_FILES);
    const used = await store.filesInUse(part.map(({ id }) => id));
    for (const { name, id, attempt } of part) {
      const use = used.get(id);
      if (use && (use.file === name || use.attempt === attempt)) continue;
      await files.remove(name);
      log.info({ file: name }, 'a file that belongs to no export is deleted');
    }
  }
}
