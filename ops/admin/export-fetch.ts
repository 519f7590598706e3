import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { recordAudit } from '../../platform/audit.ts';
import { exportFiles, exportFileSettings } from '../../platform/files/export-files.ts';
import { FileMissing } from '../../platform/files/folder-files.ts';
import { parseSettings } from '../../platform/settings.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { REQUIRED, OPTIONAL } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption } from './command.ts';

interface ExportRow {
  status: 'queued' | 'running' | 'ready' | 'failed' | 'expired';
  kind: string;
  format: string;
  file: string | null;
  rows: number | null;
  error: string | null;
  is_over: boolean;
}

/**
 * `./ravand admin export fetch`: downloads the file of a finished export to this machine.
 */
export const exportFetch = adminCommand({
  name: 'export fetch',
  usage: 'export fetch --account ID --id N [--out FILE]',
  options: { account: REQUIRED, id: REQUIRED, out: OPTIONAL },
  async run(line, { database, env }) {
    const accountId = idOption(line.values, 'account');
    const id = idOption(line.values, 'id');
    const { file, kind, format, rows } = await finished(database, { accountId, id });
    const path = resolve(line.values.out ?? `export-${id}.${format}`);
    const files = exportFiles(parseSettings(exportFileSettings, env));
    const content = await files.read(file).catch((error: unknown) => {
      if (error instanceof FileMissing)
        throw new CommandError(
          `${error.message}: set EXPORT_DIR, or EXPORT_S3_URL, as it is set for management-api`,
        );
      throw error;
    });
    try {
      await recordAudit(database, {
        accountId,
        actor: 'operator',
        action: 'export.fetched',
        details: { export_id: id, kind },
      });
      // Never overwrites a file: --out may be mistyped.
      await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    } catch (error) {
      content.destroy();
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST')
        throw new CommandError(`${path} is there already: give another name with --out`);
      if (code === 'ENOENT' || code === 'EACCES')
        throw new CommandError(`${path} cannot be written: give another name with --out`);
      throw error;
    }
    return {
      account_id: accountId,
      export_id: id,
      kind,
      format,
      rows,
      file: path,
      bytes: (await stat(path)).size,
    };
  },
});

async function finished(
  database: Database,
  { accountId, id }: { accountId: number; id: number },
): Promise<ExportRow & { file: string }> {
  const answer = await database.query<ExportRow>(
    `SELECT status, kind, format, file, rows::float8, error, coalesce(expires_at <= clock_timestamp(), false) AS is_over FROM exports WHERE account_id = $1 AND id = $2`,
    [accountId, id],
  );
  const row = answer.rows[0];
  if (!row)
    throw new CommandError(`account ${accountId} has no export ${id}: GET /v1/exports lists them`);
  if (row.status === 'expired' || (row.status === 'ready' && row.is_over))
    throw new CommandError(`export ${id} has expired: order a new one`);
  if (row.status === 'failed')
    throw new CommandError(
      `export ${id} failed: ${row.error ?? 'no reason is known'}; order a new one`,
    );
  if (row.status !== 'ready' || row.file === null)
    throw new CommandError(`export ${id} is not ready: it is ${row.status}; try again later`);
  return { ...row, file: row.file };
}
